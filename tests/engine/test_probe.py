"""The build of llama.cpp, what it leaves unused, and the facts of this machine."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from wim_edge.engine import available_memory
from wim_edge.engine.probe import build_of, machine, processor_flags

PLAIN = "CPU : SSE3 = 1 | AVX = 1 | AVX2 = 0 | OPENMP = 1 | REPACK = 1 |"
METAL = "CPU : NEON = 1 | ACCELERATE = 1 |"


def test_features_libraries_and_what_the_build_leaves_unused() -> None:
    found = build_of(f"CUDA : NO_VMM = 1 | {PLAIN}", [], frozenset({"avx", "avx2", "fma"}), has_nvidia=False)
    assert (found["features"], found["libraries"]) == (["SSE3", "AVX"], ["OPENMP", "REPACK"])
    ((what, command),) = found["unused"]
    assert what == "AVX2, FMA of the processor, to read faster"
    assert command.startswith("pip install --force-reinstall")


@pytest.mark.parametrize(("platform", "info", "backends", "flags", "has_nvidia", "unused"), [
    ("linux", "CPU : AVX = 1 | AVX2 = 1 |", (), {"avx", "avx2", "sse3"}, False, None),
    ("linux", METAL, (), {"asimd"}, False, None),
    ("linux", PLAIN, (), {}, True, ("the NVIDIA GPU", "GGML_CUDA=on")),
    ("linux", f"CUDA : ARCHS = 900 | {PLAIN}", ("CUDA0",), {"avx2"}, True, ("AVX2", "GGML_CUDA=on")),
    ("darwin", METAL, (), {}, False, ("the GPU (Metal)", "GGML_METAL=on")),
    ("darwin", METAL, ("Metal",), {}, False, None),
])  # fmt: skip
def test_what_a_build_leaves_unused(
    monkeypatch: pytest.MonkeyPatch, platform: str, info: str, backends: tuple[str, ...], flags: set[str],
    has_nvidia: bool, unused: tuple[str, str] | None,
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "platform", platform)
    found = build_of(info, [*backends], frozenset(flags), has_nvidia=has_nvidia)["unused"]
    assert len(found) == (unused is not None)
    for (what, command), (expected, option) in zip(found, [unused] if unused else [], strict=True):
        assert what.startswith(expected)
        assert option in command


@pytest.mark.parametrize(("line", "flag"), [("flags\t\t: fpu avx2 fma", "avx2"), ("Features\t: fp asimd", "asimd")])
def test_flags_of_a_processor(tmp_path: Path, line: str, flag: str) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{line}\nbogomips\t: 2\n")
    assert flag in processor_flags(tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("processor : 0\n")
    assert processor_flags(tmp_path / "cpuinfo") == processor_flags(tmp_path / "none") == frozenset()


@pytest.mark.real
def test_the_facts_of_this_machine() -> None:
    from wim_edge.engine.model import physical_cores

    found = machine()
    assert found["llama_cpp_python"] == version("llama-cpp-python")
    assert found["physical_cores"] == physical_cores() > 0
    assert abs(found["memory_available"] - available_memory.available()) < 1 << 30
    build = found["build"]
    assert build["features"]
    assert all(name.isupper() for name in (*build["features"], *build["libraries"]))
