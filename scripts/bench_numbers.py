"""What can change a number: batches of another size, another run, another process, a reading that was restored.

    python scripts/bench_numbers.py nq_multidoc.jsonl.gz [--model NAME] [--limit 10]

The first table: log-probabilities of a text's tokens, read in batches of another size than 512, beside those of a
batch of 512. The second: how often a greedy answer, its margins and the order of its segments are the same, character
for character.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from wim_edge import Runtime, Settings, events
from wim_edge.engine.protocols import Model
from wim_edge.engine.sampling import log_softmax
from wim_edge.evaluation.example import as_documents
from wim_edge.evaluation.tasks.questions import load_multidoc

TEXT = Path(__file__).parents[1] / "examples" / "gpl-3.0.txt"
TOKENS = 512
PATTERNS = ("llm", "rag", "wim", "wim-focus", "wim-shallow")
Story = tuple[str, dict[str, str], list[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument("--readings", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.readings is not None:
        print(json.dumps(stories(given, given.readings)))
        return
    with Runtime(Settings(model=given.model)) as runtime:
        show_batches(runtime.open())
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first = stories(given, Path(one))
        runs = {"another run": stories(given, Path(other)), "another process": elsewhere(given),
                "restored": stories(given, Path(one))}  # fmt: skip
    print(f"\n{given.limit} questions, {given.model}: the same answers, margins, orders of segments\n")
    print(f"| pattern | {' | '.join(runs)} |\n| --- |{' --- |' * len(runs)}")
    for pattern in given.patterns.split(","):
        cells = [same(first[pattern], found[pattern]) for found in runs.values()]
        print(f"| {pattern} | {' | '.join(cells)} |")


def show_batches(model: Model) -> None:
    """Print how far log-probabilities are from those of one batch."""
    tokens = model.tokenize(TEXT.read_text(encoding="utf-8"))[:TOKENS]
    expected = logits(model, tokens, TOKENS)
    print("| batches of | largest difference | median | KL, mean | another likeliest token |\n|" + " ---: |" * 5)
    for size in (1, 2, 16, 64, 256):
        found = logits(model, tokens, size)
        off = np.abs(found - expected).max(axis=-1)
        divergence = (np.exp(expected) * (expected - found)).sum(axis=-1).mean()
        other = (found.argmax(-1) != expected.argmax(-1)).sum()
        print(f"| {size} | {off.max():.3f} | {np.median(off):.4f} | {divergence:.1e} | {other} of {len(tokens)} |")


def logits(model: Model, tokens: list[int], size: int) -> Any:
    """Log-probabilities after each token; (tokens, n_vocab)."""
    context = model.context(2 * TOKENS)
    try:
        with context.sequence() as sequence:
            parts = (tokens[at : at + size] for at in range(0, len(tokens), size))
            return np.concatenate([log_softmax(sequence.append(part, rows=len(part))) for part in parts])
    finally:
        context.close()


def elsewhere(given: argparse.Namespace) -> dict[str, list[Story]]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, *sys.argv[1:], "--readings", folder]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {pattern: [tuple(story) for story in told] for pattern, told in found.items()}


def stories(given: argparse.Namespace, readings: Path) -> dict[str, list[Story]]:
    """By pattern, of each question: the answer, the margins, and the segments in the order of their scores."""
    found: dict[str, list[Story]] = {pattern: [] for pattern in given.patterns.split(",")}
    settings = Settings.from_environment().with_changes(
        model=given.model, readings=readings, segment_tokens=256, answer_tokens=32
    )
    questions = [one for one in load_multidoc(given.data) if len(one.passages) > 5][: given.limit]
    with Runtime(settings) as runtime:
        for question in questions:
            documents, _ = as_documents(question.passages[:6])
            for pattern in found:
                with runtime.with_changes(pattern=pattern) as asked:
                    found[pattern].append(story(list(asked.stream(documents, question.question))))
    return found


def story(told: list[events.Event]) -> Story:
    margins = {str(one.segment): one.text for one in told if isinstance(one, events.MarginJudged)}
    order: list[int] = []
    for one in told:
        if isinstance(one, events.SegmentScored) and one.rank is not None:
            order.insert(one.rank - 1, one.segment)
    last = told[-1]
    assert isinstance(last, events.AnswerFinished)
    return last.text, margins, order


def same(one: list[Story], other: list[Story]) -> str:
    """Margins where both have one of the segment: a known text gets them only where the answer draws on them."""
    pairs = list(zip(one, other, strict=True))
    answers = sum(a[0] == b[0] for a, b in pairs)
    both = [(a[1][at], b[1][at]) for a, b in pairs for at in a[1].keys() & b[1].keys()]
    orders = sum(a[2] == b[2] for a, b in pairs)
    return f"{answers}, {sum(a == b for a, b in both)} of {len(both)}, {orders}"


if __name__ == "__main__":
    main()
