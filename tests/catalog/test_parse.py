"""models.toml is read strictly: the shipped one is sound, and mistakes in the user's own are named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from wim_edge.catalog import EMBEDDED, Catalog, HubSource, PackagePart, PackageSource, PathSource
from wim_edge.catalog.parse import read_models
from wim_edge.errors import ModelError
from wim_edge.settings import package_file

FACTS = """
description = "Mine"
licence = "MIT"
parameters = "1B"
context = 4096
rank = 99
bytes = 1000
"""
HUB = 'kind = "hub"\nrepo = "owner/name"\nfile = "a.gguf"\n'


PACKAGE = """kind = "package"
file = "a.gguf"
parts = 12
requirement = "a-part{n}==1.0"
module = "a_part{n}"
resource = "data/part{n:02}.bin"
"""
SUM = f'sha256 = "{"0" * 64}"\n'
OTHER_SUM = f'sha256 = "{"1" * 64}"\n'


def sources_text(*sources: str, facts: str = "") -> str:
    return f'[models."mine"]{FACTS}{facts}' + "".join(f'[[models."mine".sources]]\n{one}' for one in sources)


def entry_text(name: str = "mine", facts: str = FACTS, source: str = HUB, more: str = "") -> str:
    return f'[models."{name}"]{facts}\n[models."{name}".source]\n{source}\n{more}'


class TestShipped:
    entries = read_models(package_file("models.toml"))

    def test_the_embedded_model_is_there_and_ranks_below_every_instruct_model(self) -> None:
        better = [entry for entry in self.entries.values() if entry.rank > self.entries[EMBEDDED].rank]
        assert len(better) >= 8
        assert all(isinstance(entry.sources[0], HubSource) for entry in better)

    def test_hub_entries_name_a_repository_a_gguf_a_commit_and_a_checksum(self) -> None:
        hubs = [one for entry in self.entries.values() for one in entry.sources if isinstance(one, HubSource)]
        assert 8 <= len(hubs) <= 35
        for source in hubs:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+", source.repo)
            assert source.file.endswith(".gguf")
            assert re.fullmatch(r"[0-9a-f]{40}", source.revision)
            assert source.sha256

    def test_sizes_are_plausible(self) -> None:
        for entry in self.entries.values():
            assert 2 * 10**7 < entry.bytes < 6 * 10**9
            if entry.rank:  # an embedding model keeps none
                assert entry.kv_bytes_per_token
                assert 4 * 10**3 < entry.kv_bytes_per_token < 2 * 10**5

    def test_parts_are_named_in_order(self) -> None:
        source = self.entries["gemma3-270m"].sources[0]
        assert isinstance(source, PackageSource)
        assert [part.resource[-2:] for part in source.parts] == ["00", "01", "02", "03"]
        assert source.file == "gemma-3-270m-q4_k_m.gguf"

    def test_the_coder_variants_have_two_sources_of_one_file(self) -> None:
        for name, count in (("qwen2.5-coder-0.5b", 6), ("qwen2.5-coder-1.5b", 22)):
            hub, package = self.entries[name].sources
            assert isinstance(hub, HubSource)
            assert isinstance(package, PackageSource)
            assert hub.file == package.file
            assert hub.sha256 == package.sha256
            assert [int(part.resource[-6:-4]) for part in package.parts] == list(range(1, count + 1))

    def test_thinking_models_do_not_think(self) -> None:
        assert self.entries["qwen3-8b"].chat == {"enable_thinking": False}


class TestOwnFile:
    def test_adds_an_entry(self, own_models: Callable[[str], Path]) -> None:
        own_models(entry_text(more='[models."mine".settings]\nsegment_tokens = 512\nrelevance_threshold = 1'))
        catalog = Catalog.load()
        assert catalog.get("mine").settings == {"segment_tokens": 512, "relevance_threshold": 1}
        assert catalog.get(EMBEDDED)

    def test_replaces_a_whole_entry(self, own_models: Callable[[str], Path]) -> None:
        own_models(entry_text("qwen3-8b"))
        entry = Catalog.load().get("qwen3-8b")
        assert entry.description == "Mine"
        assert entry.sources == (HubSource("owner/name", "a.gguf"),)
        assert not entry.chat

    def test_a_path_is_relative_to_the_file(self, own_models: Callable[[str], Path]) -> None:
        file = own_models(entry_text(source='kind = "path"\npath = "sub/a.gguf"'))
        assert Catalog.load().get("mine").sources == (PathSource(file.parent / "sub/a.gguf"),)

    def test_numbered_parts(self, own_models: Callable[[str], Path]) -> None:
        own_models(entry_text(source=PACKAGE))
        (source,) = Catalog.load().get("mine").sources
        assert isinstance(source, PackageSource)
        assert len(source.parts) == 12
        assert source.parts[0] == PackagePart("a-part1==1.0", "a_part1", "data/part01.bin")
        assert source.parts[11] == PackagePart("a-part12==1.0", "a_part12", "data/part12.bin")
        assert str(source) == "packages: a-part1==1.0 ... a-part12==1.0 (12 packages)"

    @pytest.mark.parametrize(
        "text",
        [
            sources_text(HUB, PACKAGE, facts=SUM),
            sources_text(HUB + SUM, PACKAGE),
            sources_text(HUB + SUM, PACKAGE + SUM, facts=SUM),
        ],
    )
    def test_sources_share_a_checksum_written_once(self, own_models: Callable[[str], Path], text: str) -> None:
        own_models(text)
        entry = Catalog.load().get("mine")
        assert [one.sha256 for one in entry.sources] == ["0" * 64] * 2
        assert [one.label for one in entry.sources] == ["Hugging Face", "packages"]
        assert entry.sha256 == "0" * 64

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
            (entry_text(facts=FACTS.replace("99", "true")), "models.mine.rank"),
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
            (entry_text(source=PACKAGE.replace("{n", "{m")), "models.mine.source"),
            (entry_text(source=PACKAGE.replace("{n}", "1").replace("{n:02}", "01")), "the 12 parts are the same"),
            (entry_text(source=PACKAGE.replace("12", "0")), "models.mine.source.parts"),
            (entry_text(source=PACKAGE.replace("data/", "../")), "models.mine.source.resource"),
            (f'[models."mine"]{FACTS}', "models.mine has no source"),
            (sources_text(HUB) + f"[models.mine.source]\n{HUB}", "models.mine has source and sources"),
            (sources_text(HUB, PACKAGE), "models.mine.sha256 is missing"),
            (sources_text(HUB + SUM, PACKAGE + OTHER_SUM), "models.mine: the values of sha256 differ"),
            (sources_text(HUB + SUM, PACKAGE, facts=OTHER_SUM), "models.mine: the values of sha256 differ"),
            (entry_text(more="[models.mine.settings]\nrpc = 'host:1'"), "models.mine.settings.rpc"),
            (entry_text(more="[models.mine.settings]\nseed = 'x'"), "models.mine.settings.seed"),
            (entry_text(more="[models.mine.settings]\nmax_passages = 0"), "models.mine.settings: max_passages"),
        ],
    )
    def test_mistakes_are_named(self, own_models: Callable[[str], Path], text: str, named: str) -> None:
        file = own_models(text)
        with pytest.raises(ModelError) as caught:
            Catalog.load()
        assert str(file) in str(caught.value)
        assert named in str(caught.value)
        assert caught.value.hint
