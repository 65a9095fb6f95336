"""The judgement: the candidates with their scores, whether the documents answer at all, and the kind of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from math import exp, log

from wim_edge import words
from wim_edge.answer.candidates import AnswerCandidate, candidates_of
from wim_edge.answer.quotes import margin_quotes, quote_at
from wim_edge.documents.units import column, rows, siblings
from wim_edge.reading import events
from wim_edge.reading.pointing import Pointed
from wim_edge.reading.reading import Reading
from wim_edge.support import ANSWERED, NOT_FOUND, Evidence

_NEAR = 0.08
"""The share of the likeliest candidate's probability from which another passage's words are an item of a list, too."""
_LIKELY, _ALIKE = -1.0, 1.5
"""The least log-probability of a cell that answers beside another one, and the nats between their scores."""
_VERDICT = log(0.2)
"""The least log-probability of Yes or No, in nats, with which a question asks for one."""


@dataclass(frozen=True)
class Judged:
    """The outcome of a reading for a question, before anything is written."""

    candidates: tuple[AnswerCandidate, ...] = ()
    """The words that may answer, the likeliest first."""
    items: tuple[AnswerCandidate, ...] = ()
    """The items of a list, in their order, if the answer is one."""
    verdict: str = ""
    """Yes or No, if the question asks for one."""
    quotes: tuple[events.Quote, ...] = ()
    """The quotations, that of the likeliest words first."""
    evidence: Evidence | None = None
    support: float | None = None
    """The support, 0 to 1; None if the scores are not in nats."""
    share: float = 1.0
    """The probability that this is the answer, given that there is one."""

    @property
    def short(self) -> str:
        """The answer in a few words of the text; empty if nothing was pointed at."""
        return self.candidates[0].text if self.candidates else ""

    @property
    def span(self) -> events.Chars | None:
        return (self.candidates[0].start, self.candidates[0].end) if self.candidates else None

    @property
    def status(self) -> events.AnswerStatus:
        """The outcome: an answer that is likely there is sure if it is likely the right one, too."""
        support = 1.0 if self.support is None else self.support
        status = status_of(support)
        return "unsure" if status == "answered" and support * self.share < ANSWERED else status


def status_of(support: float) -> events.AnswerStatus:
    """Returns the status of an answer with this support."""
    return "not_found" if support < NOT_FOUND else "unsure" if support < ANSWERED else "answered"


def judge(reading: Reading, used: Seq[int], *, alone: bool = True) -> Judged:
    """Returns what the model makes of the passages, by their numbers.

    ``alone``: rows of tables are read alone for it; False: nothing is evaluated. Raises Interrupted.
    """
    found = reading.pointed_at(used)
    looked = candidates_of(reading, used, alone=alone)
    evidence = evidence_of(reading, found, used, looked.answers) if is_in_nats(reading) else None
    support = reading.support.support(evidence) if evidence else None
    candidates = looked.found
    if not candidates:
        return Judged(evidence=evidence, support=support, quotes=margin_quotes(reading, used))
    best, verdict = candidates[0], ""
    if reading.kind == "yesno" or (reading.kind == "auto" and _asks_for_verdict(found, best)):
        yes = _probability_of_yes(reading, found)
        verdict, share = "Yes" if yes > 0.5 else "No", max(yes, 1 - yes)
        items: tuple[AnswerCandidate, ...] = ()
    else:
        items = tuple(_items(reading, candidates, found))
        share = 1.0 if reading.kind == "list" and items else best.share
    others = margin_quotes(reading, [index for index in used if index != best.index])
    quotes = (quote_at(reading, best.index, best.start, best.end), *others)
    return Judged(candidates, items, verdict, quotes, evidence, support, share)


def is_in_nats(reading: Reading) -> bool:
    return reading.relevance is not None and reading.relevance.scores_in_nats


def evidence_of(
    reading: Reading, found: Mapping[int, Pointed], used: Seq[int], of_rows: float | None = None
) -> Evidence:
    """Returns the evidence that the passages pointed into, or ``used`` where none is, hold an answer. ``of_rows``: the
    adapter's log-odds that a row answers, of the likeliest one that was read alone."""
    passages = list(found) or list(used)
    told = [pointed.answers for pointed in found.values()] + ([] if of_rows is None else [of_rows])
    answers = max(told, default=0.0) if reading.model.has_adapter else 0.0
    runs = [pointed.runs[0].logprob for pointed in found.values() if pointed.runs]
    scores = [reading.ranking.scores[index] for index in passages if index in reading.ranking.scores]
    missing = words.missing([reading.plan.segments[index].text for index in passages], reading.plan.query)
    return Evidence(max(scores, default=0.0), answers, max(runs, default=0.0), missing)


