"""Files of arrays: what is damaged in them is told before it is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from tests.library.wall import TEXT, ask, files, folder, scores, usage
from wim_edge.library.array_file import DamagedError, append_parts, open_mapped, open_regular_file, parts_of
from wim_edge.reading import events

KIND = (b"a test's arrays\0", 1)
ABOUT = {"model": "fake"}
ARRAYS = {"tokens": np.arange(1000, dtype=np.int32), "none": np.zeros(0, np.float32), "scores": np.ones(3, np.float64)}


def written(folder: Path) -> Path:
    path = folder / "a.arrays"
    path.touch()
    assert append_parts(path, KIND, ABOUT, ARRAYS) == path.stat().st_size
    return path


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    found = open_mapped(written(tmp_path), KIND, ABOUT)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert (found[name] == array).all()
    with pytest.raises(ValueError, match="read-only"):
        found["tokens"][0] = 1


def test_the_first_part_may_be_somebody_elses(tmp_path: Path) -> None:
    path = tmp_path / "b"
    path.write_bytes(b"state")
    append_parts(path, KIND, ABOUT, {"more": np.arange(2, dtype=np.uint8)}, [("state", "|u1", 5, 0)])
    with open_regular_file(path) as file:
        assert [(name, count) for name, _, count, _ in parts_of(file, KIND, None)] == [("state", 5), ("more", 2)]
        assert file.read(5) == b"state"
    with pytest.raises(DamagedError, match="state is damaged"):  # its checksum was not 0
        open_mapped(path, KIND, None)


def flip(at: int) -> Callable[[bytes], bytes]:
    return lambda data: bytes(byte ^ (number == at % len(data)) for number, byte in enumerate(data))


@pytest.mark.parametrize(
    ("change", "says"),
    [(flip(0), "tokens is damaged"), (flip(4000), "scores is damaged"), (flip(-1), "header is damaged"),
     (flip(-5), "header is damaged"), (flip(-9), "another format"), (flip(-28), "its end is missing"),
     (flip(-40), "header is damaged"), (lambda data: data[:20], "cut short"),
     (lambda data: data[:-1], "its end is missing"), (lambda data: data[100:], "its length is wrong"),
     (lambda data: b"more" + data, "its length is wrong")],
)  # fmt: skip
def test_a_bit_that_flipped_and_another_length_are_noticed(
    tmp_path: Path, change: Callable[[bytes], bytes], says: str
) -> None:
    path = written(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DamagedError, match=says):
        open_mapped(path, KIND, ABOUT)


def test_states_under_each_others_names_are_not_taken() -> None:
    changes = {"pattern": "wim", "relevance": "likelihood"}
    fresh = ask(TEXT, "Whose wall?", save=False, **changes)
    ask(TEXT, **changes)
    paths = files()
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, [*contents[1:], contents[0]], strict=True):
        path.write_bytes(content)
    found = ask(TEXT, "Whose wall?", **changes)
    assert scores(found) == scores(fresh)
    assert [e for e in found if isinstance(e, events.Warning) and "another text" in e.text]


@pytest.mark.parametrize("instead", ["folder", "loop", "pipe"])
def test_what_is_no_file_is_let_go_of(instead: str) -> None:
    ask(TEXT, pattern="llm")
    (path,) = files()
    path.unlink()
    if instead == "folder":
        path.mkdir()
    elif instead == "loop":
        path.symlink_to(path)
    else:
        os.mkfifo(path)
    assert usage(ask(TEXT, pattern="llm")).reused_tokens == 0
    assert usage(ask(TEXT, pattern="llm")).reused_tokens


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[: len(data) // 2],
    "flip": lambda data: data[:5] + bytes([data[5] ^ 1]) + data[6:],
    "foreign": lambda data: b"PK\3\4" + bytes(1000),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_a_damaged_file_is_told_once_removed_and_the_text_read_again(pattern: str, damage: str) -> None:
    ask(TEXT, pattern=pattern)
    before = files()
    for path in before:
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    found = ask(TEXT, pattern=pattern)
    assert usage(found).reused_tokens == 0
    told = [e.text for e in found if isinstance(e, events.Warning) and "damaged" in e.text]
    assert len(told) == 1
    assert not set(before) & set(files())
    again = ask(TEXT, pattern=pattern)
    assert usage(again).reused_tokens > 0
    assert not [e for e in again if isinstance(e, events.Warning) and "damaged" in e.text]


def test_a_file_under_a_wrong_name_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(TEXT, pattern="wim", relevance="likelihood-gain")
    (mine,) = files()
    data = mine.read_bytes()
    monkeypatch.setattr("wim_edge.testing.FakeContext.fingerprint", "another")
    ask(TEXT, pattern="wim", relevance="likelihood-gain")
    (other,) = [path for path in files() if path != mine]
    other.write_bytes(data)
    assert usage(ask(TEXT, pattern="wim", relevance="likelihood-gain")).reused_tokens == 0


def test_a_disk_that_takes_nothing_is_told_and_the_answer_given(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr("wim_edge.library.array_file.os.fsync", full)
    found = ask(TEXT)
    assert [e.text for e in found if isinstance(e, events.Warning) and "No space left" in e.text]
    assert found[-1].text  # type: ignore[attr-defined]
    assert not list(folder().glob("*.part"))
    assert not files()
