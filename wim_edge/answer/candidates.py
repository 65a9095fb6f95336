"""Candidate answers: words of the passages, each with one score in nats, the weighted sum of its terms, which
docs/how-it-works.md explains and `--explain` prints. `run` of a cell is log P(the cell | its row). Pointing takes off
what question words are missed: they count twice, and the weights were fitted so. The probabilities of candidates
with equal words in several passages add up.

Likely rows of tables, and the paragraph of the best run, are read again alone. A small model confuses rows and columns
of a whole table, but finds the right cell of a single row that has its labels. A model without an adapter may point at
a neighbouring name or number; less text around the answer helps (docs/choices.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence as Seq
from dataclasses import asdict, astuple, dataclass, replace
from math import exp, inf, log

from wim_edge import words
from wim_edge.documents import Document, Segment, sentences
from wim_edge.documents.tables import Table, tables_within
from wim_edge.documents.units import Row, lists_within, rows_within, unit_spans, whole_value
from wim_edge.reading import events
from wim_edge.reading.plan import source_label
from wim_edge.reading.pointing import Pointed, RowRead
from wim_edge.reading.reading import Reading
from wim_edge.support import sigmoid

_WORD = re.compile(r"\w+")
_LEAST = 1e-6
MAX_ROWS = 6  # the most rows that are read alone, of about 60 tokens each
_INTRODUCES, _LESS = 3.0, 2.0  # nats: an introduction without its list seldom seems to answer (docs/choices.md)
_ABOUT = 0.25  # the least share of the points that a sentence on a change has of those of the sentence it changes
_LONGEST = 600  # the most characters read of a row or a list


@dataclass(frozen=True)
class Terms:
    """The terms of a candidate's score, or the weights of the terms (docs/how-it-works.md)."""

    passage: float
    words: float
    run: float
    echo: float
    label: float = 0.0

    @property
    def score(self) -> float:
        return float(sum(weight * value for weight, value in zip(astuple(WEIGHTS), astuple(self), strict=True)))


WEIGHTS = Terms(passage=1.0, words=0.3, run=0.5, echo=-2.0, label=1.5)
"""The weights of the terms, chosen on the choosing parts; nearby weights change little (docs/choices.md)."""


@dataclass(frozen=True)
class AnswerCandidate:
    """A candidate answer: characters ``[start, end)`` of a document, in the passage of segment ``index``."""

    index: int
    document: Document
    start: int
    end: int
    terms: Terms
    row: float | None = None
    """The log-odds that the cell's row answers; None if the candidate is no cell of a row that was read alone."""
    share: float = 0.0
    """P(these words are the answer | one of the candidates is the answer)."""

    @property
    def text(self) -> str:
        return " ".join(self.document.text[self.start : self.end].split())

    @property
    def shown(self) -> events.ScoredWords:
        """The candidate as `events.AnswerFinished` lists it."""
        chars, place = (self.start, self.end), source_label(self.document, self.start, self.end, True, lines=True)
        told = self.text, self.document.name, chars, self.share, self.terms.score, asdict(self.terms)
        return events.ScoredWords(*told, self.row is not None, place)


@dataclass(frozen=True)
class _Unit:
    """A sentence, list item or row. ``passage``: log P(its passage answers); ``missed``: its `words.missed_points`."""

    index: int
    start: int
    end: int
    row: Row | None
    passage: float
    missed: float


def candidates_of(
    reading: Reading, used: Seq[int], *, alone: bool = True
) -> tuple[tuple[AnswerCandidate, ...], float | None, float]:
    """Returns (candidates, best first; the highest log-odds of a row read alone, or None; the question's points).

    Candidates are the runs that the model points at in the segments ``used``, and the cells of the best rows of any
    segment. ``alone``: True reads these rows, and a paragraph, alone; False evaluates nothing. Raises Interrupted.
    """
    units, pointed = _units(reading, used, unread=alone), reading.pointed_at(used)
    found, points = _runs(reading, pointed, units), max((unit.missed for unit in units), default=0.0)
    if not alone:
        return _ordered(found), None, points
    if found and not reading.model.has_adapter:
        best = _ordered(found)[0]
        room = reading.free_cells - reading.plan.reserved
        again = reading.writer.point_again(best.index, best.start, best.end, room)
        found = _runs(reading, {**pointed, best.index: again}, units) if again and again.runs else found
    best_first = sorted(units, key=lambda unit: -Terms(unit.passage, -unit.missed, 0.0, 0.0).score)
    near = [(unit, unit.row) for unit in best_first if unit.row][:MAX_ROWS]
    reads = [*zip(near, reading.read_rows([(one.index, row) for one, row in near], _LONGEST), strict=False)]
    found += [cell for (unit, _), read in reads for cell in _cells(reading, unit, read)]
    if found and reading.model.has_adapter:
        found += _runs(reading, _elsewhere(reading, _ordered(found)[0], pointed, units, points), units)
    return _ordered(found), max((read.answers for _, read in reads), default=None), points


