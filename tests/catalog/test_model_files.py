"""Model files are written whole or not at all, and what keeps them from it is told with the numbers."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from unittest.mock import Mock

import pytest

from tests.catalog.conftest import sha256
from tests.conftest import written
from wim_edge.catalog.model_files import check_sha256, join, megabytes, require_space, write_error
from wim_edge.errors import DownloadError


@contextmanager
def breaking() -> Iterator[IO[bytes]]:
    raise OSError(errno.EIO, "Input/output error")
    yield


def test_streams_are_joined_in_their_order_and_counted(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    target = tmp_path / "made" / "a.gguf"
    join([lambda: io.BytesIO(b"one "), lambda: io.BytesIO(b"two")], target, 7, lambda *done: told.append(done))
    assert target.read_bytes() == b"one two"
    assert told == [(4, 7), (7, 7)]
    assert list(target.parent.iterdir()) == [target]


def test_what_breaks_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    target = written(tmp_path / "a.gguf", b"the old one")
    with pytest.raises(DownloadError, match="Input/output error"):
        join([lambda: io.BytesIO(b"new"), breaking], target, 6, lambda *_: None)
    assert target.read_bytes() == b"the old one"
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_that_is_not_the_disks_is_no_download_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        join([lambda: io.BytesIO(b"new")], tmp_path / "a.gguf", 3, Mock(side_effect=KeyboardInterrupt))
    assert list(tmp_path.iterdir()) == []


def test_a_checksum_is_of_the_bytes_and_none_is_not_checked(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gguf", b"abc")
    check_sha256(path, sha256(b"abc"))
    check_sha256(path, None)
    with pytest.raises(DownloadError, match=r"a\.gguf is not the expected file: SHA-256 ba7816bf8f01") as caught:
        check_sha256(path, "0" * 64)
    assert "Pull the model again" in caught.value.hint


def test_space_is_required_of_a_folder_that_is_made(tmp_path: Path) -> None:
    require_space(tmp_path / "a" / "b", 1)
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(DownloadError, match=r"is full: 1000000000\.0 GB needed"):
        require_space(tmp_path / "a" / "b", 10**18)
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError) as caught:
        require_space(tmp_path / "file" / "c", 1)
    assert "WIM_EDGE_HOME" in caught.value.hint


def test_a_full_disk_is_told_by_the_folder_that_could_not_be_made(tmp_path: Path) -> None:
    error = write_error(OSError(errno.ENOSPC, "No space left on device"), tmp_path / "no" / "such", 2_500_000_000)
    assert "2.5 GB needed" in str(error)
    assert "models remove" in error.hint
    assert str(write_error(OSError("odd"), tmp_path, 1)) == f"{tmp_path}: odd"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 MB"), (9, "1 kB"), (12_345, "12 kB"), (640_000_000, "640 MB"), (999_999_999, "1000 MB"),
     (5_000_000_000, "5.0 GB")],
)  # fmt: skip
def test_sizes_for_people(size: int, text: str) -> None:
    assert megabytes(size) == text
