"""Measures answers from a book: seconds to the first margin, provisional answer, and answer; memory; a second question.

    python scripts/bench_book.py --data DIR --library passages.jsonl.gz --tokens 20000,100000 --within auto,all
    python scripts/bench_book.py --data DIR --library passages.jsonl.gz --tokens 1000000 --questions 3
    python scripts/bench_book.py --data DIR --known 10000

A book is a document of DIR (docs/evaluation.md, "Whole documents"), at a random place among passages of the library. It
has about ``--tokens``, at 4.4 characters per token (the output has the exact number). Each question is one `wim-edge
ask --json` in a process of its own, without a saved reading. With ``--known`` it is the second question, and the first
one's reading is saved. Seconds are from the start of the process. Figures are medians over questions, which are
answerable and drawn evenly from the documents.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from options import command, parser_of, table

from wim_edge.documents.data_files import parse_rows, text_of
from wim_edge.evaluation.example import take_part
from wim_edge.evaluation.metrics import contains
from wim_edge.evaluation.tasks.documents import DocumentQuestion, load_documents, load_questions

CHARS_A_TOKEN = 4.4
Row = dict[str, Any]
_MEDIANS = ("tokens", "segments", "read_segments", "first_margin", "provisional", "first_word", "answered",
            "peak_rss_bytes")  # fmt: skip
_MEANS = ("in_passages", "in_answer")


def main() -> None:
    parser = parser_of(__doc__, "data", "part", "model", "json")
    parser.add_argument("--library", type=Path)
    parser.add_argument("--tokens", default="20000,100000")
    parser.add_argument("--known", type=int, help="tokens of a text that is known already")
    parser.add_argument("--within", default="auto")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    texts = {key: document.text for key, document in load_documents(given.data).items()}
    asked = drawn(take_part(load_questions(given.data), given.part, lambda one: one.document), given.questions)
    filler = passages(given.library, given.seed) if given.library else []
    found: Row = {"command": command()}
    sizes = [given.known] if given.known else [int(size) for size in given.tokens.split(",")]
    for size in sizes:
        for within in given.within.split(","):
            rows = []
            for number, question in enumerate(asked):
                text = book(texts[question.document], filler, size, random.Random(f"{given.seed} {number}"))
                other = next((one for one in asked if one.document == question.document and one != question), question)
                rows.append(ask(text, question, other if given.known else None, within, given.model))
                print(json.dumps({"size": size, "within": within, **rows[-1]}), file=sys.stderr, flush=True)
            found[f"{'known-' if given.known else ''}{size}-{within}"] = {
                "n": len(rows),
                **{key: statistics.median(row[key] for row in rows) for key in _MEDIANS},
                **{key: statistics.mean(row[key] for row in rows) for key in _MEANS},
            }
    print(json.dumps(found, indent=1) if given.json else shown(found))


def drawn(questions: list[DocumentQuestion], n: int) -> list[DocumentQuestion]:
    """Returns ``n`` answerable questions, drawn evenly from the documents, in their original order."""
    able = [one for one in questions if one.answers]
    by_document: dict[str, list[DocumentQuestion]] = {}
    for one in able:
        by_document.setdefault(one.document, []).append(one)
    turns = max(map(len, by_document.values()), default=0)
    even = [some[turn] for turn in range(turns) for some in by_document.values() if turn < len(some)]
    return [one for one in able if one in even[:n]]


def passages(path: Path, seed: int) -> list[str]:
    """Returns the library's passages, each under its title, in a random order that depends on the seed."""

    def parse(row: Row, _number: int) -> Iterator[str]:
        yield f"{text_of(row['title'])}\n\n{text_of(row['text'])}\n\n"

    rows = parse_rows(path, parse, "{title, text}")
    random.Random(seed).shuffle(rows)
    return rows


def book(text: str, filler: list[str], tokens: int, rng: random.Random) -> str:
    """Returns the text among filler, about ``tokens`` tokens in all; the text alone if it is as long already."""
    left, chosen = int(tokens * CHARS_A_TOKEN) - len(text), []
    for passage in filler[rng.randrange(max(1, len(filler))) :] + filler:
        if left <= 0:
            break
        chosen.append(passage)
        left -= len(passage)
    at = rng.randrange(len(chosen) + 1)
    return "".join([*chosen[:at], text, "\n\n", *chosen[at:]])


def ask(text: str, question: DocumentQuestion, before: DocumentQuestion | None, within: str, model: str) -> Row:
    """Asks a question in a process of its own. ``before``: a question to ask first, whose reading is kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.txt"
        path.write_text(text, encoding="utf-8")
        readings = {"WIM_EDGE_READINGS": str(Path(folder) / "readings")}
        save = "--save" if before else "--no-save"
        command = [sys.executable, "-m", "wim_edge", "ask", "--json", save, "--within", within, "--model", model]
        if before:
            subprocess.run([*command, str(path), before.question], env={**os.environ, **readings}, check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
        begun = time.perf_counter()
        with subprocess.Popen([*command, str(path), question.question], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **readings}) as process:  # fmt: skip
            assert process.stdout is not None
            events = [(time.perf_counter() - begun, json.loads(line)) for line in process.stdout]
    return measured(events, text, question)


def measured(events: list[tuple[float, Row]], text: str, question: DocumentQuestion) -> Row:
    """Returns the figures of an answer, by name. Raises ValueError if there is no answer."""

    def first(kind: str, **wanted: object) -> float:
        return next((at for at, event in events if event["type"] == kind
                     and all(event[key] == value for key, value in wanted.items())), events[-1][0])  # fmt: skip

    at, last = events[-1]
    if last["type"] != "answer.finished":
        raise ValueError(f"it ended with {last}")
    shown = " ".join(text[slice(*source["chars"])] for source in last["sources"])
    return {
        "tokens": next(event["tokens"] for _, event in events if event["type"] == "reading.started"),
        "segments": last["segments"],
        "read_segments": last["read_segments"],
        "first_margin": first("margin.judged", relevant=True),
        "provisional": first("answer.provisional"),
        "first_word": first("answer.delta"),
        "answered": at,
        "peak_rss_bytes": last["usage"]["peak_rss_bytes"],
        "in_passages": contains(shown, list(question.answers)),
        "in_answer": contains(last["text"], list(question.answers)),
    }


def shown(found: Row) -> str:
    head = ["", "tokens", "segments", "read", "first margin, s", "provisional, s", "first word, s", "answer, s", "MB",
            "in passages", "in answer"]  # fmt: skip
    rows = []
    for name, one in found.items():
        if name != "command":
            sizes = [f"{one[key]:,.0f}" for key in ("tokens", "segments", "read_segments")]
            seconds = [f"{one[key]:.1f}" for key in ("first_margin", "provisional", "first_word", "answered")]
            rows.append([name, *sizes, *seconds, f"{one['peak_rss_bytes'] / 1e6:.0f}",
                         *(f"{one[key]:.2f}" for key in _MEANS)])  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    main()
