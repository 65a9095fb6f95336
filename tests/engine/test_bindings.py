"""llama.cpp's library: silent, with OpenMP's threads, and its devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real


def test_llama_cpp_is_silent_by_default(smollm2: Path) -> None:
    code = (
        "from pathlib import Path; from wim_edge.engine.model import Model\n"
        f"with Model(Path({str(smollm2)!r})) as model: model.context(256)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_backend_that_fails_to_load_is_named(tmp_path: Path) -> None:
    path = tmp_path / "libggml-rpc.so"
    path.write_text("no library")
    done = subprocess.run([sys.executable, "-m", "wim_edge", "rpc-serve"], capture_output=True, text=True,
                          env={**os.environ, "GGML_BACKEND_PATH": str(path)}, check=False)  # fmt: skip
    assert done.returncode == 2
    assert f"no RPC by GGML_BACKEND_PATH: load_backend: failed to load {path}" in done.stderr


@pytest.mark.parametrize(("most", "cores"), [("1", 1), ("100000", None), ("", None), ("4,2", None), ("0", 1)])
def test_omp_num_threads_limits_the_cores(monkeypatch: pytest.MonkeyPatch, most: str, cores: int | None) -> None:
    from wim_edge.engine.model import physical_cores

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    all_of_them = physical_cores()
    monkeypatch.setenv("OMP_NUM_THREADS", most)
    assert physical_cores() == (cores or all_of_them)


@pytest.mark.parametrize(
    ("features", "weights", "uses"),
    [
        ("AVX2 = 1 | AMX_INT8 = 1 | ", [], False),
        ("AVX2 = 1 | ", [12], True),
        ("AVX2 = 1 | AVX512 = 1 | ", [0, 12, 14], False),
        ("AVX2 = 1 | AVX512 = 1 | ", [0, 2, 14], True),
        ("AVX2 = 1 | AVX512 = 0 | ", [12], True),
        ("NEON = 1 | DOTPROD = 1 | REPACK = 1 | ", [12], True),
    ],
)
def test_weights_are_copied_to_another_layout_only_for_a_gain(
    monkeypatch: pytest.MonkeyPatch, features: str, weights: list[int], uses: bool
) -> None:
    from wim_edge.engine import bindings

    monkeypatch.setattr(bindings, "system_info", lambda: features)
    assert bindings.model_params(weights).use_extra_bufts is uses


@pytest.mark.parametrize(
    ("machine", "there", "used"),
    [
        ("x86_64", [("CPU", 0), ("CUDA0", 1), ("CUDA1", 2)], {"CUDA0": False}),
        ("x86_64", [("CPU", 0), ("Vulkan0", 2)], {"Vulkan0": True}),
        ("x86_64", [("CPU", 0), ("RPC0", 1), ("Vulkan0", 2)], {"RPC0": False, "Vulkan0": True}),
        ("arm64", [("CPU", 0), ("BLAS", 3), ("MTL0", 1)], {"MTL0": True}),
        ("x86_64", [("CPU", 0), ("MTL0", 1)], {"MTL0": False}),
    ],
)
def test_used_gpus_and_those_that_share_main_memory(
    monkeypatch: pytest.MonkeyPatch, machine: str, there: list[tuple[str, int]], used: dict[str, bool]
) -> None:
    from wim_edge.engine import bindings

    functions = {"dev_count": lambda: len(there), "dev_get": lambda index: index, "dev_memory": lambda *_: None,
                 "dev_type": lambda index: there[index][1],
                 **dict.fromkeys(("dev_name", "dev_description"), lambda index: there[index][0].encode())}  # fmt: skip
    monkeypatch.setattr(bindings, "ggml_function", lambda name, *_: functions[name])
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert {one.name: one.shares_memory for one in bindings.devices() if one.is_gpu} == used
