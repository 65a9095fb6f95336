"""Measures models of common sizes on this machine: memory and its estimate, speed, rollback, and a second question.

    python scripts/bench_shapes.py FOLDER                          every shape of shapes.py, and the table
    python scripts/bench_shapes.py FOLDER --shapes lfm2-1.2b --parts memory,speed --out shapes.json

The models are shapes with random weights (shapes.py): tokens, bytes and seconds are like those of real models, answers
are noise. The file of a shape is written into FOLDER, and removed afterwards. Each part runs in processes of its own.
``--out`` adds the results to a file, so that shapes and parts can be measured one after the other. The parts:

    memory     the estimate of `Model.need` for contexts of 4,096 and 8,192 cells, and the peak memory of a process
               (Linux's VmHWM, with pages of the file) minus its memory before it opened the model. At the peak, the
               process has evaluated a full batch with every cell in use, taken 32 rows of logits, and made a fork and
               as many checkpoints as a saved reading of the whole. To save time, the cells before that batch are
               filled by one evaluated sequence, and by up to six others with a copy of its state
    speed      prefill of a segment of 512 tokens; a fork at its end, on which a margin of 16 tokens is evaluated, and
               the fork's removal (rollback: both without the margin, median of five); 32 tokens decoded one by one
    llm, wim, wim-shallow
               `wim-edge ask` on about the first 1,500 tokens of the GPL: on the whole text (llm, and wim with margins),
               or best segments first (wim-shallow, the default if reading all takes half a minute or more). With wim
               and wim-shallow, a second question follows in a new process, with the saved reading. Loading is not timed
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from shapes import SHAPES, write

from wim_edge.catalog import resolve
from wim_edge.engine.gguf import read_header
from wim_edge.engine.memory_estimate import estimate
from wim_edge.engine.protocols import N_SEQUENCES
from wim_edge.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
TEXT = ROOT / "examples" / "gpl-3.0.txt"
DOCUMENT_CHARS = 6800
QUESTIONS = ("Who may copy this license document?", "What are the freedoms that the license protects?")
SEGMENT, DECODED, MARGIN = 512, 32, 16
CONTEXTS, BATCH = (4096, 8192), 512
REAL = ("smollm2-135m", "gemma3-270m")
"""Models with real weights. Only their memory is measured."""
COMMAND = "python scripts/bench_shapes.py FOLDER"
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the models' files go: up to 11 GB at once")
    parser.add_argument("--shapes", default=",".join((*SHAPES, *REAL)))
    parser.add_argument("--parts", default=",".join(PART))
    parser.add_argument("--out", type=Path, help="a file of results to add to")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(in_this_process(given.one, given.folder)))
        return
    found: Row = {"command": COMMAND}
    if given.out and given.out.exists():
        found = json.loads(given.out.read_text(encoding="utf-8"))
    for name in given.shapes.split(","):
        path = made(name, given.folder)
        try:
            for part in given.parts.split(",") if name in SHAPES else ["memory"]:
                key = name.replace(".", "_")  # a path of keys is written with points
                found[key] = {**found.get(key, {}), **PART[part](path)}
                if given.out:
                    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        finally:
            if name in SHAPES:
                path.unlink()
    print(json.dumps(found, indent=1) if given.json else table(found))


def made(name: str, folder: Path) -> Path:
    """Returns the file of a shape, which is written if it is missing, or of a model on this disk."""
    if name not in SHAPES:
        return resolve(name).path
    path = folder / f"{name}.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write(SHAPES[name], path, resolve("smollm2-135m").path)
    return path


def apart(one: str, path: Path) -> Row:
    """Runs a part in a process of its own, and returns the result."""
    done = subprocess.run([sys.executable, __file__, str(path), "--one", one], stdout=subprocess.PIPE, check=True)
    found: Row = json.loads(done.stdout)
    print(f"{path.stem} {one}: {found}", file=sys.stderr, flush=True)
    return found


def in_this_process(one: str, path: Path) -> Row:
    name, _, argument = one.partition(" ")
    return {"memory": memory, "speed": speed}[name](path, int(argument or 0))


def tokens_of(model: Any, n: int) -> list[int]:
    tokens: list[int] = model.tokenize(TEXT.read_text(encoding="utf-8"))
    return (tokens * (n // len(tokens) + 1))[:n]


def held(most: bool = True) -> int:
    """Returns the bytes that this process holds or, if ``most``, the peak since the peak was last reset."""
    field = "VmHWM" if most else "VmRSS"
    return int(re.findall(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * 1024


def memory(path: Path, n_ctx: int) -> Row:
    """Fills a context of ``n_ctx`` cells, and evaluates a full batch in the last cells."""
    from wim_edge.engine.model import Model

    before = held(most=False)
    with Model(path, Settings(n_ctx=n_ctx)) as model:
        need = model.need(n_ctx)
        context = model.context(n_ctx)
        loaded = held()
        window = model.header.number("attention.sliding_window")
        n_filled, n_checkpoints = min(6, (n_ctx - BATCH) // max(1, window)), n_ctx // 1024
        tokens = tokens_of(model, (n_ctx - BATCH - 16) // n_filled)
        sequences = [context.sequence() for _ in range(n_filled + 1)]
        sequences[0].append(tokens[:16])
        sequences[0].checkpoint()
        sequences[0].append(tokens[16 : len(tokens) // 2])
        if n_checkpoints > len(sequences):
            sequences[0].checkpoint()
        sequences[0].append(tokens[len(tokens) // 2 :])
        state = sequences[0].snapshot()
        for sequence in sequences[1:-1]:
            sequence.restore(state)
        del state  # which is the bench's own
        for sequence in sequences[: min(n_filled, n_checkpoints - 1)]:
            sequence.checkpoint()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        sequences[-1].append(tokens[:BATCH], rows=32)
        sequences[-1].checkpoint()
        with sequences[-1].fork() as branch:
            branch.append(tokens[:2])
        peak = max(loaded, held()) - before
    parts = {f"{part}_bytes": getattr(need, part) for part in ("weights", "kv", "compute", "host")}
    return {**parts, "estimated_bytes": need.total, "measured_bytes": peak, "ratio": need.total / peak}


def speed(path: Path, _: int) -> Row:
    """Reads a segment, evaluates margins on forks of it, removes the forks, and decodes."""
    from wim_edge.engine.model import Model

    with Model(path) as model:
        context, tokens, prices, margins = model.context(4096), tokens_of(model, SEGMENT + DECODED), [], []
        with context.sequence() as sequence:
            sequence.append(tokens[:8])  # what is done for the first time takes longer
        with context.sequence() as sequence:
            begun = time.perf_counter()
            sequence.append(tokens[:SEGMENT])
            segment = time.perf_counter() - begun
            for _trial in range(5):
                begun = time.perf_counter()
                branch = sequence.fork()
                forked = time.perf_counter()
                branch.append(tokens[SEGMENT : SEGMENT + MARGIN])
                written = time.perf_counter()
                branch.close()
                prices.append(forked - begun + time.perf_counter() - written)
                margins.append(written - forked)
            begun = time.perf_counter()
            for token in tokens[SEGMENT:]:
                sequence.append([token])
            decode = DECODED / (time.perf_counter() - begun)
    price = statistics.median(prices)
    return {"memory": model.info.memory.value, "prefill": SEGMENT / segment, "decode": decode,
            "seconds_segment": segment, "seconds_margin": statistics.median(margins), "seconds_rollback": price,
            "rollback_share": price / segment}  # fmt: skip


def asked(path: Path, pattern: str) -> Row:
    """Asks with a pattern. Except for llm, asks a second question in a new process, with the saved reading."""
    name = NAMES[pattern]
    found: Row = {}
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        document = Path(folder) / "document.txt"
        document.write_text(TEXT.read_text(encoding="utf-8")[:DOCUMENT_CHARS], encoding="utf-8")
        for time_of, question in zip(("", "_second"), QUESTIONS, strict=True):
            if pattern == "llm" and time_of:
                continue
            row = ask(path, document, question, pattern, Path(folder) / "readings")
            print(f"{path.stem} {name}{time_of}: {row}", file=sys.stderr, flush=True)
            found |= {f"evaluated_{name}{time_of}": row["evaluated"], f"seconds_{name}{time_of}": row["seconds"],
                      f"asked_{name}{time_of}": row, "tokens": row["tokens"]}  # fmt: skip
    return found


def ask(path: Path, document: Path, question: str, pattern: str, readings: Path) -> Row:
    """Asks in a new process. Returns numbers of tokens and segments, bytes of memory, and seconds by stage."""
    command = [sys.executable, "-m", "wim_edge", "ask", "--json", "--save", "--model", str(path), "--pattern", pattern,
               "--answer-tokens", "8", "--margin-tokens", "16", str(document), question]  # fmt: skip
    environment = {**os.environ, "WIM_EDGE_READINGS": str(readings), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode not in (0, 11):  # 11: noise finds nothing
        raise RuntimeError(f"{pattern}: exit code {done.returncode}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    begun, last = next(one for one in events if one["type"] == "reading.started"), events[-1]
    usage, stages = last["usage"], last["usage"]["seconds"]
    return {
        "tokens": begun["tokens"], "n_ctx": begun["n_ctx"], "segments": last["segments"],
        "read_segments": last["read_segments"], "judge": begun["judge"], "evaluated": usage["prefilled_tokens"],
        "reused": usage["reused_tokens"], "decoded_tokens": usage["decoded_tokens"],
        "seconds": stages["total"] - stages.get("load", 0), "stages": stages, "peak_rss_bytes": usage["peak_rss_bytes"],
        "estimated_bytes": estimate(read_header(path), begun["n_ctx"], n_seq_max=N_SEQUENCES).total,
    }  # fmt: skip


def memories(path: Path) -> Row:
    found: Row = {"nbytes": path.stat().st_size}
    if path.stem in SHAPES:
        found["parameters"] = SHAPES[path.stem].n_parameters
    for n_ctx in CONTEXTS:
        one = apart(f"memory {n_ctx}", path)
        found |= {f"estimated_{n_ctx}_bytes": one["estimated_bytes"], f"measured_{n_ctx}_bytes": one["measured_bytes"],
                  f"ratio_{n_ctx}": one["ratio"], f"estimate_{n_ctx}": one}  # fmt: skip
    return found


NAMES = {"llm": "llm", "wim": "wim", "wim-shallow": "best"}
PART: dict[str, Callable[[Path], Row]] = {
    "memory": memories,
    "speed": partial(apart, "speed"),
    **{pattern: partial(asked, pattern=pattern) for pattern in NAMES},
}


def table(found: Row) -> str:
    """Returns the figures of each shape, one figure per line."""
    lines = []
    for name, one in found.items():
        if name != "command":
            lines.append(name)
            for key, value in one.items():
                if not isinstance(value, dict):
                    shown = f"{value:,.4g}" if isinstance(value, float) else str(value)
                    lines.append(f"    {key:24} {shown:>16}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
