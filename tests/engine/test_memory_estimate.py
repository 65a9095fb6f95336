"""The memory of contexts, estimated from headers, and whether main memory and that of GPUs (fakes) hold it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tiny import write_tiny
from wim_edge import Document, Runtime
from wim_edge.engine import available_memory, bindings, memory_estimate
from wim_edge.engine.bindings import Device
from wim_edge.engine.gguf import GGUFHeader, read_header
from wim_edge.engine.memory_estimate import FreeMemory, MemoryNeed, estimate, gpu_layers, largest_n_ctx
from wim_edge.engine.model import Model
from wim_edge.engine.protocols import N_SEQUENCES
from wim_edge.errors import ContextOverflowError, MemoryBudgetError
from wim_edge.settings import Settings

MIB = 1 << 20
NEED = MemoryNeed(weights=80, kv=20, compute=10)


@pytest.mark.parametrize(
    ("free", "shortage"),
    [
        (FreeMemory(110), None),
        (FreeMemory(109), ("memory", 110, 109)),
        (FreeMemory(0, 110, 1.0), None),  # all layers are on the GPU
        (FreeMemory(999, 109, 1.0), ("GPU memory", 110, 109)),
        (FreeMemory(109, 999, 1.0, 1.0), ("memory", 110, 109)),  # the GPU shares it
        (FreeMemory(35, 85, 0.75), None),
        (FreeMemory(34, 85, 0.75), ("memory", 35, 34)),
        (FreeMemory(35, 84, 0.75), ("GPU memory", 85, 84)),
    ],
)
def test_each_memory_holds_its_layers(free: FreeMemory, shortage: tuple[str, int, int] | None) -> None:
    assert free.shortage(NEED) == shortage


def header_of(architecture: str, layers: int, **facts: object) -> GGUFHeader:
    known = {"block_count": layers, "embedding_length": 2048, **facts}
    metadata = {f"{architecture}.{key.replace('__', '.')}": value for key, value in known.items()}
    return GGUFHeader(Path("made-up"), {"general.architecture": architecture, **metadata}, (), 0, 0)  # type: ignore[arg-type]


def test_kv_cache_of_every_fourth_layer() -> None:
    facts = {"attention__head_count": 8, "attention__head_count_kv": 2, "attention__key_length": 256,
             "attention__value_length": 256, "full_attention_interval": 4}  # fmt: skip
    header = header_of("qwen35", 24, **facts, ssm__inner_size=2048, ssm__state_size=128)
    with_state = memory_estimate.kv_bytes(header, 0)
    assert memory_estimate.kv_bytes(header, 1024) - with_state == 12_288 * 1024
    assert with_state == 18 * 2048 * 128 * 4, "of the other 18 layers"


def test_kv_cache_of_windows_with_shorter_heads_and_shared_layers() -> None:
    facts = {"attention__head_count": 8, "attention__head_count_kv": 1, "attention__key_length": 512,
             "attention__value_length": 512, "attention__key_length_swa": 256, "attention__value_length_swa": 256,
             "attention__sliding_window": 512, "attention__shared_kv_layers": 20}  # fmt: skip
    header = header_of("gemma4", 35, **facts, attention__sliding_window_pattern=[at % 5 != 4 for at in range(35)])
    assert memory_estimate.kv_bytes(header, 4096) == 18_432 * 4096
    windowed = memory_estimate.kv_bytes(header, 4096, swa_full=False)
    assert windowed == 3 * 1024 * 2 * 4096 + 12 * 512 * 2 * 1024


QWEN = {"attention__head_count": 16, "attention__head_count_kv": 8, "attention__key_length": 128,
        "attention__value_length": 128, "feed_forward_length": 6144}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "more", "buffer", "work"),
    [
        ({}, {}, 16 * 4 + 4, 16 * 2),  # scores and a mask; scores once more as they are multiplied
        ({}, {"attention__sliding_window": 512}, 16 * 4 + 2 * 4, 16 * 2),
        ({"flash": True}, {}, 2, 0),
        ({"kv_type": "q8_0"}, {}, 2, 0),
    ],
)
def test_the_compute_buffer_of_a_longer_context(
    options: dict[str, object], more: dict[str, int], buffer: int, work: int
) -> None:
    header = header_of("qwen3", 28, **QWEN, **more)
    short, long = (estimate(header, n_ctx, 512, **options) for n_ctx in (16_384, 32_768))  # type: ignore[arg-type]
    assert long.compute - short.compute == buffer * 16_384 * 512
    if not more:
        assert long.host - short.host == work * 16_384 * 512


def test_the_vocabulary_and_the_states_of_all_sequences_are_counted() -> None:
    header = header_of("granitehybrid", 4, **QWEN, ssm__inner_size=4096, ssm__state_size=128)
    states = [estimate(header, 256, 64, n_seq_max=n).compute for n in (1, 8)]
    assert states[1] - states[0] == 7 * 4 * 4096 * 128
    tokens = replace(header, metadata_nbytes=10_000_000)
    one, other = (estimate(some, 256, 64).host for some in (header, tokens))
    assert other - one == 70_000_000


@pytest.mark.parametrize(
    ("facts", "each", "at_work"),
    [
        ({}, 0, 0),  # by position
        ({"attention__head_count_kv": [0, 8, 0, 8], "ssm__inner_size": 4096, "ssm__state_size": 128}, 2 * 2**21, 4),
        ({"attention__sliding_window": 512, "attention__sliding_window_pattern": [1, 1, 1, 0]}, 3 * 2**21, 0),
    ],
)
def test_the_checkpoints_of_a_reading(facts: dict[str, object], each: int, at_work: int) -> None:
    """One for each 1,024 tokens, in main memory even if all layers are on a GPU."""
    header = header_of("some", 4, **{**QWEN, **facts})
    short, long = (estimate(header, n_ctx, 64, flash=True) for n_ctx in (5000, 5000 + 3 * 1024))
    assert long.host - short.host == 3 * each
    assert short.host >= (at_work + 4) * each
    assert short.total == short.kv + short.compute + short.host
    assert FreeMemory(short.total).shortage(short) is None
    assert FreeMemory(short.total - 1).shortage(short) == ("memory", short.total, short.total - 1)
    assert FreeMemory(0, short.total - short.host, 1.0).shortage(short) is None


@pytest.mark.real
@pytest.mark.parametrize("name", ["llama", "gemma3", "mamba", "lfm2", "real smollm2", "real gemma3"])
def test_the_estimate_is_just_above_the_sizes_in_llama_cpps_log(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    """It includes 32 MiB that the log omits; for a large vocabulary on a small batch it is 160 MiB too high."""
    path = request.getfixturevalue(name[5:]) if "real" in name else write_tiny(tmp_path / "tiny.gguf", name)
    caplog.set_level(logging.DEBUG, "wim_edge.llama")
    for settings in (Settings(flash_attn=False), Settings(flash_attn=True), Settings(n_batch=64)):
        with Model(path, settings) as model:
            for n_ctx in (1024, 8192):
                caplog.clear()
                model.context(n_ctx).close()
                need = model.need(n_ctx)
                sizes = re.findall(r"(?:KV|RS|compute|output) buffer size\s*=\s*([\d.]+) MiB", caplog.text)
                assert len(sizes) >= 3
                more = (need.kv + need.compute) / MIB - sum(map(float, sizes))
                assert 0 <= more <= (160 if "real" in name else 40)


@pytest.mark.real
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


@pytest.mark.real
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


@pytest.mark.real
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


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives this machine a fake GPU with so many free bytes, unknown to llama.cpp."""

    def give(free: int, total: int = 8192 * MIB, shares: bool = False) -> None:
        monkeypatch.setattr(bindings, "devices", lambda: [Device("GPU0", "made up", True, free, total, shares)])

    return give


@pytest.mark.real
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


@pytest.mark.real
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


@pytest.mark.real
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


@pytest.mark.real
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


@pytest.mark.real
def test_weights_that_the_gpu_cannot_hold_are_refused(smollm2_as_it_is: Path, gpu: Callable[..., None]) -> None:
    gpu(50 * MIB)
    with pytest.raises(MemoryBudgetError, match="needs 94 MiB of GPU memory for its weights, 50 MiB are free"):
        Model(smollm2_as_it_is, Settings(n_gpu_layers=-1))
