"""The checks of `scripts/check_gpu.sh`, with a llama-cpp-python that is built for a GPU (or with --cpu, without one).

    python scripts/check_gpu.py [--cpu] [--model smollm2-135m] [--out check-gpu.json] [--only rollback,layers]

Each step runs in a process of its own with a time limit, so that a step that fails, crashes or hangs stops no other.
The file says for each step whether it passed, its seconds, and its findings; it is written after every step. The exit
code is 1 if a step failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parent.parent
TEXT = ROOT / "examples" / "gpl-3.0.txt"
QUESTION = "What is the GPL for?"
KINDS = {
    "attention": ("llama", None), "window, full-size cache": ("gemma3", True),
    "window, window-sized cache": ("gemma3", False), "recurrent": ("mamba", None), "hybrid": ("lfm2", None),
}  # fmt: skip
"""A tiny model of random weights for each kind of memory: (architecture, whether the cache has full size)."""
STEP, STEPS = 256, 4  # tokens that are read at a time, and how often
ALIKE = 0.02  # of the range of the logits, by which a rollback may differ: sums in another order
CORRELATED = 0.99  # the least correlation of logits that a CPU and a GPU compute from the same weights
PROMPT = 30.0  # seconds in which Ctrl-C leads to an answer, or to none
Found = dict[str, Any]


class Failed(Exception):
    """Raised if a step does not find what it should, with a message and the findings so far."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", action="store_true", help="try the steps themselves, with no layer on a GPU")
    parser.add_argument("--model", default="smollm2-135m", help="a name of the catalog, or a GGUF file")
    parser.add_argument("--out", type=Path, default=Path("check-gpu.json"))
    parser.add_argument("--only", default=",".join(LIMITS), help="steps, with commas between (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1800, help="for all steps (default: %(default)s)")
    parser.add_argument("--build", default="", help="where llama-cpp-python comes from, for the file")
    parser.add_argument("--step", choices=[*LIMITS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cpu:  # a build for a GPU sees none then
        hidden = dict.fromkeys(("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES"), "")
        os.environ.update({**hidden, "WIM_EDGE_N_GPU_LAYERS": "0"})
    sys.path[:0] = [str(ROOT)]
    if options.step:
        run_here(options)
        return
    if not options.cpu and not any(device.is_gpu for device in devices()):
        sys.exit("llama.cpp finds no GPU here: build llama-cpp-python for it (scripts/check_gpu.sh does), or try --cpu")
    report: Found = {
        "command": " ".join(["scripts/check_gpu.py", *sys.argv[1:]]), "build": options.build,
        "date": datetime.now(UTC).isoformat("T", "seconds"), "device": "cpu" if options.cpu else "gpu",
        "model": options.model, "steps": {},
    }  # fmt: skip
    wanted, end = options.only.split(","), time.monotonic() + options.seconds
    for name in (one for one in LIMITS if one in wanted):
        report["steps"][name] = step = apart(name, min(LIMITS[name], max(1.0, end - time.monotonic())))
        print(f"{'ok    ' if step['passed'] else 'FAILED'} {name}, {step['seconds']:.0f} s {step.get('error', '')}",
              flush=True)  # fmt: skip
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    passed = all(step["passed"] for step in report["steps"].values())
    print(f"{'all as it should be' if passed else 'not all as it should be'}: {options.out}")
    sys.exit(not passed)


def apart(name: str, limit: float) -> Found:
    """Runs a step in a process of its own. After ``limit`` seconds, kills this process and all that it started."""
    begun = time.monotonic()
    command, pipe = [sys.executable, __file__, *sys.argv[1:], "--step", name], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace") as step:
        try:
            said, why = step.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            for one in psutil.Process(step.pid).children(recursive=True):
                one.kill()
            step.kill()
            return {"passed": False, "seconds": limit, "error": f"not done after {limit:.0f} s"}
    seconds = round(time.monotonic() - begun, 1)
    try:
        told: Found = json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        return {"passed": False, "seconds": seconds, "error": f"ended with {step.returncode}: {why.strip()[-2000:]}"}
    return {"passed": "error" not in told, "seconds": seconds, **told}


def run_here(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="wim-edge-gpu-") as folder:
        try:
            told: Found = {"found": DO[options.step](Path(folder), options)}
        except Failed as error:
            told = {"error": str(error.args[0]), "found": error.args[1]}
    print(json.dumps(told))


def devices() -> list[Any]:
    from wim_edge.engine.bindings import devices as found

    return found()


def gpu_free() -> int:
    return sum(int(device.free) for device in devices() if device.is_gpu)


def model_path(name: str) -> Path:
    """Returns the model's file, which is fetched if it is missing."""
    from wim_edge.catalog import Catalog, fetch

    return Path(name) if Path(name).is_file() else fetch(Catalog.load().get(name))


def open_model(path: Path, layers: int | None, n_batch: int = 512) -> Any:
    from wim_edge.engine.model import Model
    from wim_edge.settings import Settings

    return Model(path, Settings(n_batch=n_batch, n_gpu_layers=layers))


def tokens_of(model: Any, n: int) -> list[int]:
    text = TEXT.read_text(encoding="utf-8")
    tokens = [*model.bos_tokens, *model.tokenize(text)]
    return (tokens * (1 + n // len(tokens)))[:n]


def differ(a: Any, b: Any) -> Found:
    """Returns how two rows of logits differ."""
    spread = float(b.max() - b.min()) or 1.0
    return {"equal": bool((a == b).all()), "largest": float(np.abs(a - b).max()) / spread,
            "same_token": int(a.argmax()) == int(b.argmax()),
            "correlation": float(np.corrcoef(a, b)[0, 1])}  # fmt: skip


def check(good: bool, what: str, found: Found) -> None:
    if not good:
        raise Failed(what, found)


# The steps


def machine(_work: Path, options: argparse.Namespace) -> Found:
    """Returns the output of `wim-edge doctor`, the GPU's driver, the processor and the commit."""
    done = wim_edge(Path(os.environ.get("WIM_EDGE_HOME", "")), "doctor", "--json", "--model", options.model)
    smi = shutil.which("nvidia-smi")
    query = ["--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"]
    driver = subprocess.run([smi, *query], capture_output=True, encoding="utf-8", check=False).stdout if smi else ""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    return {"doctor": json.loads(done.stdout), "nvidia_smi": driver.strip().splitlines(), "cpu": platform.processor(),
            "commit": commit.stdout.strip()}  # fmt: skip


def rollback(work: Path, options: argparse.Namespace) -> Found:
    """Writes margins into each kind of memory and removes them. The next logits must be those without margins."""
    from tests.tiny import write_tiny

    found: Found = {}
    for name, (architecture, swa_full) in {**KINDS, "the model itself": (None, None)}.items():
        path = write_tiny(work / f"{architecture}.gguf", architecture) if architecture else model_path(options.model)
        with open_model(path, 0 if options.cpu else -1, STEP) as model:
            context = model.context(3072, swa_full=swa_full)
            steps = [tokens_of(model, STEP * STEPS)[at : at + STEP] for at in range(0, STEP * STEPS, STEP)]
            expected = logits_after(context, steps, lambda sequence: None)
            found[name] = {
                "memory": model.info.memory.value, "layers_on_gpu": model.n_gpu_layers,
                **{way.__name__: differ(logits_after(context, steps, way), expected) for way in (forked, truncated)},
                "restored": differ(restored(context, steps, work), expected),
            }  # fmt: skip
    worst = max(one["largest"] for kind in found.values() for one in kind.values() if isinstance(one, dict))
    found["largest"] = worst
    check(worst <= ALIKE, f"a rollback leaves a trace: logits differ by {worst:.3f} of their range", found)
    return found


def logits_after(context: Any, steps: list[list[int]], write_and_remove: Callable[[Any], None]) -> Any:
    """Returns the logits after the last step, with a margin written and removed after each step."""
    with context.sequence() as sequence:
        for step in steps:
            sequence.append(step)
            logits = sequence.logits.copy()
            write_and_remove(sequence)
    return logits


def write_margin(sequence: Any) -> None:
    sequence.append(list(sequence.tokens[-60:]))
    for _ in range(12):
        sequence.append([int(sequence.logits.argmax())])


def forked(sequence: Any) -> None:
    with sequence.fork() as branch:
        write_margin(branch)


def truncated(sequence: Any) -> None:
    sequence.checkpoint()
    write_margin(sequence)
    sequence.truncate(len(sequence.tokens) - 72)


def restored(context: Any, steps: list[list[int]], work: Path) -> Any:
    """Returns the logits after the last step, which follows a restored snapshot of the steps before."""
    with context.sequence() as sequence:
        for step in steps[:-1]:
            sequence.append(step)
            sequence.checkpoint()
        snapshot = sequence.snapshot(work / "state")
    with context.sequence() as other:
        other.restore(snapshot)
        other.append(steps[-1])
        return other.logits.copy()


def layers(_work: Path, options: argparse.Namespace) -> Found:
    """Puts none, half, all, and the automatic number of layers on the GPU. Checks the GPU memory that they take, and
    that the logits are the same; measures the speed."""
    from wim_edge.engine.gguf import read_header

    path = model_path(options.model)
    n_layers = read_header(path).number("block_count")
    has_gpu, found, expected = not options.cpu, {}, None
    for name, wanted in {"none": 0, "half": n_layers // 2, "all": -1, "automatic": None}.items():
        before = gpu_free()
        with open_model(path, wanted if has_gpu else 0) as model:
            context = model.context(4096)
            tokens, begun = tokens_of(model, 2048), time.perf_counter()
            with context.sequence() as sequence:
                sequence.append(tokens)
                logits, seconds = sequence.logits.copy(), time.perf_counter() - begun
                expected = logits if expected is None else expected
            share = 1.0 if model.n_gpu_layers < 0 else model.n_gpu_layers / n_layers
            need = model.need(4096)
            found[name] = {
                "layers": model.n_gpu_layers, "of": n_layers, "tokens_per_second": len(tokens) / seconds,
                "gpu_bytes_taken": before - gpu_free(),
                "gpu_bytes_estimated": int((need.weights + need.kv) * share) + need.compute * (share > 0),
                **differ(logits, expected),
            }  # fmt: skip
    for name, one in found.items():
        check(one["correlation"] > CORRELATED, f"{name} on the GPU: other logits", found)
        room = 1.25 * one["gpu_bytes_estimated"] + (256 << 20)  # beside what the driver itself takes
        check(one["gpu_bytes_taken"] <= room, f"{name} on the GPU: more memory than was estimated", found)
    check((found["automatic"]["layers"] != 0) == has_gpu, "no layer goes to the GPU by itself", found)
    return found


def interruption(work: Path, options: argparse.Namespace) -> Found:
    """Interrupts a reading in the engine and continues it. Then interrupts a command by Ctrl-C."""
    from wim_edge.engine.protocols import Interrupted

    found: Found = {}
    with open_model(model_path(options.model), 0 if options.cpu else -1) as model:
        tokens = tokens_of(model, min(2048 if options.cpu else 7168, model.info.n_ctx_train - 256))
        context = model.context(len(tokens) + 256)
        with context.sequence() as sequence:
            begun = time.perf_counter()
            sequence.append(tokens)
            whole, seconds = sequence.logits.copy(), time.perf_counter() - begun
        with context.sequence() as sequence:
            asked: list[float] = []

            def interrupt() -> None:
                asked.append(time.perf_counter())
                context.interrupt()

            threading.Timer(seconds / 3, interrupt).start()
            try:
                sequence.append(tokens)
                ended = None
            except Interrupted:
                ended = time.perf_counter() - asked[0]
            context.resume()
            done = len(sequence.tokens)
            sequence.append(tokens[done:])
            found["engine"] = {"seconds_of_the_reading": seconds, "seconds_until_it_ended": ended, "read": done,
                               "of": len(tokens), **differ(sequence.logits, whole)}  # fmt: skip
    check(ended is not None, "an interruption was not heard", found)
    check(found["engine"]["correlation"] > CORRELATED, "what goes on after an interruption computes otherwise", found)
    found["command"] = ctrl_c(work, options)
    check(found["command"]["exit_code"] in (10, 130), "Ctrl-C ended with another exit code", found)
    check(found["command"]["seconds_until_it_ended"] < PROMPT, "Ctrl-C was heard too late", found)
    return found


def ctrl_c(work: Path, options: argparse.Namespace) -> Found:
    (work / "long.txt").write_text(8 * TEXT.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-m", "wim_edge", "ask", str(work / "long.txt"), QUESTION, "--json", "--pattern", "wim",
               "--no-save", "--answer-tokens", "8", *used(options)]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
                               env=environment(work / "home"))  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "reading.progress":
            process.send_signal(signal.SIGINT)
            break
    begun = time.perf_counter()
    process.communicate(timeout=120)
    return {"exit_code": process.returncode, "seconds_until_it_ended": time.perf_counter() - begun}


def restore(work: Path, options: argparse.Namespace) -> Found:
    """Reads on one device and asks in a new process on the other. With flash attention both have the same layout, so
    nothing is read again. With llama.cpp's choice, an unsuitable reading must be read anew."""
    from wim_edge.engine.gguf import read_header

    part, n_ctx = work / "part.txt", read_header(model_path(options.model)).number("context_length")
    part.write_text(TEXT.read_text(encoding="utf-8")[: min(8000, n_ctx // 2)], encoding="utf-8")
    found: Found = {}
    gpu = "0" if options.cpu else "-1"
    for flash in ("--flash-attn", ""):
        for name, (first, then) in {"GPU, then CPU": (gpu, "0"), "CPU, then GPU": ("0", gpu)}.items():
            home = work / f"home{flash}{name[:3]}"
            more = [flash] if flash else []
            one = ask(home, part, options, "--gpu-layers", first, *more)
            two = ask(home, part, options, "--gpu-layers", then, *more)
            fresh = ask(work / f"fresh{flash}{name[:3]}", part, options, "--gpu-layers", then, *more)
            key = f"{name}{', flash attention' if flash else ''}"
            found[key] = {"read_first": one["read"], "known_then": two["known"], "read_then": two["read"],
                          "as_read_afresh": two["said"] == fresh["said"]}  # fmt: skip
            wholly = two["read"] == 0 and two["known"] == one["read"]
            check(wholly or not flash, f"{key}: what was read is read again", found)
            check(wholly or two["read"] == fresh["read"], f"{key}: read in part", found)
    return found


def ask(home: Path, part: Path, options: argparse.Namespace, *more: str) -> Found:
    out = wim_edge(home, "ask", str(part), QUESTION, "--pattern", "llm", "--json", "--answer-tokens", "24", "--model",
                   str(model_path(options.model)), *more).stdout  # fmt: skip
    last = json.loads(out.splitlines()[-1])
    usage = last["usage"]
    return {"said": last["text"], "read": usage["prefilled_tokens"], "known": usage["reused_tokens"]}


def bench(work: Path, options: argparse.Namespace) -> Found:
    """Runs bench_reading.py: llm, wim and wim-shallow over the whole text, then wim-shallow with promising segments
    first, until the reading ends by itself."""
    found: Found = {}
    sizes = ["--tokens", "1024", "--segment-tokens", "256", "--trials", "1"] if options.cpu else ["--trials", "2"]
    for name, patterns, within in (("whole", "wim,wim-shallow", "all"), ("best first", "wim-shallow", "auto")):
        command = [sys.executable, str(ROOT / "scripts" / "bench_reading.py"), *sizes, "--patterns", patterns,
                   "--model", str(model_path(options.model)), "--out", str(work)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False,
                              env={**os.environ, "WIM_EDGE_WITHIN": within})  # fmt: skip
        check(done.returncode == 0, f"bench_reading.py, {name}: {done.stderr[-1500:]}", found)
        told = json.loads((work / "bench-reading.json").read_text(encoding="utf-8"))
        found[name] = {one: told[one] for one in ("tokens", "segment_tokens", "medians", "ratios", "fork", "decode")}
    return found


def used(options: argparse.Namespace) -> list[str]:
    return ["--model", str(model_path(options.model)), *(["--gpu-layers", "0"] if options.cpu else [])]


def wim_edge(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wim_edge", *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment(home), check=False)
    check(done.returncode in (0, 11), f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr[-800:]}", {})
    return done


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, **({"WIM_EDGE_HOME": str(home)} if home.name else {})}


DO: dict[str, Callable[[Path, argparse.Namespace], Found]] = {
    one.__name__: one for one in (machine, rollback, layers, interruption, restore, bench)
}
LIMITS = {"machine": 120, "rollback": 240, "layers": 180, "interruption": 180, "restore": 240, "bench": 600}
"""The time limit of each step in seconds: 26 minutes in all, without the build."""


if __name__ == "__main__":
    main()
