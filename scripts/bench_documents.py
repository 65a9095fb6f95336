"""Measures how documents are read: facts in tables, and other languages.

    pip install -e '.[dev]'
    python scripts/bench_documents.py tables               40 questions of five documents, in six formats
    python scripts/bench_documents.py languages --data DIR [--per-document 3]

`tables` counts the questions with the right row among the quotations, and those with the right value in the answer.
`languages` asks the same questions in each language: of the reported documents of DIR/xquad_LANGUAGE, and of the gold
passage alone. It prints the share of questions for which the gold passage was shown first, or shown at all, and the F1
with the document and with the gold passage alone. Both take --json and --adapter.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from options import command, parser_of
from table_documents import DOCUMENTS, FORMATS, write

from wim_edge.documents.data_files import read_rows
from wim_edge.evaluation.example import take_part
from wim_edge.words import scores

Row = dict[str, Any]
LANGUAGES = ("en", "de", "es", "zh", "ar")
_PIECE = 40
"""The characters of a piece. A shown passage overlaps the gold paragraph if one of its pieces is in it."""


def main() -> None:
    parser = parser_of(__doc__, "adapter", "json")
    parser.add_argument("what", choices=("tables", "languages"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--per-document", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = list(globals()[f"measure_{given.what}"](given, Path(name)))
    if given.json:
        named = {str(name): {**row} for row in rows for name in [row.pop(next(iter(row)))]}
        print(json.dumps({"command": command(), **named}, indent=2))
        return
    for row in rows:
        shown = (f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())
        print("  ".join(shown))


def measure_tables(given: argparse.Namespace, folder: Path) -> Iterator[Row]:
    write(folder)
    named = {f"{one.name}-{at}": row for one in DOCUMENTS for at, (*_, row) in enumerate(one.questions)}
    for ending in FORMATS:
        asked = ask(folder / ending, folder / f"out-{ending}", given)
        quoted = [any(named[row["id"]] in quote for quote in row["quotes"]) for row in asked]
        yield {
            "format": ending, "n": len(asked), "quoted": mean(quoted),
            "answered": mean(row["scores"].get("contains", 0.0) for row in asked),
            "seconds": mean(row["seconds"] for row in asked),
        }  # fmt: skip


def measure_languages(given: argparse.Namespace, folder: Path) -> Iterator[Row]:
    if given.data is None:
        sys.exit("--data DIR: the folder in which xquad_en and its like lie")
    folders = {one: given.data / f"xquad_{one}" for one in LANGUAGES}
    data = {one: (read_rows(own / "documents.jsonl.gz"), read_rows(own / "questions.jsonl.gz"))
            for one, own in folders.items()}  # fmt: skip
    gold = gold_passages(data)
    reported = take_part([one["id"] for one in data["en"][0]], "report", key=lambda key: key)
    chosen = drawn(data["en"][1], set(reported), given.per_document)
    for language in LANGUAGES:
        own, questions = data[language]
        passages = {one["id"].partition("-")[2]: re.split(r"\n\n+", one["text"]) for one in own}
        asked = [one for one in questions if one["id"] in chosen]
        whole = ask(folder_of(folder / f"{language}-all", own, asked), folder / f"out-{language}-all", given)
        alone = [
            {"id": f"{language}-{gold[one['id']]}", "title": one["document"],
             "text": passages[one["document"].partition("-")[2]][gold[one["id"]][1]]} for one in asked
        ]  # fmt: skip
        of_gold = [{**one, "document": text["id"]} for one, text in zip(asked, alone, strict=True)]
        only = ask(folder_of(folder / f"{language}-one", alone, of_gold), folder / f"out-{language}-one", given)
        places = [place_of(row, passages[gold[row["id"]][0]][gold[row["id"]][1]]) for row in whole]
        yield {
            "language": language, "n": len(whole), "first": mean(place == 0 for place in places),
            "shown": mean(place is not None for place in places), "f1": mean(row["scores"]["f1"] for row in whole),
            "f1_of_passage_alone": mean(row["scores"]["f1"] for row in only),
            "seconds": mean(row["seconds"] for row in whole),
        }  # fmt: skip


def gold_passages(data: dict[str, tuple[list[Row], list[Row]]]) -> dict[str, tuple[str, int]]:
    """Returns for each question (number of its document, index of its gold paragraph). The gold paragraph has the
    answer in the most languages and, among equals, shares the most words with the question."""
    passages = {
        language: {one["id"].partition("-")[2]: re.split(r"\n\n+", one["text"]) for one in documents}
        for language, (documents, _) in data.items()
    }
    asked = {language: {one["id"]: one for one in questions} for language, (_, questions) in data.items()}
    first = next(iter(data))
    found = {}
    for key, question in asked[first].items():
        number = question["document"].partition("-")[2]
        counts = [
            sum(any(answer in passages[one][number][at] for answer in asked[one][key]["answers"]) for one in data)
            for at in range(len(passages[first][number]))
        ]
        best = [at for at, count in enumerate(counts) if count == max(counts)]
        shared = scores([passages[first][number][at] for at in best], question["question"])
        found[key] = number, best[max(shared, key=lambda at: shared[at])] if shared else best[0]
    return found


def drawn(questions: Iterable[Row], documents: set[str], per_document: int) -> set[str]:
    by_document: dict[str, list[str]] = {}
    for one in questions:
        if one["document"] in documents:
            by_document.setdefault(one["document"], []).append(one["id"])
    return {key for name, keys in by_document.items() for key in random.Random(name).sample(keys, per_document)}


def folder_of(folder: Path, documents: list[Row], questions: list[Row]) -> Path:
    folder.mkdir()
    asked = {one["document"] for one in questions}
    for name, written in (("documents", {one["id"]: one for one in documents if one["id"] in asked}.values()),
                          ("questions", questions)):  # fmt: skip
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in written)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def place_of(row: Row, gold: str) -> int | None:
    """Returns the index of the first shown passage that overlaps the gold paragraph; None if none does."""
    gold = "".join(gold.split())
    for number, passage in enumerate("".join(one.split()) for one in row["passages"]):
        pieces = (passage[at : at + _PIECE] for at in range(0, max(1, len(passage) - _PIECE), _PIECE))
        if any(piece in gold for piece in pieces):
            return number
    return None


def ask(data: Path, out: Path, given: argparse.Namespace) -> list[Row]:
    command = [sys.executable, "-m", "wim_edge", "eval", "documents", "--pattern", "default", "--data", str(data),
               "--part", "all", "--threads", "1", "--out", str(out), "--json"]  # fmt: skip
    command += ["--adapter", given.adapter] if given.adapter else []
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in (out / "examples.jsonl").read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
