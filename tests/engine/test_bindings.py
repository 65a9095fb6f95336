"""llama.cpp's library: silent, and with no more threads than OpenMP is told."""

from __future__ import annotations

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


@pytest.mark.parametrize(("most", "cores"), [("1", 1), ("100000", None), ("", None), ("4,2", None), ("0", 1)])
def test_no_more_threads_than_openmp_is_told(monkeypatch: pytest.MonkeyPatch, most: str, cores: int | None) -> None:
    from wim_edge.engine.model import physical_cores

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    all_of_them = physical_cores()
    monkeypatch.setenv("OMP_NUM_THREADS", most)
    assert physical_cores() == (cores or all_of_them)


@pytest.mark.parametrize(("features", "uses"), [("AVX2 = 1 | AMX_INT8 = 1 | ", False), ("AVX2 = 1 | ", True)])
def test_no_code_for_amx_is_used(monkeypatch: pytest.MonkeyPatch, features: str, uses: bool) -> None:
    from wim_edge.engine import bindings

    monkeypatch.setattr(bindings, "system_info", lambda: features)
    assert bindings.model_params().use_extra_bufts is uses
