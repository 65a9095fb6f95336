"""A sample of the hostile documents, each read in a process with limits; scripts/attack.py does all of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.attack.documents import TEXTS, inputs
from tests.attack.run import command
from wim_edge.documents import read_document, split
from wim_edge.errors import DocumentError

_FOUND = list(inputs())
_SAMPLE = [one for one in _FOUND if len(one[2]) < 5_000_000 and "archive" not in one[0]]


def test_there_are_many() -> None:
    assert len(_FOUND) > 500
    assert len({what for what, _, _ in _FOUND}) == len(_FOUND)


@pytest.mark.parametrize("case", random.Random(11).sample(range(len(_SAMPLE)), 40))
def test_a_hostile_document_is_read_or_refused(tmp_path: Path, case: int) -> None:
    pytest.importorskip("resource")
    what, name, data = _SAMPLE[case]
    (tmp_path / name).write_bytes(data)
    found = command(what, [str(tmp_path / name)], tmp_path, seconds=60, module="tests.attack.read")
    assert found.how in ("works", "refused"), found


@pytest.mark.parametrize("what", [*TEXTS])
def test_nothing_of_a_hostile_text_is_lost(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXTS[what], encoding="utf-8", errors="surrogatepass")
    try:
        text = read_document(path).text
    except DocumentError as error:
        assert "binary" in str(error) or "text" in str(error)  # noqa: PT017
        return
    segments = split(text, 200, lambda part: part.encode("utf-8", "replace"))
    assert "".join(segment.text for segment in segments) == text
    assert all(0 < len(segment.tokens) <= 200 for segment in segments)
