"""Measures what each term of an answer's score, and each kind of evidence for its support, contributes.

    python scripts/ablate.py SET [SET ...] [--part report] [--limit 30] [--seed 0]

A set is a folder for `wim-edge eval documents`, or a file for `wim-edge eval multidoc` (each question with ten
documents). Each question is asked once with the default settings. Then one term at a time counts as 0 in the scores of
the candidates in `answer.finished` (docs/events.md), without another reading. The script prints, as Markdown, the share
of answerable questions whose best candidate contains a right answer, with its 95% interval, and the AUROC of the
support. Weights are not fitted again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from options import parser_of, table

from wim_edge import Document, Runtime, Settings
from wim_edge.answer.candidates import Terms, key, shares
from wim_edge.evaluation.example import Part, take_part
from wim_edge.evaluation.metrics import auroc, contains, interval
from wim_edge.evaluation.tasks.documents import draw_evenly, load_documents, load_questions
from wim_edge.evaluation.tasks.questions import load_multidoc
from wim_edge.support import Evidence, SupportWeights

ALL, CELLS = "(all on)", "rows read alone"
TERMS = ("passage", "words", "run", "echo", "label")
EVIDENCE = ("likelihood", "answers", "missing")


@dataclass(frozen=True)
class Asked:
    """A question that was asked, with its candidate answers and the evidence."""

    set: str
    id: str
    answers: list[str]
    candidates: list[dict[str, Any]]
    """The candidates of `answer.finished`: text, terms and is_cell of each."""
    evidence: dict[str, float]
    weights: dict[str, float]
    """The weights of the support, by name."""


def questions_of(
    path: Path, part: Part, limit: int, seed: int
) -> Iterator[tuple[str, list[Document], str, Sequence[str]]]:
    """Yields (id, documents, question, right answers) for each question of a set."""
    if path.is_file():
        for number, row in enumerate(take_part(load_multidoc(path), part, key=lambda row: row.id)[:limit]):
            gold, *others = row.passages[:10]
            passages = [*others[: number % 10], gold, *others[number % 10 :]]
            documents = [Document(one.title, one.text, title=one.title) for one in passages]
            yield row.id, documents, row.question, row.answers
        return
    known = load_documents(path)
    for one in draw_evenly(take_part(load_questions(path), part, key=lambda one: one.document), limit, seed):
        yield one.id, [known[one.document]], one.question, one.answers


def ask(options: argparse.Namespace) -> Iterator[Asked]:
    with (
        tempfile.TemporaryDirectory() as home,
        Runtime(Settings.from_environment().with_changes(readings=Path(home))) as runtime,
    ):
        for path in options.sets:
            name = path.name.partition(".")[0]
            for number, documents, question, answers in questions_of(path, options.part, options.limit, options.seed):
                last = runtime.ask(documents, question)
                judge = runtime.roles().reader.support
                told = [{"text": one.text, "terms": one.terms, "is_cell": one.is_cell} for one in last.candidates]
                yield Asked(name, number, list(answers), told, last.evidence or {}, asdict(judge))
                print(f"{name} {number}: {last.status}, {last.short}", file=sys.stderr)


def first(candidates: Sequence[Mapping[str, Any]], off: str) -> str:
    """Returns the best candidate's words without the term ``off``. Candidates with equal words count together."""
    left = [one for one in candidates if not (off == CELLS and one["is_cell"])]
    scores = [Terms(**{**one["terms"], **({off: 0.0} if off in TERMS else {})}).score for one in left]
    share = shares(zip((one["text"] for one in left), scores, strict=True))
    return max((str(one["text"]) for one in left), key=lambda text: share[key(text)], default="")


def support(one: Asked, off: str) -> float:
    """Returns the support without the kind of evidence ``off``."""
    weights = {name: 0.0 if name == off else weight for name, weight in one.weights.items()}
    return SupportWeights(**weights).support(Evidence(**one.evidence))


def tables(asked: Sequence[Asked]) -> str:
    """Returns the tables, with a column for each set and a row for each term or evidence that is off."""
    sets = list(dict.fromkeys(one.set for one in asked))
    counts = {name: sum(bool(one.answers) for one in asked if one.set == name) for name in sets}

    def right(name: str, off: str) -> str:
        own = [one for one in asked if one.set == name and one.answers]
        scores = [(one.id, float(contains(first(one.candidates, off), one.answers))) for one in own]
        low, high = interval(scores) or (0.0, 0.0)
        return f"{sum(score for _, score in scores) / max(1, len(scores)):.2f} ({low:.2f} to {high:.2f})"

    def area(name: str, off: str) -> str:
        there = [support(one, off) for one in asked if one.set == name and one.answers]
        absent = [support(one, off) for one in asked if one.set == name and not one.answers]
        found = auroc(there, absent)
        return "" if found is None else f"{found:.2f}"

    terms = [[off, *(right(name, off) for name in sets)] for off in (ALL, *TERMS, CELLS)]
    evidence = [[off, *(area(name, off) for name in sets)] for off in (ALL, *EVIDENCE)]
    heads = ["off", *(f"{name} ({counts[name]})" for name in sets)], ["AUROC of support, off", *sets]
    return f"{table(heads[0], terms)}\n\n{table(heads[1], evidence)}"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("sets", nargs="+", metavar="SET", type=Path)
    parser.add_argument("--part", choices=("choose", "report", "all"), default="report")
    parser.add_argument("--limit", type=int, default=30, help="the questions of each set")
    parser.add_argument("--seed", type=int, default=0)
    print(tables(list(ask(parser.parse_args()))))


if __name__ == "__main__":
    main()
