"""What fits into main memory and into the GPUs', where layers are offloaded. The GPUs are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wim_edge.engine import available_memory, memory_estimate
from wim_edge.engine.gguf import GGUFHeader
from wim_edge.engine.memory_estimate import FreeMemory, MemoryNeed
from wim_edge.errors import MemoryBudgetError
from wim_edge.settings import Settings

MIB = 1 << 20
NEED = MemoryNeed(weights=80, kv=20, compute=10)


@pytest.mark.parametrize(
    ("free", "shortage"),
    [
        (FreeMemory(110), None),
        (FreeMemory(109), ("memory", 110, 109)),
        (FreeMemory(0, 110, 1.0), None),  # nothing of it is in main memory
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
    return GGUFHeader(Path("made-up"), 3, {"general.architecture": architecture, **metadata}, (), 0, 0)  # type: ignore[arg-type]


def test_kv_cache_of_layers_that_attend_now_and_then() -> None:
    facts = {"attention__head_count": 8, "attention__head_count_kv": 2, "attention__key_length": 256,
             "attention__value_length": 256, "full_attention_interval": 4}  # fmt: skip
    header = header_of("qwen35", 24, **facts, ssm__inner_size=2048, ssm__state_size=128)
    with_state = memory_estimate.kv_bytes(header, 0)
    assert memory_estimate.kv_bytes(header, 1024) - with_state == 12_288 * 1024
    assert with_state == 18 * 2048 * 128 * 4, "of the other 18 layers"


def test_kv_cache_of_windows_with_shorter_heads_and_of_layers_that_share() -> None:
    facts = {"attention__head_count": 8, "attention__head_count_kv": 1, "attention__key_length": 512,
             "attention__value_length": 512, "attention__key_length_swa": 256, "attention__value_length_swa": 256,
             "attention__sliding_window": 512, "attention__shared_kv_layers": 20}  # fmt: skip
    header = header_of("gemma4", 35, **facts, attention__sliding_window_pattern=[at % 5 != 4 for at in range(35)])
    assert memory_estimate.kv_bytes(header, 4096) == 18_432 * 4096
    windowed = memory_estimate.kv_bytes(header, 4096, swa_full=False)
    assert windowed == 3 * 1024 * 2 * 4096 + 12 * 512 * 2 * 1024


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Gives this machine a GPU with so many free bytes, of which llama.cpp knows nothing."""
    from wim_edge.engine import preflight
    from wim_edge.engine.bindings import Device

    def give(free: int, total: int = 8192 * MIB, shares: bool = False) -> None:
        monkeypatch.setattr(preflight, "devices", lambda: [Device("GPU0", "made up", True, free, total, shares)])

    return give


@pytest.mark.real
def test_layers_are_offloaded_as_far_as_they_fit(smollm2: Path, gpu: Callable[[int], None]) -> None:
    from wim_edge.engine.gguf import read_header
    from wim_edge.engine.preflight import gpu_layers

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
def test_a_context_that_does_not_fit_is_refused_where_layers_are_offloaded(
    smollm2: Path, gpu: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, n_gpu_layers: int, place: str
) -> None:
    from wim_edge.engine.model import Model

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
def test_main_memory_does_not_matter_where_all_is_on_the_gpu(
    smollm2: Path, gpu: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wim_edge.engine.model import Model

    gpu(4096 * MIB)
    with Model(smollm2) as model:
        monkeypatch.setattr(available_memory, "available", lambda _mapped=0: 0)
        assert model.largest_n_ctx() == 8192
        assert model.context(8192).n_ctx == 8192


@pytest.mark.real
def test_a_gpu_that_shares_main_memory_has_no_more_than_that(
    smollm2: Path, gpu: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Apple silicon, where Metal tells of a share of the memory, whatever other programs hold of it."""
    from wim_edge.engine.gguf import read_header
    from wim_edge.engine.model import Model
    from wim_edge.engine.preflight import gpu_layers

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
    with pytest.raises(MemoryBudgetError, match="for its weights, 100 MiB are free"):
        Model(smollm2)


@pytest.mark.real
def test_weights_that_the_gpu_does_not_hold_are_refused(
    smollm2_as_it_is: Path, gpu: Callable[[int], None]
) -> None:
    from wim_edge.engine.model import Model

    gpu(50 * MIB)
    with pytest.raises(MemoryBudgetError, match="its weights need 94 MiB of GPU memory, 50 MiB are free"):
        Model(smollm2_as_it_is, Settings(n_gpu_layers=-1))


@pytest.mark.real
def test_a_gpu_that_does_not_say_how_much_it_has_is_believed(
    smollm2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wim_edge.engine import preflight
    from wim_edge.engine.bindings import Device
    from wim_edge.engine.model import Model

    monkeypatch.setattr(preflight, "devices", lambda: [Device("GPU0", "made up", True, 0, 0)])
    with Model(smollm2, Settings(n_gpu_layers=-1)) as model:
        assert model.context(8192).n_ctx == 8192
