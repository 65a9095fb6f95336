"""models.toml is read strictly, the user's own stands over the shipped one, and a model is chosen."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from wim_edge.catalog import EMBEDDED, Catalog, HubSource, ModelEntry, PackageSource, PathSource, resolve
from wim_edge.catalog.catalog import recommended
from wim_edge.catalog.parse import read_models
from wim_edge.errors import ModelError, ModelNotFoundError
from wim_edge.settings import Paths, package_file

FACTS = """
description = "Mine"
licence = "MIT"
parameters = "1B"
context = 4096
rank = 99
bytes = 1000
"""
HUB = 'kind = "hub"\nrepo = "owner/name"\nfile = "a.gguf"\n'


def entry_text(name: str = "mine", facts: str = FACTS, source: str = HUB, more: str = "") -> str:
    return f'[models."{name}"]{facts}\n[models."{name}".source]\n{source}\n{more}'


class TestShipped:
    entries = read_models(package_file("models.toml"))

    def test_the_embedded_model_is_there_and_ranks_below_every_instruct_model(self) -> None:
        better = [entry for entry in self.entries.values() if entry.rank > self.entries[EMBEDDED].rank]
        assert len(better) >= 8
        assert all(isinstance(entry.source, HubSource) for entry in better)

    def test_hub_entries_name_a_repository_a_gguf_a_commit_and_a_checksum(self) -> None:
        hubs = [entry.source for entry in self.entries.values() if isinstance(entry.source, HubSource)]
        assert 8 <= len(hubs) <= 12
        for source in hubs:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+", source.repo)
            assert source.file.endswith(".gguf")
            assert re.fullmatch(r"[0-9a-f]{40}", source.revision)
            assert source.sha256

    def test_sizes_are_plausible(self) -> None:
        for entry in self.entries.values():
            assert 9 * 10**7 < entry.bytes < 6 * 10**9
            assert entry.kv_bytes_per_token
            assert 10**4 < entry.kv_bytes_per_token < 2 * 10**5

    def test_parts_are_named_in_order(self) -> None:
        source = self.entries["gemma3-270m"].source
        assert isinstance(source, PackageSource)
        assert [part.resource[-2:] for part in source.parts] == ["00", "01", "02", "03"]
        assert source.file == "gemma-3-270m-q4_k_m.gguf"

    def test_thinking_models_do_not_think(self) -> None:
        assert self.entries["qwen3-8b"].chat == {"enable_thinking": False}


class TestOwnFile:
    def test_adds_an_entry(self, own_models: Callable[[str], Path], paths: Paths) -> None:
        own_models(entry_text(more='[models."mine".settings]\nsegment_tokens = 512\nrelevance_threshold = 1'))
        catalog = Catalog.load(paths)
        assert catalog.get("mine").settings == {"segment_tokens": 512, "relevance_threshold": 1}
        assert catalog.get(EMBEDDED)

    def test_replaces_a_whole_entry(self, own_models: Callable[[str], Path], paths: Paths) -> None:
        own_models(entry_text("qwen3-8b"))
        entry = Catalog.load(paths).get("qwen3-8b")
        assert entry.description == "Mine"
        assert entry.source == HubSource("owner/name", "a.gguf")
        assert not entry.chat

    def test_a_path_is_relative_to_the_file(self, own_models: Callable[[str], Path], paths: Paths) -> None:
        file = own_models(entry_text(source='kind = "path"\npath = "sub/a.gguf"'))
        assert Catalog.load(paths).get("mine").source == PathSource(file.parent / "sub/a.gguf")

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("[models", "TOML"),
            ("a = " + "[" * 20_000, "TOML"),
            ("a = " + "9" * 5_000, "TOML"),
            ('[model."mine"]', "model is not known"),
            ('[models]\nmine = "x"', "models.mine"),
            (entry_text("Mine Own"), "models.Mine Own"),
            (entry_text("mine.gguf"), "models.mine.gguf"),
            (entry_text(facts=FACTS + "colour = 1"), "models.mine.colour"),
            (entry_text(facts=FACTS.replace("rank = 99", "")), "models.mine.rank"),
            (entry_text(facts=FACTS.replace("99", "true")), "models.mine.rank"),
            (entry_text(facts=FACTS.replace("4096", "0")), "models.mine.context"),
            (entry_text(facts=FACTS.replace('"MIT"', "3")), "models.mine.licence"),
            (entry_text(source='kind = "ftp"'), "models.mine.source.kind"),
            (entry_text(source=HUB + "sha256 = 'abc'"), "models.mine.source.sha256"),
            (entry_text(source=HUB + "path = 'x'"), "models.mine.source.path"),
            (entry_text(source=HUB.replace("owner/name", "../../etc")), "models.mine.source.repo"),
            (entry_text(source=HUB.replace("a.gguf", "../a.gguf")), "models.mine.source.file"),
            (entry_text(source=HUB.replace("a.gguf", "a.bin")), "models.mine.source.file"),
            (entry_text(source=HUB.replace("a.gguf", "a-00001-of-00002.gguf")), "models.mine.source.file"),
            (
                entry_text(source='kind = "package"\nrequirement = "-r x"\nmodule = "m"\nresource = "a.gguf"'),
                "models.mine.source.requirement",
            ),
            (
                entry_text(source='kind = "package"\nfile = "a.gguf"\nparts = [{ module = "m" }]'),
                "models.mine.source.parts[0].requirement",
            ),
            (entry_text(source='kind = "package"\nfile = "a.gguf"\nparts = []'), "models.mine.source.parts"),
            (entry_text(more="[models.mine.settings]\nmodel = 'x'"), "models.mine.settings.model"),
            (entry_text(more="[models.mine.settings]\nrpc = 'host:1'"), "models.mine.settings.rpc"),
            (entry_text(more="[models.mine.settings]\nreadings_bytes = 1"), "models.mine.settings.readings_bytes"),
            (entry_text(more="[models.mine.settings]\nseed = 'x'"), "models.mine.settings.seed"),
            (entry_text(more="[models.mine.settings]\nmax_passages = 0"), "models.mine.settings: max_passages"),
        ],
    )
    def test_mistakes_are_named(self, own_models: Callable[[str], Path], paths: Paths, text: str, named: str) -> None:
        file = own_models(text)
        with pytest.raises(ModelError) as caught:
            Catalog.load(paths)
        assert str(file) in str(caught.value)
        assert named in str(caught.value)
        assert caught.value.hint


class TestGet:
    def test_the_hint_names_the_nearest(self, paths: Paths) -> None:
        with pytest.raises(ModelNotFoundError) as caught:
            Catalog.load(paths).get("Qwen3-4")
        assert "qwen3-4b" in caught.value.hint

    def test_the_hint_says_how_to_list(self, paths: Paths) -> None:
        with pytest.raises(ModelNotFoundError) as caught:
            Catalog.load(paths).get("xyzzy!")
        assert "wim-edge models list" in caught.value.hint


def test_memory_counts_file_cache_and_working_space(make_entry: Callable[..., ModelEntry]) -> None:
    entry = make_entry(bytes=1000, context=100, kv_bytes_per_token=10)
    assert entry.memory_bytes() == 1000 + 100 * 10 + 200 * 1024**2
    assert entry.memory_bytes(2000, context=50) == 2000 + 50 * 10 + 200 * 1024**2


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.catalog.packages.installed", lambda part: None)


def put(paths: Paths, name: str, data: bytes) -> Path:
    source = Catalog.load(paths).get(name).source
    folder = paths.models / (source.repo if isinstance(source, HubSource) else name)
    file = folder / source.file  # type: ignore[union-attr]
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    return file


@pytest.mark.usefixtures("no_package")
class TestResolve:
    def test_a_path_is_taken_as_it_is(self, paths: Paths) -> None:
        resolved = resolve(os.path.join("some", "where.gguf"), paths)
        assert (resolved.name, resolved.path, resolved.entry) == ("where", Path("some/where.gguf"), None)

    def test_a_path_needs_no_catalog(self, own_models: Callable[[str], Path], paths: Paths) -> None:
        own_models("broken")
        assert resolve("x.gguf", paths).path == Path("x.gguf")

    def test_an_existing_file_of_any_name(self, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "weights").write_bytes(b"")
        assert resolve("weights", paths).path == Path("weights")

    def test_a_name_on_disk(self, paths: Paths, gguf: bytes) -> None:
        file = put(paths, "qwen3-4b", gguf)
        resolved = resolve("qwen3-4b", paths)
        assert resolved.path == file
        assert resolved.entry
        assert resolved.entry.name == "qwen3-4b"

    def test_a_name_not_on_disk(self, paths: Paths) -> None:
        with pytest.raises(ModelNotFoundError) as caught:
            resolve("qwen3-4b", paths)
        assert caught.value.hint == "wim-edge models pull qwen3-4b"

    def test_the_best_that_fits_is_the_default(self, paths: Paths, gguf: bytes) -> None:
        put(paths, EMBEDDED, gguf)
        put(paths, "qwen2.5-1.5b", gguf)
        put(paths, "qwen3-8b", gguf)
        assert resolve(None, paths, fits=lambda need: True).name == "qwen3-8b"
        assert resolve(None, paths, fits=lambda need: need < 10**9).name == "qwen2.5-1.5b"

    def test_the_best_that_fits_is_recommended_fetched_or_not(self, paths: Paths) -> None:
        catalog = Catalog.load(paths)
        assert recommended(catalog, lambda need: True).name == "qwen3-8b"
        assert recommended(catalog, lambda need: need < 0.8 * 2 * 10**9).name == "qwen2.5-1.5b"
        assert recommended(catalog, lambda need: False).name == EMBEDDED

    def test_the_embedded_model_even_where_nothing_fits(self, paths: Paths, gguf: bytes) -> None:
        put(paths, EMBEDDED, gguf)
        put(paths, "qwen3-8b", gguf)
        assert resolve(None, paths, fits=lambda need: False).name == EMBEDDED

    def test_nothing_on_disk(self, paths: Paths) -> None:
        with pytest.raises(ModelNotFoundError) as caught:
            resolve(None, paths)
        assert caught.value.hint == "wim-edge models pull smollm2-135m"

    def test_nothing_on_disk_but_a_way_to_fetch(self, paths: Paths, tmp_path: Path) -> None:
        resolved = resolve(None, paths, fetch_embedded=lambda entry: tmp_path / entry.file_name)
        assert resolved.path == tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"
