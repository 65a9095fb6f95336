"""Whether scripts/shapes.py writes what it says: the shapes of the catalog's models, which llama.cpp loads."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.script import load
from wim_edge.catalog.catalog import Catalog, held_by
from wim_edge.engine.gguf import GGUFHeader, read_header
from wim_edge.engine.memory_estimate import estimate, kv_bytes
from wim_edge.engine.protocols import MemoryKind

MILLIONS = {"qwen3-0.6b": 596, "llama3.2-1b": 1236, "qwen3-4b": 4022, "gemma3-4b": 3880, "lfm2-1.2b": 1170,
            "granite4.0-h-1b": 1462, "qwen3.5-0.8b": 752}  # fmt: skip
"""Parameters, as their publishers count them (of Gemma's and Qwen3.5's those of the text model)."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("shapes")


def header_of(script: ModuleType, name: str) -> GGUFHeader:
    shape = script.SHAPES[name]
    facts = {f"{shape.architecture}.{key}": value for key, value in shape.facts.items()}
    return GGUFHeader(Path(name), {"general.architecture": shape.architecture, **facts}, (), 0, 0)


@pytest.mark.parametrize("name", MILLIONS)
def test_a_shape_is_that_of_the_catalogs_model(script: ModuleType, name: str) -> None:
    header, entry = header_of(script, name), Catalog.load().get(name)
    assert round(script.SHAPES[name].n_parameters / 1e6) == MILLIONS[name]
    assert (kv_bytes(header, 4096) - kv_bytes(header, 0)) / 4096 == entry.kv_bytes_per_token


@pytest.mark.parametrize("gib", [4, 8])
@pytest.mark.parametrize("name", MILLIONS)
def test_a_machine_holds_the_context_that_it_is_told_to(script: ModuleType, name: str, gib: int) -> None:
    header, entry = header_of(script, name), Catalog.load().get(name)
    (held,) = held_by(gib << 30, [entry])
    assert entry.bytes + estimate(header, held.context).total < 0.9 * (gib << 30)


@pytest.mark.real
@pytest.mark.parametrize(("name", "memory"), [("granite4.0-h-1b", MemoryKind.HYBRID), ("gemma3-4b", MemoryKind.WINDOW)])
def test_a_small_one_of_that_shape_is_written_quantized_and_read(
    script: ModuleType, smollm2_as_it_is: Path, tmp_path: Path, name: str, memory: MemoryKind
) -> None:
    from wim_edge.engine.model import Model

    whole = script.SHAPES[name]
    facts = dict(whole.facts, block_count=2)
    if isinstance(facts["attention.head_count_kv"], list):
        facts["attention.head_count_kv"] = [0, 4]
    shape = replace(whole, facts=facts, n_vocab=49_200, n_merges=48_910)
    path = script.write(shape, tmp_path / "small.gguf", smollm2_as_it_is)
    assert list(tmp_path.glob("*.gguf")) == [path]
    header = read_header(path)
    assert sum(math.prod(tensor.shape) for tensor in header.tensors) == shape.n_parameters
    assert header.n_vocab == 49_200
    with Model(path) as model:
        assert model.info.memory is memory
        tokens = model.tokenize("Costs rose in 2023, as fire-wood was dear.")
        with Model(smollm2_as_it_is) as other:
            assert tokens == other.tokenize("Costs rose in 2023, as fire-wood was dear.")
        with model.context(256).sequence() as sequence:
            logits = sequence.append(tokens)
    assert math.isfinite(float(logits.sum()))
    assert float(logits.std()) > 0


@pytest.mark.real
def test_a_tokenizer_that_has_more_tokens_than_the_shape_is_refused(
    script: ModuleType, smollm2_as_it_is: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="49152 tokens, where the shape has 100"):
        script.write(replace(script.SHAPES["lfm2-1.2b"], n_vocab=100), tmp_path / "x.gguf", smollm2_as_it_is)
    assert not list(tmp_path.glob("*.gguf"))
