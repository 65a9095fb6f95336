"""Checks before the weights are loaded: memory, also of GPUs (fakes), the longest context, a text's tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny import write_tiny
from wim_edge import Document, Runtime
from wim_edge.engine import available_memory, preflight
from wim_edge.engine.bindings import Device
from wim_edge.engine.gguf import read_header
from wim_edge.engine.memory_estimate import FreeMemory, estimate
from wim_edge.engine.model import Model
from wim_edge.engine.preflight import gpu_layers, largest_n_ctx, vocabulary
from wim_edge.engine.protocols import N_SEQUENCES
from wim_edge.errors import ContextOverflowError, MemoryBudgetError
from wim_edge.settings import Settings

pytestmark = pytest.mark.real
MIB = 1 << 20


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


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives this machine a fake GPU with so many free bytes, unknown to llama.cpp."""

    def give(free: int, total: int = 8192 * MIB, shares: bool = False) -> None:
        monkeypatch.setattr(preflight, "devices", lambda: [Device("GPU0", "made up", True, free, total, shares)])

    return give


def test_layers_are_offloaded_as_far_as_they_fit(smollm2: Path, gpu: Callable[..., None]) -> None:
    header = read_header(smollm2)
    assert gpu_layers(header, None) == 0
    gpu(4096 * MIB)
    assert gpu_layers(header, None) == -1
    assert gpu_layers(header, 0) == 0
    assert gpu_layers(header, 7) == 7
    gpu(400 * MIB)
    assert 0 < gpu_layers(header, None) < header.number("block_count")
    gpu(10 * MIB)
    assert gpu_layers(header, None) == 0


@pytest.mark.parametrize(
    ("n_gpu_layers", "place"), [(-1, "GPU memory"), (99, "GPU memory"), (15, "GPU memory"), (15, "memory")]
)
def test_with_offloaded_layers_a_context_that_does_not_fit_is_refused(
    smollm2: Path, gpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch, n_gpu_layers: int, place: str
) -> None:
    gpu(4096 * MIB)
    with Model(smollm2, Settings(n_gpu_layers=n_gpu_layers)) as model:
        assert model.context(8192).n_ctx == 8192
        if place == "memory":
            monkeypatch.setattr(available_memory, "available", lambda _mapped=0: 100 * MIB)
        else:
            gpu(100 * MIB)
        assert model.largest_n_ctx() < 8192
        with pytest.raises(MemoryBudgetError, match=rf"needs \d+ MiB of {place} \(weights .* are free") as caught:
            model.context(8192)
        assert "--ctx" in caught.value.hint


@pytest.mark.parametrize("reports_memory", [True, False])
def test_a_model_on_the_gpu_needs_no_main_memory(
    smollm2: Path, gpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch, reports_memory: bool
) -> None:
    """A GPU whose driver reports no memory is assumed to have enough."""
    gpu(*(4096 * MIB, 8192 * MIB) if reports_memory else (0, 0))
    with Model(smollm2, Settings(n_gpu_layers=-1)) as model:
        monkeypatch.setattr(available_memory, "available", lambda _mapped=0: 0)
        assert model.largest_n_ctx() == 8192
        assert model.context(8192).n_ctx == 8192


def test_a_gpu_that_shares_main_memory_has_no_more_than_that(
    smollm2: Path, gpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Apple silicon Metal reports a share of the memory, whatever other programs hold of it."""
    header = read_header(smollm2)
    gpu(4096 * MIB, shares=True)
    assert gpu_layers(header, None) == -1
    with Model(smollm2) as model:
        monkeypatch.setattr(available_memory, "available", lambda _mapped=0: 400 * MIB)
        assert 0 < gpu_layers(header, None) < header.number("block_count")
        monkeypatch.setattr(available_memory, "available", lambda _mapped=0: 100 * MIB)
        assert model.largest_n_ctx() < 8192
        with pytest.raises(MemoryBudgetError, match=r"needs \d+ MiB of memory"):
            model.context(8192)
    for shares, layers in ((True, None), (False, 0)):  # nor is there more beside a GPU that is not used
        gpu(4096 * MIB, shares=shares)
        with pytest.raises(MemoryBudgetError, match="for its weights, 100 MiB are free"):
            Model(smollm2, Settings(n_gpu_layers=layers))


def test_weights_that_the_gpu_cannot_hold_are_refused(smollm2_as_it_is: Path, gpu: Callable[..., None]) -> None:
    gpu(50 * MIB)
    with pytest.raises(MemoryBudgetError, match="its weights need 94 MiB of GPU memory, 50 MiB are free"):
        Model(smollm2_as_it_is, Settings(n_gpu_layers=-1))
