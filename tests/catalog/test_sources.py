"""Where models are found, and what is removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.catalog.conftest import Make
from tests.tiny import write_tiny_embedder
from wim_edge.catalog import (
    HubSource,
    PathSource,
    fetch,
    locate,
    remove,
)
from wim_edge.errors import ModelError, ModelFileError, ModelNotFoundError
from wim_edge.settings import Paths


class TestPath:
    def test_is_only_checked(self, make_entry: Make, paths: Paths, tmp_path: Path, gguf: bytes) -> None:
        file = tmp_path / "mine.gguf"
        file.write_bytes(gguf)
        entry = make_entry(source=PathSource(file))
        assert locate(entry, paths) == fetch(entry, paths) == file
        with pytest.raises(ModelError, match="your own file"):
            remove(entry, paths)
        assert file.exists()

    def test_an_embedding_model_is_a_model(self, make_entry: Make, paths: Paths, tmp_path: Path) -> None:
        file = tmp_path / "e5.gguf"
        write_tiny_embedder(file)
        assert fetch(make_entry(source=PathSource(file)), paths) == file

    def test_a_damaged_file_is_left_alone(self, make_entry: Make, paths: Paths, tmp_path: Path) -> None:
        file = tmp_path / "mine.gguf"
        file.write_bytes(b"no model at all, but somebody's")
        with pytest.raises(ModelFileError, match="not a GGUF file"):
            fetch(make_entry(source=PathSource(file)), paths)
        assert file.exists()

    def test_nothing_there(self, make_entry: Make, paths: Paths, tmp_path: Path) -> None:
        with pytest.raises(ModelNotFoundError, match="no such file"):
            fetch(make_entry(source=PathSource(tmp_path / "mine.gguf")), paths)


class TestRemove:
    def test_what_the_hub_download_left_goes_too(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        hub(gguf)
        fetch(make_entry(), paths)
        assert remove(make_entry(), paths) == len(gguf)
        assert not any(paths.models.iterdir())

    def test_another_file_of_the_repository_stays(self, make_entry: Make, paths: Paths, hub: Any, gguf: bytes) -> None:
        hub(gguf)
        other = make_entry(name="other", source=HubSource("owner/tiny-GGUF", "other.gguf"))
        fetch(make_entry(), paths)
        kept = fetch(other, paths)
        remove(make_entry(), paths)
        assert kept.exists()

    def test_nothing_to_remove(self, make_entry: Make, paths: Paths) -> None:
        with pytest.raises(ModelNotFoundError, match="tiny is not on this disk"):
            remove(make_entry(), paths)
