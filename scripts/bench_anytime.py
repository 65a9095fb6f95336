"""Measures how early gold text is found: the share of questions with gold among the chosen passages, over the seconds
since the question, as if the reading had been stopped then.

    python scripts/bench_anytime.py --data DIR --part report --questions 20 --threads 1 --json --plot anytime.png

Three orders are compared: promising segments first (with the time at which reading ends by itself), the document's, and
`rag:embed`, which embeds all chunks and then has the nearest three. No reading is kept between questions. Questions are
drawn evenly along each document, so that they ask about its end as often as about its beginning.

Seconds are CPU seconds of all threads. With one thread, they do not depend on other work of the machine.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from options import command, parser_of, table

from wim_edge import Document, Runtime, Settings, events
from wim_edge.evaluation.baselines import BEST, embed_documents, open_embedder
from wim_edge.evaluation.example import take_part
from wim_edge.evaluation.metrics import contains, interval
from wim_edge.evaluation.tasks.documents import DocumentQuestion, load_documents, load_questions
from wim_edge.reading.ranking import Outlook
from wim_edge.settings import Within

AT = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300)  # seconds

AUTO = Within.parse("auto")
BOUND, SEGMENTS = AUTO.unread or 0.0, AUTO.segments

Course = list[tuple[float, float]]
"""(seconds, 1 or 0), in order of time: whether gold is among the chosen passages from this time on."""


def main() -> None:
    parser = parser_of(__doc__, "data", "part", "model", "adapter", "threads", "json")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    documents = load_documents(given.data)
    asked = spread(take_part(load_questions(given.data), given.part, lambda one: one.document), given.questions)
    settings = Settings(model=given.model, adapter=given.adapter, n_threads=given.threads, save=False, within="all",
                        answer_tokens=1)  # fmt: skip
    courses: dict[str, list[Course]] = {"promising": [], "document": [], "embed": []}
    ends: list[float] = []
    open_embedder(given.threads)
    with Runtime(settings) as runtime:
        runtime.open()
        for question in asked:
            document = documents[question.document]
            found = list(read(runtime, document, question))
            courses["promising"].append([(at, gold) for at, gold, _ in found])
            ended = (at for n, (at, _, unread) in enumerate(found, 1) if unread < BOUND or n == SEGMENTS)
            ends.append(next(ended, found[-1][0]))
            with patch.object(Outlook, "order", property(lambda ahead: tuple(range(len(ahead.shared))))):
                courses["document"].append([(at, gold) for at, gold, _ in read(runtime, document, question)])
            courses["embed"].append(embed(document, question, given.threads))
            print(question.question, [one[-1] for one in (rows[-1] for rows in courses.values())], file=sys.stderr)
    outcomes = {name: {str(at): found_by(some, at) for at in AT} for name, some in courses.items()}
    rows = {name: {at: float(np.mean(some)) for at, some in row.items()} for name, row in outcomes.items()}
    intervals = {name: {at: interval([(str(n), one) for n, one in enumerate(some)]) for at, some in row.items()}
                 for name, row in outcomes.items()}  # fmt: skip
    told = {"command": command(), "n": len(asked),
            "ends_by_itself": float(np.median(ends)), **rows, "intervals": intervals}  # fmt: skip
    print(json.dumps(told, indent=1) if given.json else shown(told, list(rows)))
    if given.plot:
        plot(told, list(rows), given.plot)


def spread(questions: list[DocumentQuestion], n: int) -> list[DocumentQuestion]:
    """Returns ``n`` answerable questions, equally many of each document, at equal distances."""
    by_document: dict[str, list[DocumentQuestion]] = {}
    for one in questions:
        if one.answers:
            by_document.setdefault(one.document, []).append(one)
    each = -(-n // max(1, len(by_document)))
    return [some[round((k + 0.5) * len(some) / each - 0.5)] for some in by_document.values() for k in range(each)][:n]


def read(runtime: Runtime, document: Document, question: DocumentQuestion) -> Iterator[tuple[float, float, float]]:
    """Yields after each segment (seconds so far, 1 or 0: gold is among the passages that would be chosen now, P(an
    unread segment answers better))."""
    begun = time.process_time()
    stream = runtime.stream(document, question.question)
    for event in stream:
        if isinstance(event, events.SegmentScored):
            at = time.process_time() - begun
            assert runtime._session is not None
            reading = runtime._session.reading  # what would be chosen now, no event tells
            spans = [reading.plan.segments[n].segment for n in reading.chosen()]
            shown = " ".join(document.text[one.start : one.end] for one in spans)
            yield at, contains(shown, list(question.answers)), event.unread_probability or 0.0


def embed(document: Document, question: DocumentQuestion, threads: int | None) -> Course:
    begun = time.process_time()
    chunks = embed_documents([document], threads)
    shown = " ".join(chunks.texts[number] for _, number in chunks.nearest(question.question)[:BEST])
    return [(time.process_time() - begun, contains(shown, list(question.answers)))]


def found_by(courses: list[Course], at: float) -> list[float]:
    """Returns for each question whether gold was among the chosen passages at this second: 1 or 0."""
    return [next((gold for when, gold in reversed(one) if when <= at), 0.0) for one in courses]


def shown(told: dict, names: list[str]) -> str:  # type: ignore[type-arg]
    rows = [[str(at), *(f"{told[name][str(at)]:.2f}" for name in names)] for at in AT]
    return f"{table(['seconds', *names], rows)}\nends by itself after {told['ends_by_itself']:.1f} s (median)"


def plot(told: dict, names: list[str], path: Path) -> None:  # type: ignore[type-arg]
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    labels = {"promising": "the promising segments first", "document": "in the document's order", "embed": "rag:embed"}
    for name in names:
        low, high = zip(*(told["intervals"][name][str(at)] for at in AT), strict=True)
        axes.step(AT, [told[name][str(at)] for at in AT], where="post", label=labels[name])
        axes.fill_between(AT, low, high, step="post", alpha=0.15)
    axes.axvline(told["ends_by_itself"], color="grey", linestyle=":", label="where reading ends by itself (median)")
    axes.set(xscale="log", xlabel="seconds since the question", ylabel="gold among the passages", ylim=(0, 1))
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
