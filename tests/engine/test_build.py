"""How llama.cpp was built, and what it leaves unused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from wim_edge.engine.build import build_of, processor_flags, this_build

PLAIN = "CPU : SSE3 = 1 | AVX = 1 | AVX2 = 0 | OPENMP = 1 | REPACK = 1 |"


def test_what_the_build_uses_and_what_it_does_not() -> None:
    found = build_of(PLAIN, (), frozenset({"avx", "avx2", "fma"}), has_nvidia=False)
    assert (found.features, found.libraries, found.backends) == (("SSE3", "AVX"), ("OPENMP", "REPACK"), ())
    ((what, command),) = found.unused
    assert what == "AVX2, FMA of the processor, to read faster"
    assert command.startswith("pip install --force-reinstall")


def test_a_build_that_uses_all_leaves_nothing() -> None:
    assert build_of("CPU : AVX = 1 | AVX2 = 1 |", (), frozenset({"avx", "avx2", "sse3"}), has_nvidia=False).unused == ()
    assert build_of("CPU : NEON = 1 |", (), frozenset({"asimd"}), has_nvidia=False).unused == ()


def test_a_gpu_that_is_not_used() -> None:
    ((what, command),) = build_of(PLAIN, (), frozenset(), has_nvidia=True).unused
    assert what == "the NVIDIA GPU, to read faster"
    assert "GGML_CUDA=on" in command
    assert build_of(PLAIN, ("CUDA0",), frozenset(), has_nvidia=True).unused == ()


def test_metal_is_told_on_a_mac_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    info = "CPU : NEON = 1 | ACCELERATE = 1 |"
    assert build_of(info, (), frozenset(), has_nvidia=False).unused == ()
    monkeypatch.setattr(sys, "platform", "darwin")
    (unused,) = build_of(info, (), frozenset(), has_nvidia=False).unused
    assert unused[0] == "the GPU (Metal), to read faster"
    assert build_of(info, ("Metal",), frozenset(), has_nvidia=False).unused == ()


@pytest.mark.parametrize(("line", "flag"), [("flags\t\t: fpu avx2 fma", "avx2"), ("Features\t: fp asimd", "asimd")])
def test_flags_of_a_processor(tmp_path: Path, line: str, flag: str) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{line}\nbogomips\t: 2\n")
    assert flag in processor_flags(tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("processor : 0\n")
    assert processor_flags(tmp_path / "cpuinfo") == frozenset()
    assert processor_flags(tmp_path / "none") == frozenset()


@pytest.mark.real
def test_the_build_that_is_installed() -> None:
    from wim_edge.engine.bindings import devices

    found = this_build(devices())
    assert found.features
    assert all(name.isupper() for name in (*found.features, *found.libraries))
