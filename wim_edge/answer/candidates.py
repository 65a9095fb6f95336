"""The words that may answer, each with one score, in nats: the weighted sum of its terms.

    passage   the log of the probability that its passage is the one that answers (`wim_edge.reading.ranking`)
    words     the points of the question's rare words that its sentence, item or row lacks and the best one has
    run       the log-probability of the words themselves as the answer, after their passage, or after their row alone
    echo      the share of its words that the question has: what is asked about is seldom the answer
    label     of a cell: the number of the question's words in the label of its column, not told by its row

What several passages say counts for each. The reason for an answer is in this score, which `--explain` prints.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Seq
from dataclasses import asdict, astuple, dataclass, replace
from math import exp, log

from wim_edge import words
from wim_edge.answer.alone import AT_MOST, RowRead, read_paragraph, read_rows
from wim_edge.documents import Document
from wim_edge.documents.units import Row, rows
from wim_edge.documents.values import whole_value
from wim_edge.reading import events
from wim_edge.reading.pointing import AnswerRun, Pointed
from wim_edge.reading.quotation import unit_words
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
        pairs = zip(astuple(WEIGHTS), astuple(self), strict=True)
        return float(sum(weight * value for weight, value in pairs))


WEIGHTS = Terms(passage=1.0, words=0.3, run=0.5, echo=-2.0, label=1.5)
"""The weights, chosen on the choosing parts; around them little changes (docs/choices.md)."""


@dataclass(frozen=True)
class AnswerCandidate:
    """Words of one of the passages, as characters of its document."""

    index: int
    document: Document
    start: int
    end: int
    terms: Terms
    row: float | None = None
    """The log-odds that its row answers, if it is a cell of one that was read alone."""
    share: float = 0.0
    """The probability that these words are the answer, given that one of the candidates is."""

    @property
    def text(self) -> str:
        return " ".join(self.document.text[self.start : self.end].split())

    @property
    def shown(self) -> events.ScoredWords:
        """The candidate as events have it."""
        terms, chars = asdict(self.terms), (self.start, self.end)
        is_cell = self.row is not None
        return events.ScoredWords(self.text, self.document.name, chars, self.share, self.terms.score, terms, is_cell)


@dataclass(frozen=True)
class _Unit:
    """A sentence, item or row of a passage, and the points it lacks."""

    index: int
    start: int
    end: int
    lacks: float
    row: Row | None


@dataclass(frozen=True)
class Candidates:
    """The words that may answer, the likeliest first."""

    found: tuple[AnswerCandidate, ...]
    answers: float | None = None
    """The most that an adapter says for a row that was read alone, as log-odds; None if none was."""


def candidates_of(reading: Reading, used: Seq[int], *, alone: bool = True) -> Candidates:
    """Returns the runs that the model points at in the passages, and the cells of the likeliest rows of what was read.

    ``alone``: rows are read for it; False: only what is known already counts. Raises Interrupted.
    """
    units, pointed = _units(reading, used), reading.pointed_at(used)
    found = _runs(reading, pointed, units)
    if alone and found and not reading.model.has_adapter:
        best = _ordered(found)[0]
        again = read_paragraph(reading, best.index, AnswerRun(best.start, best.end, best.terms.run))
        found = _runs(reading, {**pointed, best.index: again}, units) if again and again.runs else found
    answers = None
    most = {unit: Terms(_passage(reading, unit.index), -unit.lacks, 0.0, 0.0).score for unit in units if unit.row}
    near = [(unit, unit.row) for unit in sorted(most, key=lambda unit: -most[unit]) if unit.row]
    near = near[: AT_MOST if alone else 0]
    for (unit, _), read in zip(near, read_rows(reading, [(one.index, row) for one, row in near]), strict=False):
        answers = read.answers if answers is None else max(answers, read.answers)
        found += _cells(reading, unit, read)
    return Candidates(_ordered(found), answers)


def _cells(reading: Reading, unit: _Unit, read: RowRead) -> Iterator[AnswerCandidate]:
    row, asked = read.row, words.without_endings(reading.plan.query)
    untold = asked - words.without_endings(" ".join(row.texts))
    document = reading.plan.documents[reading.plan.segments[unit.index].segment.document]
    for n, rated in read.cells:
        label = len(words.without_endings(row.labels[n]) & untold)
        terms = Terms(_passage(reading, unit.index), -unit.lacks, rated, _echo(row.texts[n], asked), label)
        yield AnswerCandidate(unit.index, document, *row.cells[n], terms, row=read.answers)


def _ordered(found: Seq[AnswerCandidate]) -> tuple[AnswerCandidate, ...]:
    """Returns the candidates, the likeliest first, with their shares; the same words count together."""
    if not found:
        return ()
    places: dict[tuple[int, int, int], AnswerCandidate] = {}
    for one in sorted(found, key=lambda one: -one.terms.score):
        places.setdefault((one.index, one.start, one.end), one)
    share = shares((one.text, one.terms.score) for one in places.values())
    shared = [replace(one, share=share[key(one.text)]) for one in places.values()]
    return tuple(sorted(shared, key=lambda one: (-one.share, -one.terms.score)))


def shares(scored: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Returns the probability of each text by its `key`, from pairs of text and score in nats; the same words count
    together."""
    pairs, total = list(scored), dict[str, float]()
    best = max((score for _, score in pairs), default=0.0)
    for text, score in pairs:
        total[key(text)] = total.get(key(text), 0.0) + exp(score - best)
    whole = sum(total.values())
    return {text: own / whole for text, own in total.items()}


