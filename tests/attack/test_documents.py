"""A sample of the hostile documents, each read in its own process; scripts/attack.py reads all of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.attack.documents import TEXTS, small
from tests.attack.fork_server import ForkServer
from tests.attack.run import command
from wim_edge.documents import read_document, split
from wim_edge.errors import DocumentError

pytestmark = pytest.mark.real

Input = tuple[str, str, bytes]
SAMPLE = 40


@pytest.fixture(scope="module")
def sample() -> list[Input]:
    found = list(small())
    assert len(found) > 500
    assert len({what for what, *_ in found}) == len(found)
    return random.Random(11).sample(found, SAMPLE)


@pytest.mark.parametrize("case", range(SAMPLE))
def test_a_hostile_document_is_read_or_refused(
    tmp_path: Path, case: int, sample: list[Input], server: ForkServer
) -> None:
    pytest.importorskip("resource")
    what, name, data = sample[case]
    (tmp_path / name).write_bytes(data)
    outcome = command(server, what, [str(tmp_path / name)], tmp_path, seconds=60, module="tests.attack.read")
    assert outcome.how in ("works", "refused"), outcome


BINARY = ("NUL bytes", "control characters")


@pytest.mark.parametrize("what", BINARY)
def test_binary_files_are_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXTS[what], encoding="utf-8")
    with pytest.raises(DocumentError, match="type of file"):
        read_document(path)


@pytest.mark.parametrize("what", [what for what in TEXTS if what not in BINARY])
def test_nothing_of_a_hostile_text_is_lost(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXTS[what].encode("utf-8", "surrogatepass"))
    text = read_document(path).text
    assert text == TEXTS[what].replace("\r\n", "\n").replace("\r", "\n")
    segments = split(text, 200, lambda part: part.encode("utf-8", "replace"))
    assert "".join(segment.text for segment in segments) == text
    assert all(0 < len(segment.tokens) <= 200 for segment in segments)
