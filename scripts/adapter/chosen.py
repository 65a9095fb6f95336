"""Questions of people about whole documents, from the choosing parts of the evaluation sets, never the reported parts.

Prose is cut into segments. A table is read by row, as wim-edge reads a row alone. Articles are in five languages.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from adapter.passages import NONE, Passage, Question, contains, fill, heading
from adapter.squad import CHARACTERS, cut
from wim_edge import Document
from wim_edge.documents.units import rows
from wim_edge.evaluation.example import take_part
from wim_edge.evaluation.tasks.documents import DocumentQuestion, load_documents, load_questions

LANGUAGES = ("en", "de", "es", "zh", "ar")


@dataclass(frozen=True)
class Asked:
    """A document and its questions."""

    document: Document
    questions: tuple[DocumentQuestion, ...]


def chosen(folder: Path) -> list[Asked]:
    """Returns the documents in a set's choosing part, with their questions."""
    texts = load_documents(folder)
    found: dict[str, list[DocumentQuestion]] = {}
    for one in take_part(load_questions(folder), "choose", lambda one: one.document):
        found.setdefault(one.document, []).append(one)
    return [Asked(texts[key], tuple(some)) for key, some in found.items()]


def table_passage(rng: random.Random, some: list[Asked], name: str, share: float) -> Passage:
    """Returns a single row with the probability ``share``, else a segment."""
    return row_passage(rng, some, name) if rng.random() < share else prose_passage(rng, some, name)


def prose_passage(rng: random.Random, some: list[Asked], name: str) -> Passage:
    """Returns a segment of a random document, with questions that it answers and questions that it does not."""
    one = rng.choices(some, [len(asked.questions) for asked in some])[0]
    text = one.document.text
    start, end = cut(rng, text)
    segment = text[start : min(end, start + 2 * CHARACTERS[1])].strip()
    answered, absent = [], []
    for question in one.questions:
        here = [answer for answer in question.answers if answer in segment]
        if here and text.count(min(here, key=len)) == segment.count(min(here, key=len)):
            answered.append(Question(question.question, min(here, key=len)))
        elif not any(answer in segment for answer in question.answers):
            absent.append(Question(question.question, NONE))
    other = rng.choice(rng.choice(some).questions)
    if not any(answer in segment for answer in other.answers):
        absent.append(Question(other.question, NONE))
    rng.shuffle(absent)
    return Passage(name, heading(one.document.title or ""), segment, fill(rng, answered, absent[:6], 0.5))


def row_passage(rng: random.Random, some: list[Asked], name: str) -> Passage:
    """Returns a table row as "label: cell", with questions that a cell answers and questions that no cell does."""
    one = rng.choice(some)
    found = list(rows(one.document))
    if not found:
        return Passage(name, "", "", ())
    holding = {question.id: [row for row in found if any(answer in row.texts for answer in question.answers)]
               for question in one.questions}  # fmt: skip
    clear = [row for some_rows in holding.values() if len(some_rows) == 1 for row in some_rows]
    row = rng.choice(clear) if clear and rng.random() < 0.6 else rng.choice(found)
    answered, absent = [], []
    for question in one.questions:
        if holding[question.id] == [row]:
            answered.append(Question(question.question, next(a for a in question.answers if a in row.texts)))
        elif row not in holding[question.id] and not any(contains(row.text, answer) for answer in question.answers):
            absent.append(Question(question.question, NONE))
    other = rng.choice(rng.choice(some).questions)
    if not any(contains(row.text, answer) for answer in other.answers):
        absent.append(Question(other.question, NONE))
    return Passage(name, heading(one.document.title or ""), row.text, fill(rng, answered, absent, 0.5))