def key(text: str) -> str:
    """Returns the words of a text alone: runs that differ in nothing else say the same."""
    return " ".join(_WORD.findall(text.casefold())) or text


def _runs(reading: Reading, pointed: Mapping[int, Pointed], units: Seq[_Unit]) -> list[AnswerCandidate]:
    asked = words.without_endings(reading.plan.query)
    found = []
    for index, run in ((index, run) for index, one in pointed.items() for run in one.runs):
        document = reading.plan.documents[reading.plan.segments[index].segment.document]
        of = (unit.lacks for unit in units if unit.index == index and unit.start <= run.start < unit.end)
        start, end = whole_value(document.text, run.start, run.end)
        echo = _echo(document.text[start:end], asked)
        terms = Terms(_passage(reading, index), -next(of, 0.0), run.logprob, echo)
        found.append(AnswerCandidate(index, document, start, end, terms))
    return found


def _echo(text: str, asked: set[str]) -> float:
    own = words.without_endings(text)
    return len(own & asked) / len(own) if own else 0.0


def _units(reading: Reading, used: Seq[int]) -> list[_Unit]:
    """Returns the sentences, items and rows of the passages that were read, with the points of the question's words
    that each lacks."""
    plan = reading.plan
    spans, held = [], []
    for index in sorted({*used, *reading.ranking.known}):
        segment = plan.segments[index].segment
        of = rows(plan.documents[segment.document])
        first = bisect_left(of, segment.start, key=lambda row: row.cells[0][0])
        last = bisect_left(of, segment.end, key=lambda row: row.cells[0][0])
        starts = {row.cells[0][0]: row for row in of[first:last]}
        for left, right, there in unit_words(segment.text):
            start, end = segment.start + left, segment.start + right
            spans.append((index, start, end, next((row for at, row in starts.items() if start <= at < end), None)))
            held.append(there)
    points = words.rarity(held, words.without_endings(plan.query))
    most = max(points, default=0.0)
    return [_Unit(*span[:3], most - own, span[3]) for span, own in zip(spans, points, strict=True)]


def _passage(reading: Reading, index: int) -> float:
    return log(max(reading.ranking.relevance(index), _LEAST))
