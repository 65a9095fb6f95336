"""Measures the cost of reading with margins, and of a second question. All figures come from one run.

    python scripts/bench_reading.py                      4,096 tokens of the GPL in segments of 1,024
    python scripts/bench_reading.py --model qwen3-0.6b --out runs/bench

With ``wim:verdict:free`` every segment gets a margin in the model's own words and a verdict on the margin. The paper's
own code does the same; ``--reference DIR`` runs it too (reference_reading.py). The other patterns are what `ask` does.

Each reading runs in a process of its own. So its peak memory is its own, and a saved reading is restored as by another
process. The kinds of reading take turns. The script prints a table of medians, and writes bench-reading.json. Compare
only ratios within one run, because timings vary between runs.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TEXT = Path(__file__).resolve().parent.parent / "examples" / "gpl-3.0.txt"
QUESTIONS = ("What must a distributor of modified versions do?", "Who may receive a copy of the license?")
STAGES = ("prefill", "restore", "save", "margins", "relevance", "answer")
REFERENCE = {"reference wim": "wim", "reference llm": "llm"}
"""The runs of the paper's own code, with margins and without."""
MARGIN, ANSWER, DECODED = 64, 50, 96
ALL = 64  # passages; the most that settings take
Run = dict[str, Any]


def main() -> None:
    options = arguments()
    if options.one:
        print(json.dumps(ENGINE[options.one](options) if options.one in ENGINE else read(options)))
        return
    patterns = options.patterns.split(",")
    kinds = ["llm", *[f"{p} {q}" for p in patterns for q in ("first", "second")]]
    runs: dict[str, list[Run]] = {kind: [] for kind in (*kinds, *(REFERENCE if options.reference else ()))}
    code = None
    for _ in range(options.trials):
        if options.reference:
            both = in_a_process("reference", "")
            code = both["code"]
            for kind, name in REFERENCE.items():
                runs[kind].append(both[name])
        with tempfile.TemporaryDirectory() as readings:
            for kind in kinds:
                runs[kind].append(in_a_process(kind, readings))
    found = {
        "command": shlex.join(["python", f"scripts/{Path(__file__).name}", *sys.argv[1:]]),
        "model": options.model,
        "tokens": runs["llm"][0]["tokens"],
        "segment_tokens": options.segment_tokens,
        "medians": {kind: median(trials) for kind, trials in runs.items()},
        "reference": code,
        "runs": runs,
        "fork": in_a_process("fork", ""),
        "decode": in_a_process("decode", ""),
    }
    found["ratios"] = ratios(found["medians"], patterns)
    show(found)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "bench-reading.json").write_text(json.dumps(found, indent=2), encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--tokens", type=int, default=4096, help="how much of the GPL is read")
    parser.add_argument("--patterns", default="wim,wim:verdict:free,wim-shallow", metavar="P[:RELEVANCE[:MARGINS]],...",
                        help="relevance and margins are the model's unless named")  # fmt: skip
    parser.add_argument("--segment-tokens", type=int, default=1024)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--reference", type=Path, metavar="DIR", help="a checkout of the paper's own code")
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--readings", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def in_a_process(kind: str, readings: str) -> Run:
    command = [sys.executable, __file__, *sys.argv[1:], "--one", kind, *(["--readings", readings] if readings else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{kind} failed:\n{done.stderr}")
    run: Run = json.loads(done.stdout.splitlines()[-1])
    return run


# What runs in a process of its own


def runtime(options: argparse.Namespace, pattern: str, **more: Any) -> Any:
    from wim_edge import Runtime, Settings

    changes: dict[str, Any] = {"model": options.model, "n_threads": options.threads}
    changes |= {"segment_tokens": options.segment_tokens, "margin_tokens": MARGIN, "answer_tokens": ANSWER}
    changes |= dict(zip(("pattern", "relevance", "margins"), pattern.split(":"), strict=False))
    if changes.get("relevance") == "verdict":
        changes["max_passages"] = ALL  # that are relevant stand beside the context, as in the paper
    return Runtime(Settings.from_environment().with_changes(**changes | more))


def cut(model: Any, tokens: int) -> Any:
    from wim_edge import Document

    kept = model.tokenize(TEXT.read_text(encoding="utf-8"))[:tokens]
    return Document(TEXT.name, b"".join(map(model.piece, kept)).decode("utf-8", "ignore"))


def read(options: argparse.Namespace) -> Run:
    """Returns a question's figures. The kinds are ``llm``, ``PATTERN first`` and ``PATTERN second``, which restores the
    first."""
    from wim_edge import events

    pattern, _, which = options.one.partition(" ")
    folder = options.readings / pattern.replace(":", "-")  # so that no pattern begins with what another one has read
    margins = 0
    with runtime(options, pattern, save=bool(which), readings=folder) as asked:
        document = cut(asked.open(), options.tokens)
        for event in asked.stream(document, QUESTIONS[which == "second"]):
            if isinstance(event, events.ReadingStarted):
                started = event
            elif isinstance(event, events.MarginJudged):
                margins += 1
    usage = event.usage
    return {
        "tokens": started.tokens,
        "segments": started.segments,
        "n_ctx": started.n_ctx,
        "read": usage.prefilled_tokens,
        "known": usage.reused_tokens,
        "margins": margins,
        "decoded": usage.decoded_tokens,
        "peak_rss_bytes": usage.peak_rss_bytes,
        "seconds": usage.seconds["total"] - usage.seconds["load"],  # loading says nothing about the pattern
        "total": usage.seconds["total"],
        "stages": usage.seconds,
    }


def fork(options: argparse.Namespace) -> Run:
    """Returns the milliseconds to fork a sequence after a full reading, and to close the fork."""
    with runtime(options, "llm") as opened:
        model = opened.open()
        text = model.tokenize(cut(model, options.tokens).text)
        context = model.context(options.tokens + 512)
        with context.sequence() as sequence:
            sequence.append(text)
            taken = []
            for _ in range(200):
                begun = time.perf_counter()
                with sequence.fork():
                    pass
                taken.append(1000 * (time.perf_counter() - begun))
        context.close()
    return {"milliseconds": statistics.median(taken), "worst": max(taken), "tokens": len(text)}


def reference(options: argparse.Namespace) -> Run:
    """Returns the runs of the paper's own code on the same text. Their peak memory includes both engines."""
    import reference_reading

    from wim_edge.reading.timings import peak_rss_bytes

    sizes = (options.segment_tokens, MARGIN, ANSWER)
    with runtime(options, "wim") as opened:
        model = opened.open()
        text = cut(model, options.tokens).text
        both: Run = reference_reading.read(options.reference, model, text, QUESTIONS[0], sizes)
        tokens = len(model.tokenize(text))
    for name in REFERENCE.values():
        run = both[name]
        run |= {"tokens": tokens, "read": tokens, "known": 0, "peak_rss_bytes": peak_rss_bytes()}
        run |= {"total": run["seconds"], "stages": {}}
    return both


def decode(options: argparse.Namespace) -> Run:
    """Returns the tokens per second of decoding after a segment, and Python's share of the time."""
    from wim_edge.engine.bindings import lib
    from wim_edge.engine.sampling import Sampler
    from wim_edge.reading.generate import Generation

    inside, native = 0.0, lib.llama_decode

    def timed(*given: Any) -> Any:
        nonlocal inside
        begun = time.perf_counter()
        code = native(*given)
        inside += time.perf_counter() - begun
        return code

    with runtime(options, "llm") as opened:
        model = opened.open()
        text = model.tokenize(cut(model, options.segment_tokens).text)
        context = model.context(options.segment_tokens + DECODED + 256)
        lib.llama_decode = timed
        with context.sequence() as sequence:
            sequence.append(text)
            written = Generation(model, sequence, Sampler(), DECODED)
            inside, begun = 0.0, time.perf_counter()
            written.run()
            taken = time.perf_counter() - begun
        context.close()
    rate, python = written.n_tokens / taken, 1 - inside / taken
    return {"tokens_per_second": rate, "python": python, "depth": len(text)}


ENGINE = {"fork": fork, "reference": reference, "decode": decode}

# What came of it


def median(trials: list[Run]) -> Run:
    numbers = ("seconds", "total", "peak_rss_bytes")
    return {
        **trials[0],
        **{name: statistics.median(trial[name] for trial in trials) for name in numbers},
        "stages": {s: statistics.median(t["stages"].get(s, 0.0) for t in trials) for s in (*STAGES, "load", "total")},
        "spread": [min(trial["seconds"] for trial in trials), max(trial["seconds"] for trial in trials)],
    }


def ratios(medians: dict[str, Run], patterns: list[str]) -> dict[str, dict[str, float]]:
    """Returns by pattern the ratio of its seconds to those of others, and of the second question to the first."""
    theirs = "reference wim" in medians
    found = {}
    for name in patterns:
        first, second = medians[f"{name} first"], medians[f"{name} second"]
        found[name] = {
            "llm": first["seconds"] / medians["llm"]["seconds"],
            "second question": second["total"] / first["total"],
        }
        if theirs:
            found[name]["reference wim"] = first["seconds"] / medians["reference wim"]["seconds"]
    if theirs:
        found["reference wim"] = {
            "reference llm": medians["reference wim"]["seconds"] / medians["reference llm"]["seconds"]
        }
    return found


def show(found: dict[str, Any]) -> None:
    print(f"{found['model']}, {found['tokens']:,} tokens, segments of {found['segment_tokens']:,}")
    print(f"{'':24}{'seconds':>9}{'spread':>15}" + "".join(f"{name:>10}" for name in STAGES)
          + f"{'read':>8}{'known':>8}{'margins':>9}{'decoded':>9}{'peak RSS':>11}")  # fmt: skip
    for kind, row in found["medians"].items():
        print(
            f"{kind:24}{row['seconds']:9.2f}{row['spread'][0]:8.1f}-{row['spread'][1]:<6.1f}"
            + "".join(f"{row['stages'][stage]:10.2f}" for stage in STAGES)
            + f"{row['read']:8,}{row['known']:8,}{row['margins']:9}{row['decoded']:9}"
            + f"{row['peak_rss_bytes'] / 1e6:8.0f} MB"
        )
    if not found["reference"]:
        print("no reference: give a checkout of the paper's own code with --reference DIR")
    for name, others in found["ratios"].items():
        print(f"{name} over " + ", ".join(f"{other}: {ratio:.2f}" for other, ratio in others.items()))
    fork, rate = found["fork"], found["decode"]["tokens_per_second"]
    print(f"decoding: {rate:.0f} tokens/s; Python {found['decode']['python']:.1%}")
    print(f"fork and rollback at {fork['tokens']:,} tokens: {fork['milliseconds']:.3f} ms, worst {fork['worst']:.3f}")


if __name__ == "__main__":
    main()