def is_about(missed: float, of: AnswerCandidate, points: float) -> bool:
    """Returns whether a sentence that misses ``missed`` of the question's ``points`` has much of what ``of`` has."""
    return points - missed > _ABOUT * (points + of.terms.words)


def _elsewhere(
    reading: Reading, best: AnswerCandidate, pointed: Mapping[int, Pointed], units: Seq[_Unit], points: float
) -> dict[int, Pointed]:
    """Returns {segment: what the model points at} of a paragraph, read alone, that was not chosen but has a sentence
    with the best candidate's words and words of the question: it may say that they changed."""
    said, text = f" {key(best.text)} ", best.document.text
    known = {at for at in reading.ranking.known if at not in pointed and reading.ranking.verdicts.get(at) is not False}
    near = (one for one in units if one.row is None and one.index in known and is_about(one.missed, best, points))
    own = (one for one in near if reading.plan.document_of(one.index) is best.document)
    holding = [one for one in own if said in f" {key(text[one.start : one.end])} "]
    if best.row is not None or not holding:
        return {}
    likely, room = min(holding, key=lambda unit: unit.missed), reading.free_cells - reading.plan.reserved
    again = reading.writer.point_again(likely.index, likely.start, likely.end, room, most=1)
    return {likely.index: again} if again and again.runs else {}


def _runs(reading: Reading, pointed: Mapping[int, Pointed], units: Seq[_Unit]) -> list[AnswerCandidate]:
    asked = words.without_endings(reading.plan.query)
    found = []
    for index, run in ((index, run) for index, one in pointed.items() for run in one.runs):
        document = reading.plan.document_of(index)
        at = (unit for unit in units if unit.index == index and unit.start <= run.start < unit.end)
        passage, missed = next(((unit.passage, unit.missed) for unit in at), (_passage(reading, index), 0.0))
        start, end = whole_value(document.text, run.start, run.end)
        terms = Terms(passage, -missed, run.logprob, _echo(document.text[start:end], asked))
        found.append(AnswerCandidate(index, document, start, end, terms))
    return found


def _cells(reading: Reading, unit: _Unit, read: RowRead) -> Iterator[AnswerCandidate]:
    row, asked = read.row, words.without_endings(reading.plan.query)
    left = asked - words.without_endings(" ".join(row.texts))
    for n, rated in read.cells:
        label = len(words.without_endings(row.labels[n]) & left)
        terms = Terms(unit.passage, -unit.missed, rated, _echo(row.texts[n], asked), label)
        yield AnswerCandidate(unit.index, reading.plan.document_of(unit.index), *row.cells[n], terms, row=read.answers)


def _ordered(found: Seq[AnswerCandidate]) -> tuple[AnswerCandidate, ...]:
    """Returns the candidates with their ``share`` set, best first. Of several at one place, keeps the best."""
    places: dict[tuple[int, int, int], AnswerCandidate] = {}
    for one in sorted(found, key=lambda one: -one.terms.score):
        places.setdefault((one.index, one.start, one.end), one)
    share = shares((one.text, one.terms.score) for one in places.values())
    shared = [replace(one, share=share[key(one.text)]) for one in places.values()]
    return tuple(sorted(shared, key=lambda one: (-one.share, -one.terms.score)))


