"""llama.cpp's library: silent, with OpenMP's threads, its devices, and the fingerprint of a model with its build."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.tiny import write_tiny
from wim_edge.engine import available_memory, bindings
from wim_edge.engine.bindings import build_of, machine, physical_cores, processor_flags, signals_held, vocabulary
from wim_edge.engine.gguf import read_header
from wim_edge.engine.model import Model

pytestmark = pytest.mark.real
PLAIN = "CPU : SSE3 = 1 | AVX = 1 | AVX2 = 0 | OPENMP = 1 | REPACK = 1 |"
METAL = "CPU : NEON = 1 | ACCELERATE = 1 |"


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
    functions = {"dev_count": lambda: len(there), "dev_get": lambda index: index, "dev_memory": lambda *_: None,
                 "dev_type": lambda index: there[index][1],
                 **dict.fromkeys(("dev_name", "dev_description"), lambda index: there[index][0].encode())}  # fmt: skip
    monkeypatch.setattr(bindings, "ggml_function", lambda name, *_: functions[name])
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert {one.name: one.shares_memory for one in bindings.devices() if one.is_gpu} == used


def called_by_c(work: object) -> None:
    """Calls a function from C, as llama.cpp's log does."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(_one: object, _other: object) -> int:
        work()  # type: ignore[operator]
        return 0

    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, kind(compare))


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C is heard, which it is not in a process that was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise")
def test_ctrl_c_in_a_callback_is_raised_afterwards() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with signals_held():
            called_by_c(lambda: os.kill(os.getpid(), signal.SIGINT))
            steps.append("the call has ended")
        steps.append("not reached")
    assert steps == ["the call has ended"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_hosts_handler_is_called_once_and_restored() -> None:
    heard: list[int] = []

    def handler(number: int, _frame: object) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with signals_held():
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
        assert heard == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_nothing_is_held() -> None:
    seen: list[object] = []

    def work() -> None:
        with signals_held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def name_of(path: Path) -> str:
    return bindings.fingerprint(read_header(path))


def test_a_copy_has_the_same_fingerprint_and_a_changed_file_another(tiny: Path) -> None:
    first = name_of(tiny)
    assert len(first) == 32
    assert name_of(Path(shutil.copy(tiny, tiny.with_name("copy.gguf")))) == first
    data = tiny.read_bytes()
    header = read_header(tiny)
    weights = sum(tensor.nbytes or 0 for tensor in header.tensors)
    for at in (len(data) - weights, len(data) - 1):  # the first and the last block of the weights
        changed = bytearray(data)
        changed[at] ^= 1
        tiny.write_bytes(changed)
        assert name_of(tiny) != first
    tiny.write_bytes(data + b"\0" * 32)
    assert name_of(tiny) != first


def test_weights_and_tokenizer_change_it(tmp_path: Path) -> None:
    names = {name_of(write_tiny(tmp_path / f"{number}.gguf", "llama", **made))  # type: ignore[arg-type]
             for number, made in enumerate(({}, {"seed": 8}, {"space_prefix": True}))}  # fmt: skip
    assert len(names) == 3


def test_the_build_changes_it(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = name_of(tiny)
    monkeypatch.setattr(bindings, "BUILD", "0.0.0")
    assert name_of(tiny) != first


def test_the_vocabulary_alone_counts_as_the_model_does(model: Model) -> None:
    text = "The ferry sails at noon, and the harbour is cold.\n\nÜnïcödé 🚢 " * 50
    with vocabulary(model.info.path) as count:
        assert abs(count(text) - len(model.tokenize(text))) <= 1
        assert count("") == 0


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


def test_the_facts_of_this_machine() -> None:
    found = machine()
    assert found["llama_cpp_python"] == version("llama-cpp-python")
    assert found["physical_cores"] == physical_cores() > 0
    assert abs(found["memory_available"] - available_memory.available()) < 1 << 30
    build = found["build"]
    assert build["features"]
    assert all(name.isupper() for name in (*build["features"], *build["libraries"]))
