"""The judgement: the candidates, whether the documents answer at all, and the kind of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from math import exp, log

from wim_edge import words
from wim_edge.answer.candidates import AnswerCandidate, candidates_of
from wim_edge.answer.quotes import margin_quotes, quote_at
from wim_edge.documents.units import column, rows, siblings
from wim_edge.reading import events
from wim_edge.reading.plan import source_label
from wim_edge.reading.pointing import Pointed
from wim_edge.reading.reading import Reading
from wim_edge.support import ANSWERED, NOT_FOUND, Evidence

_NEAR = 0.08  # a list's item from another passage has at least this share of the best candidate's probability
_LIKELY, _ALIKE = -1.0, 1.5  # nats: cells that answer alike have at least this log P, and scores at most so far apart
_VERDICT = log(0.2)  # a question asks for yes or no if P(Yes or No) is above this


@dataclass(frozen=True)
class Judged:
    """The outcome of a reading for a question, before anything is written."""

    candidates: tuple[AnswerCandidate, ...] = ()
    """The best first."""
    items: tuple[AnswerCandidate, ...] = ()
    """The items in their order, if the answer is a list."""
    verdict: str = ""
    """Yes or No, if the question asks for one."""
    quotes: tuple[events.Quote, ...] = ()
    """The best candidate's quotation first."""
    evidence: Evidence | None = None
    support: float | None = None
    """0 to 1; None if the scores are not in nats."""
    share: float = 1.0
    """P(this is the answer | there is one)."""

    @property
    def short(self) -> str:
        """The answer in a few words of the text; empty if the model points at nothing."""
        return self.candidates[0].text if self.candidates else ""

    @property
    def span(self) -> events.Chars | None:
        return (self.candidates[0].start, self.candidates[0].end) if self.candidates else None

    @property
    def confidence(self) -> float | None:
        """P(the answer is right): it is there, and it is this one; None if the scores are not in nats."""
        return None if self.support is None else self.support * self.share

    @property
    def status(self) -> events.AnswerStatus:
        """The outcome; an answer is sure if it is likely right."""
        support = 1.0 if self.support is None else self.support
        return "unsure" if support >= ANSWERED > support * self.share else status_of(support)


def status_of(support: float) -> events.AnswerStatus:
    return "not_found" if support < NOT_FOUND else "unsure" if support < ANSWERED else "answered"


def judge(reading: Reading, used: Seq[int], *, alone: bool = True) -> Judged:
    """Returns the judgement on the passages ``used``, given by segment number.

    ``alone``: table rows are read alone for it; False: nothing is evaluated. Raises Interrupted.
    """
    found = reading.pointed_at(used)
    candidates, row_answers = candidates_of(reading, used, alone=alone)
    in_nats = reading.relevance is not None and reading.relevance.scores_in_nats
    evidence = evidence_of(reading, found, used, row_answers) if in_nats else None
    support = reading.support.support(evidence) if evidence else None
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
    evidence = replace(evidence, share=share) if evidence else None
    return Judged(candidates, items, verdict, quotes, evidence, support, share)


def evidence_of(
    reading: Reading, found: Mapping[int, Pointed], used: Seq[int], row_answers: float | None
) -> Evidence:
    """Returns the evidence that the passages in ``found``, or else ``used``, hold an answer.

    ``row_answers``: the adapter's log-odds for the best row that was read alone.
    """
    passages = list(found) or list(used)
    odds = [pointed.answers for pointed in found.values()] + ([] if row_answers is None else [row_answers])
    answers = max(odds, default=0.0) if reading.model.has_adapter else 0.0
    runs = [pointed.runs[0].logprob for pointed in found.values() if pointed.runs]
    scores = [reading.ranking.scores[index] for index in passages if index in reading.ranking.scores]
    texts = [reading.plan.segments[index].text for index in passages]
    spans = [reading.plan.segments[index].segment for index in passages]
    texts += [source_label(reading.plan.documents[one.document], one.start, one.end, several=False) for one in spans]
    missing = words.missing(texts, reading.plan.query)
    return Evidence(max(scores, default=0.0), answers, max(runs, default=0.0), missing)


def _asks_for_verdict(found: Mapping[int, Pointed], best: AnswerCandidate) -> bool:
    """Returns whether Yes or No is likelier after the best passage than the best candidate."""
    pointed = found.get(best.index)
    return pointed is not None and pointed.verdict > max(_VERDICT, best.terms.run)


def _probability_of_yes(reading: Reading, found: Mapping[int, Pointed]) -> float:
    """Returns P(Yes), averaged over the passages by relevance; 0.5 without any."""
    weights = {index: reading.ranking.relevance(index) for index in found}
    total = sum(weights.values())
    yes = sum(weights[index] / (1 + exp(-pointed.yes)) for index, pointed in found.items())
    return yes / total if total else 0.5


def _items(reading: Reading, candidates: Seq[AnswerCandidate], found: Mapping[int, Pointed]) -> list[AnswerCandidate]:
    """Returns the items if the answer is a list, else none.

    By itself ("auto") an answer is a list if the best candidate introduces one, or if cells answer alike. Where a list
    is wanted, its items are the best candidate's siblings; or the cells of its column whose rows share most words with
    the question; or the best candidate of each passage.
    """
    best, text = candidates[0], candidates[0].document.text
    around = siblings(text, best.start, best.end)
    introduces = bool(around) and not any(start <= best.start < end for start, end in around)
    if reading.kind != "list" and not (reading.kind == "auto" and introduces):
        return _alike(candidates) if reading.kind == "auto" else []
    cells = around or column(rows(best.document), best.start)
    if cells:
        asked = words.without_endings(reading.plan.query)
        missed = words.missed_points([words.without_endings(_line(text, *cell)) for cell in cells], asked)
        chosen = [cell for cell, lost in zip(cells, missed, strict=True) if not lost]
        chosen = chosen if len(chosen) > 1 else cells
        return [AnswerCandidate(best.index, best.document, *cell, best.terms, share=best.share) for cell in chosen]
    answering = {index for index, pointed in found.items() if pointed.answers > 0 or not reading.model.has_adapter}
    each: dict[str, AnswerCandidate] = {}
    for one in candidates:
        is_near = one.index in answering and one.share >= _NEAR * best.share
        if is_near and one.index not in {other.index for other in each.values()}:
            each.setdefault(one.text.casefold(), one)
    several = sorted(each.values(), key=lambda one: (one.index, one.start))
    return several if len(several) > 1 else []


def _alike(candidates: Seq[AnswerCandidate]) -> list[AnswerCandidate]:
    """Returns the cells of the best candidate's column that the question's words and the model don't tell from it."""
    best = candidates[0]
    cells = {cell[0] for cell in column(rows(best.document), best.start)} if best.row is not None else set()
    found = [
        one for one in candidates
        if one.document is best.document and one.start in cells and one.terms.words == best.terms.words
        and min(one.row or 0.0, best.row or 0.0) > 0
        and one.terms.run > _LIKELY and one.terms.score > best.terms.score - _ALIKE
    ]  # fmt: skip
    different = {one.text: one for one in reversed(found)}.values()
    return sorted(different, key=lambda one: one.start) if len(different) > 1 else []


def _line(text: str, start: int, end: int) -> str:
    stop = text.find("\n", end)
    return text[text.rfind("\n", 0, start) + 1 : stop if stop >= 0 else len(text)]
