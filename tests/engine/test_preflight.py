"""Checks before the weights are loaded: memory, the longest context, a text's tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiny import write_tiny
from wim_edge import Document, Runtime
from wim_edge.engine import available_memory
from wim_edge.engine.gguf import read_header
from wim_edge.engine.memory_estimate import FreeMemory, estimate
from wim_edge.engine.model import Model
from wim_edge.engine.preflight import largest_n_ctx, vocabulary
from wim_edge.engine.protocols import N_SEQUENCES
from wim_edge.errors import ContextOverflowError, MemoryBudgetError
from wim_edge.settings import Settings

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", params=["smollm2", "gemma3"])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    with Model(request.getfixturevalue(request.param)) as model:
        yield model


def test_a_context_beyond_memory_is_refused_with_the_numbers(
    smollm2_as_it_is: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Model(smollm2_as_it_is) as model:
        monkeypatch.setattr(available_memory, "available", lambda _mapped: 56 << 20)
        with pytest.raises(MemoryBudgetError, match=r"needs \d+ MiB .*KV cache \d+ MiB.* 150 MiB are free"):
            model.context(8192)
        assert model.largest_n_ctx() < 8192
    monkeypatch.setattr(available_memory, "available", lambda _mapped=0: 10 << 20)
    with pytest.raises(MemoryBudgetError, match="weights"):
        Model(smollm2_as_it_is)


@pytest.mark.parametrize("options", [{}, {"n_ctx": 512}, {"memory": 200 << 20}])
def test_a_text_too_long_for_any_context_is_refused_before_loading(
    smollm2_as_it_is: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, int]
) -> None:
    monkeypatch.setattr("wim_edge.loaded_models.open_model", lambda *_: pytest.fail("loaded"))
    if free := options.pop("memory", 0):
        monkeypatch.setattr(available_memory, "available", lambda _mapped=0: free)
    text = "The ferry sails at noon, and the harbour is cold. " * 2000
    with Runtime(Settings(model=str(smollm2_as_it_is), pattern="llm", save=False, **options)) as runtime:
        with pytest.raises(ContextOverflowError, match=r"have about [\d,]+ tokens, and the context holds") as caught:
            runtime.stream(Document("d", text), "When?")
        assert ("memory holds" in caught.value.hint, "--ctx" in caught.value.hint) == (bool(free), bool(options))


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba", "lfm2"])
def test_the_longest_context_is_the_last_one_that_fits(tmp_path: Path, architecture: str) -> None:
    header, chosen = read_header(write_tiny(tmp_path / "tiny.gguf", architecture)), Settings()

    def need(n_ctx: int) -> int:
        return estimate(header, n_ctx, 64, chosen.kv_type, False, N_SEQUENCES).total

    for fits in (256, 512, 4096, 32_768):
        most = largest_n_ctx(header, chosen, 32_768, FreeMemory(need(fits)))
        assert most >= fits
        assert need(most) <= need(fits)
        assert most == 32_768 or need(most + 256) > need(fits)
    assert largest_n_ctx(header, chosen, 32_768, FreeMemory(0)) == 256
    assert largest_n_ctx(header, chosen, 2**31 - 1, FreeMemory(1 << 60)) == 2**31 - 1


def test_the_vocabulary_alone_counts_as_the_model_does(model: Model) -> None:
    text = "The ferry sails at noon, and the harbour is cold.\n\nÜnïcödé 🚢 " * 50
    with vocabulary(model.info.path) as count:
        assert abs(count(text) - len(model.tokenize(text))) <= 1
        assert count("") == 0
