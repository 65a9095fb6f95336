"""What the patterns cost: each beside `llm`, on the same text and model, in one run.

    python scripts/bench_ask.py                          4,096 tokens of the GPL in segments of 1,024
    python scripts/bench_ask.py --tokens 2048 --segment-tokens 512 --model qwen3-0.6b

Each pattern runs in a process of its own, so that its peak memory is its own, and the runs take
turns. Prints a table of medians and writes the figures as JSON. Only ratios of one run are worth
comparing: machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGES = ("prefill", "margins", "relevance", "answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--text", type=Path, default=ROOT / "examples" / "gpl-3.0.txt")
    parser.add_argument("--tokens", type=int, default=4096, help="how much of the text is read")
    parser.add_argument("--patterns", default="llm,wim,wim-shallow", help="llm first")
    parser.add_argument("--margins", choices=("verbatim", "free"), default="verbatim")
    parser.add_argument("--relevance", help="default: the model's")
    parser.add_argument("--segment-tokens", type=int, default=1024)
    parser.add_argument("--margin-tokens", type=int, default=64)
    parser.add_argument("--answer-tokens", type=int, default=64)
    parser.add_argument("--question", default="What must a distributor of modified versions do?")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("bench-ask.json"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(options)))
        return
    runs: dict[str, list[dict]] = {name: [] for name in options.patterns.split(",")}
    for _ in range(options.trials):
        for pattern in runs:
            command = [sys.executable, __file__, *sys.argv[1:], "--one", pattern]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            runs[pattern].append(json.loads(done.stdout.splitlines()[-1]))
    report(options, {pattern: median(trials) for pattern, trials in runs.items()}, runs)


def run_one(options: argparse.Namespace) -> dict:
    from wim_edge import Document, Runtime, Settings, events

    settings = Settings(
        model=options.model,
        pattern=options.one,
        relevance=options.relevance,
        margins=options.margins,
        segment_tokens=options.segment_tokens,
        margin_tokens=options.margin_tokens,
        answer_tokens=options.answer_tokens,
    )
    with Runtime(settings) as runtime:
        model = runtime.open()
        text = options.text.read_text(encoding="utf-8")
        tokens = model.tokenize(text)[: options.tokens]
        cut = b"".join(map(model.piece, tokens)).decode("utf-8", "ignore")
        for event in runtime.stream(Document(options.text.name, cut), options.question):
            if isinstance(event, events.ReadingStarted):
                started = event
        assert isinstance(event, events.AnswerFinished)
    usage = event.usage
    return {
        "tokens": started.tokens,
        "segments": started.segments,
        "n_ctx": started.n_ctx,
        "windows": started.windows,
        "decoded_tokens": usage.decoded_tokens,
        "peak_rss_bytes": usage.peak_rss_bytes,
        # Loading the file says nothing about the pattern
        "seconds": usage.seconds["total"] - usage.seconds["load"],
        "stages": usage.seconds,
    }


def median(trials: list[dict]) -> dict:
    stages = {name: statistics.median(t["stages"].get(name, 0.0) for t in trials) for name in trials[0]["stages"]}
    numbers = {name: statistics.median(t[name] for t in trials) for name in ("seconds", "peak_rss_bytes")}
    return {**trials[0], **numbers, "stages": stages, "spread": [min(t["seconds"] for t in trials),
                                                                max(t["seconds"] for t in trials)]}  # fmt: skip


def report(options: argparse.Namespace, medians: dict[str, dict], runs: dict[str, list[dict]]) -> None:
    first, *others = medians
    base = medians[first]
    ratios = {
        name: {key: medians[name][key] / base[key] for key in ("seconds", "peak_rss_bytes")} for name in others
    }
    print(f"{options.model}, {base['tokens']:,} tokens, segments of {options.segment_tokens}, {options.trials} trials")
    print(f"{'':14}{'seconds':>9}{'spread':>15}" + "".join(f"{name:>10}" for name in STAGES) + f"{'peak RSS':>12}")
    for name, row in medians.items():
        print(
            f"{name:14}{row['seconds']:9.1f}{row['spread'][0]:8.1f}-{row['spread'][1]:<6.1f}"
            + "".join(f"{row['stages'].get(stage, 0):10.1f}" for stage in STAGES)
            + f"{row['peak_rss_bytes'] / 2**20:8.0f} MiB"
        )
    for name, ratio in ratios.items():
        print(f"{name} / {first}: {ratio['seconds']:.2f} in time, {ratio['peak_rss_bytes']:.2f} in peak memory")
    result = {"model": options.model, "medians": medians, "ratios": ratios, "runs": runs}
    options.out.write_text(json.dumps(result, indent=2), encoding="utf-8")
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
