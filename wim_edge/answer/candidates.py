"""Candidate answers: words of the passages, each with one score in nats, the weighted sum of its terms.

    passage   log P(its passage answers) (`wim_edge.reading.ranking`)
    words     minus the points of rare question words that its sentence, item or row has less than the best one
    run       log P(the words | their passage, or their row alone)
    echo      the share of its words that the question has: they are seldom the answer
    label     for a cell: the number of question words in its column's label, not in its row

Equal words of several passages add up. `--explain` prints the terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Seq
from dataclasses import asdict, astuple, dataclass, replace
from math import exp, log

from wim_edge import words
from wim_edge.answer.alone import AT_MOST, RowRead, read_paragraph, read_rows
from wim_edge.documents import Document
from wim_edge.documents.units import Row, rows, unit_spans, whole_value
from wim_edge.reading import events
from wim_edge.reading.pointing import Pointed
from wim_edge.reading.reading import Reading

_WORD = re.compile(r"\w+")
_LEAST = 1e-6


@dataclass(frozen=True)
class Terms:
    """The terms of a candidate's score, or their weights."""

    passage: float
    words: float
    run: float
    echo: float
    label: float = 0.0

    @property
    def score(self) -> float:
        return float(sum(weight * value for weight, value in zip(astuple(WEIGHTS), astuple(self), strict=True)))


WEIGHTS = Terms(passage=1.0, words=0.3, run=0.5, echo=-2.0, label=1.5)
"""Chosen on the choosing parts; nearby weights change little (docs/choices.md)."""


@dataclass(frozen=True)
class AnswerCandidate:
    """Characters ``[start, end)`` of a document, in the passage of segment ``index``."""

    index: int
    document: Document
    start: int
    end: int
    terms: Terms
    row: float | None = None
    """The log-odds that its row answers, for a cell of a row that was read alone."""
    share: float = 0.0
    """P(these words are the answer | one of the candidates is)."""

    @property
    def text(self) -> str:
        return " ".join(self.document.text[self.start : self.end].split())

    @property
    def shown(self) -> events.ScoredWords:
        """The candidate in the form of `events.AnswerFinished`."""
        terms, chars = asdict(self.terms), (self.start, self.end)
        is_cell = self.row is not None
        return events.ScoredWords(self.text, self.document.name, chars, self.share, self.terms.score, terms, is_cell)


@dataclass(frozen=True)
class _Unit:
    """A sentence, item or row of a passage, and its missed points."""

    index: int
    start: int
    end: int
    row: Row | None
    missed: float


def candidates_of(
    reading: Reading, used: Seq[int], *, alone: bool = True
) -> tuple[tuple[AnswerCandidate, ...], float | None]:
    """Returns the candidates, best first, and the adapter's best log-odds that a row answers (None: no row was read).

    Candidates are the runs that the model points at in the passages ``used``, and cells of the best rows of all that
    was read. ``alone``: rows and a paragraph are read for it; False: nothing is evaluated. Raises Interrupted.
    """
    units, pointed = _units(reading, used), reading.pointed_at(used)
    found = _runs(reading, pointed, units)
    if not alone:
        return _ordered(found), None
    if found and not reading.model.has_adapter:
        best = _ordered(found)[0]
        again = read_paragraph(reading, best.index, best.start, best.end)
        found = _runs(reading, {**pointed, best.index: again}, units) if again and again.runs else found
    answers = None
    best_first = sorted(units, key=lambda unit: -Terms(_passage(reading, unit.index), -unit.missed, 0.0, 0.0).score)
    near = [(unit, unit.row) for unit in best_first if unit.row][:AT_MOST]
    for (unit, _), read in zip(near, read_rows(reading, [(one.index, row) for one, row in near]), strict=False):
        answers = read.answers if answers is None else max(answers, read.answers)
        found += _cells(reading, unit, read)
    return _ordered(found), answers


def _runs(reading: Reading, pointed: Mapping[int, Pointed], units: Seq[_Unit]) -> list[AnswerCandidate]:
    asked = words.without_endings(reading.plan.query)
    found = []
    for index, run in ((index, run) for index, one in pointed.items() for run in one.runs):
        document = reading.plan.document_of(index)
        missed = (unit.missed for unit in units if unit.index == index and unit.start <= run.start < unit.end)
        start, end = whole_value(document.text, run.start, run.end)
        echo = _echo(document.text[start:end], asked)
        terms = Terms(_passage(reading, index), -next(missed, 0.0), run.logprob, echo)
        found.append(AnswerCandidate(index, document, start, end, terms))
    return found


def _cells(reading: Reading, unit: _Unit, read: RowRead) -> Iterator[AnswerCandidate]:
    row, asked = read.row, words.without_endings(reading.plan.query)
    left = asked - words.without_endings(" ".join(row.texts))
    for n, rated in read.cells:
        label = len(words.without_endings(row.labels[n]) & left)
        terms = Terms(_passage(reading, unit.index), -unit.missed, rated, _echo(row.texts[n], asked), label)
        document = reading.plan.document_of(unit.index)
        yield AnswerCandidate(unit.index, document, *row.cells[n], terms, row=read.answers)


def _ordered(found: Seq[AnswerCandidate]) -> tuple[AnswerCandidate, ...]:
    """Returns the candidates with their shares, best first, and each place once."""
    places: dict[tuple[int, int, int], AnswerCandidate] = {}
    for one in sorted(found, key=lambda one: -one.terms.score):
        places.setdefault((one.index, one.start, one.end), one)
    share = shares((one.text, one.terms.score) for one in places.values())
    shared = [replace(one, share=share[key(one.text)]) for one in places.values()]
    return tuple(sorted(shared, key=lambda one: (-one.share, -one.terms.score)))


def shares(scored: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Returns the probability of each text by its `key`, from pairs of text and score in nats."""
    pairs, total = list(scored), dict[str, float]()
    best = max((score for _, score in pairs), default=0.0)
    for text, score in pairs:
        total[key(text)] = total.get(key(text), 0.0) + exp(score - best)
    whole = sum(total.values())
    return {text: own / whole for text, own in total.items()}


def key(text: str) -> str:
    """Returns the words of a text without case and punctuation: equal keys mean the same answer."""
    return " ".join(_WORD.findall(text.casefold())) or text


def _echo(text: str, asked: set[str]) -> float:
    own = words.without_endings(text)
    return len(own & asked) / len(own) if own else 0.0


def _units(reading: Reading, used: Seq[int]) -> list[_Unit]:
    """Returns the sentences, items and rows of the passages ``used`` and of all that is scored."""
    spans, held = [], []
    for index in sorted({*used, *reading.ranking.known}):
        segment = reading.plan.segments[index].segment
        starts = {row.cells[0][0]: row for row in rows(reading.plan.document_of(index))}
        starts = {at: row for at, row in starts.items() if segment.start <= at < segment.end}
        for left, right in unit_spans(segment.text):
            start, end = segment.start + left, segment.start + right
            spans.append((index, start, end, next((row for at, row in starts.items() if start <= at < end), None)))
            held.append(words.without_endings(segment.text[left:right]))
    missed = words.missed_points(held, words.without_endings(reading.plan.query))
    return [_Unit(*span, lost) for span, lost in zip(spans, missed, strict=True)]


def _passage(reading: Reading, index: int) -> float:
    return log(max(reading.ranking.relevance(index), _LEAST))
