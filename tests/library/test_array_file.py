"""Files of arrays: what is damaged in them is told before it is used."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from wim_edge.library.array_file import DamagedError, append_parts, open_mapped, open_regular_file, parts_of

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


@pytest.mark.parametrize(
    ("at", "says"),
    [(0, "tokens is damaged"), (4000, "scores is damaged"), (-1, "header is damaged"), (-5, "header is damaged"),
     (-9, "another format"), (-28, "its end is missing"), (-40, "header is damaged")],
)  # fmt: skip
def test_a_bit_that_flipped_is_noticed(tmp_path: Path, at: int, says: str) -> None:
    path = written(tmp_path)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=says):
        open_mapped(path, KIND, ABOUT)


@pytest.mark.parametrize(
    ("change", "says"),
    [(lambda data: data[:20], "cut short"), (lambda data: data[:-1], "its end is missing"),
     (lambda data: data[100:], "not the length"), (lambda data: b"more" + data, "not the length")],
)  # fmt: skip
def test_a_file_of_another_length_is_none(tmp_path: Path, change: object, says: str) -> None:
    path = written(tmp_path)
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(DamagedError, match=says):
        open_mapped(path, KIND, ABOUT)


def test_what_belongs_to_something_else_is_not_taken(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(DamagedError, match="something else"):
        open_mapped(path, KIND, {"model": "another"})
    with pytest.raises(DamagedError, match="another format"):
        open_mapped(path, (KIND[0], 2), ABOUT)
    assert len(open_mapped(path, KIND, None)) == 3


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="no file"):
        open_regular_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_regular_file(tmp_path / "nothing")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(DamagedError, match="no file"):
            open_regular_file(tmp_path / "pipe")