# Yes or no


def _asks_for_verdict(found: Mapping[int, Pointed], best: AnswerCandidate) -> bool:
    """Tells whether the model would rather say Yes or No of the best passage than point at the likeliest words."""
    pointed = found.get(best.index)
    return pointed is not None and pointed.verdict > max(_VERDICT, best.terms.run)


def _probability_of_yes(reading: Reading, found: Mapping[int, Pointed]) -> float:
    """Returns the probability of Yes over the passages, by the probability that each answers; a half without any."""
    weights = {index: reading.ranking.relevance(index) for index in found}
    total = sum(weights.values())
    yes = sum(weights[index] / (1 + exp(-pointed.yes)) for index, pointed in found.items())
    return yes / total if total else 0.5


# Lists


def _items(reading: Reading, candidates: Seq[AnswerCandidate], found: Mapping[int, Pointed]) -> list[AnswerCandidate]:
    """Returns the items if the answer is a list: those that the likeliest words introduce, or cells that answer alike;
    where a list is wanted, those among which they stand, the cells of their column whose rows have most of the
    question's words, or else the likeliest words of each passage."""
    best, text = candidates[0], candidates[0].document.text
    around = siblings(text, best.start, best.end)
    introduces = bool(around) and not any(start <= best.start < end for start, end in around)
    if reading.kind != "list" and not (reading.kind == "auto" and introduces):
        return _alike(candidates) if reading.kind == "auto" else []
    cells = around or column(rows(best.document), best.start)
    if cells:
        asked = words.without_endings(reading.plan.query)
        points = words.rarity([words.without_endings(_line(text, *cell)) for cell in cells], asked)
        chosen = [cell for cell, own in zip(cells, points, strict=True) if own == max(points)]
        chosen = chosen if len(chosen) > 1 else cells
        return [AnswerCandidate(best.index, best.document, *cell, best.terms, share=best.share) for cell in chosen]
    told = {index for index, pointed in found.items() if pointed.answers > 0 or not reading.model.has_adapter}
    each: dict[str, AnswerCandidate] = {}
    for one in candidates:
        is_near = one.index in told and one.share >= _NEAR * best.share
        if is_near and one.index not in {other.index for other in each.values()}:
            each.setdefault(one.text.casefold(), one)
    several = sorted(each.values(), key=lambda one: (one.index, one.start))
    return several if len(several) > 1 else []


def _alike(candidates: Seq[AnswerCandidate]) -> list[AnswerCandidate]:
    """Returns the cells of one column that answer about as well as the first one: the question tells their rows apart
    neither by its words nor for the model."""
    best = candidates[0]
    cells = {cell[0] for cell in column(rows(best.document), best.start)} if best.row is not None else set()
    found = [
        one for one in candidates
        if one.document is best.document and one.start in cells and one.terms.words == best.terms.words
        and min(one.row or 0.0, best.row or 0.0) > 0
        and one.terms.run > _LIKELY and one.terms.score > best.terms.score - _ALIKE
    ]  # fmt: skip
    return sorted(found, key=lambda one: one.start) if len({one.text for one in found}) > 1 else []


def _line(text: str, start: int, end: int) -> str:
    stop = text.find("\n", end)
    return text[text.rfind("\n", 0, start) + 1 : stop if stop >= 0 else len(text)]