def shares(scored: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Returns {`key` of a text: probability}: the softmax over pairs (text, score in nats), summed for equal keys."""
    pairs, total = list(scored), dict[str, float]()
    best = max((score for _, score in pairs), default=0.0)
    for text, score in pairs:
        total[key(text)] = total.get(key(text), 0.0) + exp(score - best)
    whole = sum(total.values())
    return {text: own / whole for text, own in total.items()}


def key(text: str) -> str:
    """Returns a text's words without case and punctuation. Texts with equal keys are the same answer."""
    return " ".join(_WORD.findall(text.casefold())) or text


def _echo(text: str, asked: set[str]) -> float:
    own = words.without_endings(text)
    return len(own & asked) / len(own) if own else 0.0


def _units(reading: Reading, used: Seq[int], *, unread: bool) -> list[_Unit]:
    """Returns the sentences, items and rows of the segments ``used`` and of all scored segments.

    All rows of a table get the relevance of its best segment. ``unread``: True adds the rows in unread segments, too.
    """
    plan, own = reading.plan, {index: _passage(reading, index) for index in {*used, *reading.ranking.known}}
    spans, held, best, verdicts = [], [], dict[tuple[int, Table], float](), reading.ranking.verdicts
    for index, passage in own.items():
        for at in _tables(plan.segments[index].segment, plan.document_of(index)):
            best[at] = max(passage, best.get(at, -inf))
    for index in range(len(plan.segments)) if unread else sorted(own):
        document, segment = plan.document_of(index), plan.segments[index].segment
        parts = [at for at in _tables(segment, document) if at in best and verdicts.get(index) is not False]
        for left, right in unit_spans(segment.text) if index in own or parts else ():
            start, end = segment.start + left, segment.start + right
            row = next(iter(rows_within(document, start, end)), None)
            relevance = next((best[at] for at in parts if row and row.table == at[1]), own.get(index))
            if relevance is not None:
                spans.append((index, start, end, row, relevance))
                held.append((words.with_pairs if row else words.without_endings)(segment.text[left:right]))
    missed = words.missed_points(held, words.with_pairs(plan.query))
    return [_Unit(*span, lost) for span, lost in zip(spans, missed, strict=True)]


def _tables(segment: Segment, document: Document) -> list[tuple[int, Table]]:
    """Returns (document number, table) for each table with a part in the segment."""
    return [(segment.document, table) for table in tables_within(document.text, segment.start, segment.end)]


def _passage(reading: Reading, index: int) -> float:
    return log(max(reading.ranking.relevance(index), _LEAST))


def introduced(reading: Reading) -> tuple[AnswerCandidate, ...]:
    """Returns the items of the list whose introduction (its section's heading and the sentence above), read alone, is
    likeliest to answer. ``share`` of each: P(the list is the answer). Empty without an adapter, a list, or room in the
    context, or if the question is likelier after the best passage than after the list. Raises Interrupted."""
    plan, relevance, tokenize = reading.plan, reading.relevance, reading.model.tokenize
    if relevance is None or not (relevance.uses_outlook and reading.model.has_adapter):
        return ()
    asked, found = words.without_endings(plan.query), []
    for index in sorted(reading.ranking.known):
        document, (first, last) = plan.document_of(index), plan.segments[index].chars
        for (start, end), items in lists_within(document, first, last):
            above, section = document.text[start:end], document.section(items[0][0]) or ""
            sentence = above[sentences(above)[-1][0] :] if above else ""
            text = sentence if section in sentence else f"{section}\n{sentence}"
            found.append((_passage(reading, index), index, items, text[-_LONGEST:]))
    best_first = sorted(found, key=lambda one: (-one[0], -len(asked & words.without_endings(one[-1]))))[:MAX_ROWS]
    forks = reading.alone([tokenize(one[-1]) for one in best_first])
    read = [(reading.writer.pointer.log_odds(fork.logits), one) for fork, one in zip(forks, best_first, strict=False)]
    if not read:
        return ()
    best, (passage, index, items, text) = max(read, key=lambda pair: pair[0])
    document = plan.document_of(index)
    whole = [*plan.prefix, *tokenize(f"{text}\n{document.text[items[0][0] : items[-1][1]][:_LONGEST]}")]
    if len(whole) + plan.reserved > reading.free_cells:
        return ()
    with reading.context.sequence() as sequence, reading.clock.stage("answer"):
        sequence.append(whole)
        if relevance.gain(sequence) < max(reading.ranking.scores.values()) - _LESS:
            return ()
    share = sigmoid(best + _INTRODUCES) / sum(exp(odds - best) for odds, _ in read)
    return tuple(AnswerCandidate(index, document, *item, Terms(passage, 0, 0, 0), share=share) for item in items)
