"""The judgement: the candidates, whether the documents answer at all, and the kind of the answer.

This module also builds the answer that needs no writer: the best candidate, yes or no, or a list, with its quotation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence as Seq
from dataclasses import dataclass, replace
from math import log

from wim_edge import words
from wim_edge.answer.candidates import AnswerCandidate, candidates_of, introduced, is_about, key
from wim_edge.answer.quotes import format_quotes, margin_quotes, quote, quote_at
from wim_edge.documents.tables import header_above, shape_of
from wim_edge.documents.units import INTRODUCES, ITEM, column, lists, rows, siblings
from wim_edge.reading import events
from wim_edge.reading.plan import source_label
from wim_edge.reading.pointing import Pointed
from wim_edge.reading.quotation import on_one_line
from wim_edge.reading.reading import Reading
from wim_edge.support import ANSWERED, NOT_FOUND, Evidence, sigmoid

UNSURE, NOT_SAID, MAY_NOT_SAY = "Perhaps: ", "The text does not seem to say.", "The text may not say this."
ROW_TELLS = "This row may tell."
NOT_SO_FAR = "What was checked so far does not seem to say."
_HARDLY = 0.1  # support below which even the nearest passage hardly answers
_LONG = 8  # a short answer of this many words or more is shown only in its quotation
_NEAR = 0.08  # a list's item from another passage has at least this share of the best candidate's probability
_AS_LIKELY = 0.2  # another passage's answer with this share may be right instead
_BESIDE = (2.0, 3.0)  # nats: in a sentence on a change, new words, or figures, score at most this less than old ones
_LIKELY, _ALIKE = -1.0, 1.5  # nats: cells that answer alike have at least this log P, and scores less than this apart
_QUOTED = 100  # the most items of a list that are quoted with their place
_VERDICT = log(0.2)  # a question asks for yes or no if P(Yes or No) is above this


@dataclass(frozen=True)
class Judged:
    """The judgement on a question: the outcome of its reading, before anything is written."""

    candidates: tuple[AnswerCandidate, ...] = ()
    """The candidate answers, best first."""
    items: tuple[AnswerCandidate, ...] = ()
    """The items in the text's order, if the answer is a list."""
    verdict: str = ""
    """Yes or No, if the question asks for one."""
    quotes: tuple[events.Quote, ...] = ()
    """The best candidate's quotation, then the margins of the other passages."""
    evidence: Evidence | None = None
    support: float | None = None
    """P(the documents contain an answer); None if the scores are not in nats."""
    share: float = 1.0
    """P(the best candidate, the list or the verdict is the answer | the documents contain an answer)."""
    other: AnswerCandidate | None = None
    """Another passage's answer, about as likely, or the one that the best candidate changes, such as an old price; it
    is quoted second. None without one."""
    is_confirmed: bool = False
    """True if a writer is sure of the verdict: the judge alone is not reliable on yes or no (docs/choices.md)."""

    @property
    def short(self) -> str:
        """The answer in a few words of the text; empty if the model points at nothing."""
        return self.candidates[0].text if self.candidates else ""

    @property
    def confidence(self) -> float | None:
        """P(the answer is right), support times share; None if the scores are not in nats."""
        return None if self.support is None else self.support * self.share

    @property
    def status(self) -> events.AnswerStatus:
        """The status of the answer. "answered" needs enough confidence, no `other`, and a confirmed verdict."""
        support = 1.0 if self.support is None else self.support
        is_doubted = self.other is not None or (self.verdict and not self.is_confirmed)
        is_sure = support * self.share >= ANSWERED and not is_doubted
        return "unsure" if support >= ANSWERED and not is_sure else status_of(support)


@dataclass(frozen=True)
class Answer:
    """The parts of an answer; `events.AnswerFinished` describes them."""

    text: str = ""
    status: events.AnswerStatus = "answered"
    short: str = ""
    span: events.Chars | None = None
    quotes: tuple[events.Quote, ...] = ()
    support: float | None = None
    unsupported: tuple[str, ...] = ()
    evidence: Evidence | None = None
    candidates: tuple[AnswerCandidate, ...] = ()
    confidence: float | None = None
    is_written: bool = False
    """True if the text is in the model's own words."""
    query: str = ""
    """The query on a table that found the answer."""


def status_of(support: float) -> events.AnswerStatus:
    return "not_found" if support < NOT_FOUND else "unsure" if support < ANSWERED else "answered"


def judge(reading: Reading, used: Seq[int], *, alone: bool = True) -> Judged:
    """Returns the judgement on the passages ``used`` (segment numbers). ``alone``: True also reads likely rows and a
    paragraph alone (`candidates_of`); False evaluates nothing. Raises Interrupted."""
    found = reading.pointed_at(used)
    candidates, row_answers, points = candidates_of(reading, used, alone=alone)
    in_nats = reading.relevance is not None and reading.relevance.scores_in_nats
    evidence = evidence_of(reading, found, used, row_answers) if in_nats else None
    support = reading.support.support(evidence) if evidence else None
    if not candidates:
        return Judged(evidence=evidence, support=support, quotes=margin_quotes(reading, used))
    best, verdict, items = candidates[0], "", tuple[AnswerCandidate, ...]()
    pointed = found.get(best.index) if reading.kind == "auto" else None
    if reading.kind == "yesno" or (pointed and pointed.verdict > max(_VERDICT, best.terms.run)):
        yes = _probability_of_yes(reading, found)
        verdict, share = "Yes" if yes > 0.5 else "No", max(yes, 1 - yes)
    else:
        items = tuple(_items(reading, candidates, found))
        share = best.share
        if reading.kind == "list" and len({item.index for item in items}) == 1:  # of several passages, some may lack
            its = [one for one in candidates if any(item.start <= one.start < item.end for item in items)]
            share = sum({key(one.text): one.share for one in (best, *its) if one.document is best.document}.values())
        elif reading.kind == "auto" and any(item.document is not best.document for item in items):
            share = min(item.share for item in items)
    if alone and support is not None and support >= NOT_FOUND and reading.kind in ("auto", "list") and not verdict:
        listed = introduced(reading)
        if listed and listed[0].share > max(NOT_FOUND, support * share):
            best, items, share = listed[0], listed, listed[0].share
    other = None
    if reading.model.has_adapter and not items and not verdict:
        best, other = _changed(reading, candidates, points) or (best, _other(candidates, found))
        share = share if best is candidates[0] else min(share, 0.5)  # which one holds, the judge cannot tell
        candidates = (best, *(one for one in candidates if one is not best))
    shown = [best, other] if other else [best]
    others = margin_quotes(reading, [index for index in used if all(index != one.index for one in shown)])
    quotes = (*(quote_at(reading, one.index, one.start, one.end) for one in shown), *others)
    evidence = replace(evidence, share=share) if evidence else None
    return Judged(candidates, items, verdict, quotes, evidence, support, share, other)


def _changed(reading: Reading, candidates: Seq[AnswerCandidate], points: float) -> Seq[AnswerCandidate]:
    """Returns (newer, older) if one sentence has the best candidate's words and others that may answer, and another
    sentence has the former alone: "The fee is 20 euros" and "It is raised from 20 to 30 euros". Else ()."""
    old = key(candidates[0].text)
    has_figures = any(map(str.isdigit, old))
    prose = [one for one in candidates if one.row is None and any(map(str.isdigit, one.text)) == has_figures]
    quotes = ((one, quote_at(reading, one.index, one.start, one.end)) for one in prose)
    said = [(one, key(one.text), f" {key(quoted.text)} ") for one, quoted in quotes if not quoted.header]
    names = [(one, text) for one, own, text in said if own in old and 2 * len(own) >= len(old)]
    for newer, own, text in said if candidates[0].row is None else ():
        is_alike = not has_figures or shape_of(own) == shape_of(old) or {*own.split()} & {*old.split()}
        beside = [one.terms.score for one, other in names if other == text]
        others = [one for one, other in names if f" {own} " not in other and is_about(-newer.terms.words, one, points)]
        is_near = others and beside and newer.terms.score > max(beside) - _BESIDE[has_figures]
        if is_near and is_alike and own not in old and old not in own:
            return newer, others[0]
    return ()


def _other(candidates: Seq[AnswerCandidate], found: Mapping[int, Pointed]) -> AnswerCandidate | None:
    """Returns the likeliest candidate of another passage, if both passages answer, and differently; else None."""
    best, said = candidates[0], key(candidates[0].text)
    answering = [one for one in candidates if one.row is None and one.index in found and found[one.index].answers > 0]
    likely = [one for one in answering if one.index != best.index and one.share >= _AS_LIKELY]
    others = [one for one in likely if key(one.text) not in said and said not in key(one.text)]
    return others[0] if others and answering[0] is best else None


def evidence_of(reading: Reading, found: Mapping[int, Pointed], used: Seq[int], row_answers: float | None) -> Evidence:
    """Returns the evidence that the passages ``found`` contain an answer; if ``found`` is empty, the passages ``used``.
    ``row_answers``: the adapter's log-odds for the best row that was read alone; None: no row was read alone."""
    plan, passages = reading.plan, list(found) or list(used)
    odds = [pointed.answers for pointed in found.values()] + ([] if row_answers is None else [row_answers])
    answers = max(odds, default=0.0) if reading.model.has_adapter else 0.0
    runs = [pointed.runs[0].logprob for pointed in found.values() if pointed.runs]
    scores = [reading.ranking.scores[index] for index in passages if index in reading.ranking.scores]
    places = (source_label(plan.document_of(index), *plan.segments[index].chars, several=False) for index in passages)
    missing = words.missing([*places, *(plan.segments[index].text for index in passages)], plan.query)
    return Evidence(max(scores, default=0.0), answers, max(runs, default=0.0), missing)


def _probability_of_yes(reading: Reading, found: Mapping[int, Pointed]) -> float:
    """Returns P(the answer is Yes): the mean over the passages ``found``, weighted by relevance; 0.5 without any."""
    weights = {index: reading.ranking.relevance(index) for index in found}
    total = sum(weights.values())
    yes = sum(weights[index] * sigmoid(pointed.yes) for index, pointed in found.items())
    return yes / total if total else 0.5


def _items(reading: Reading, candidates: Seq[AnswerCandidate], found: Mapping[int, Pointed]) -> list[AnswerCandidate]:
    """Returns the items of a list, if the answer is one; else an empty list.

    With "auto", the answer is a list if the best candidate introduces one, cells answer alike, or documents answer
    differently (an item each). The items are those of the best candidate's list or column; if several lines there have
    the most question words, only those lines. Without a list or column, the best candidate of each passage is an item.
    """
    best, text = candidates[0], candidates[0].document.text
    around = siblings(best.document, best.start, best.end)
    introduces = bool(around) and not any(start <= best.start < end for start, end in around)
    if reading.kind != "list" and not (reading.kind == "auto" and introduces):
        return _alike(candidates) or _of_each_document(reading, candidates) if reading.kind == "auto" else []
    cells = around or column(rows(best.document), best.start)
    if cells:
        asked = words.without_endings(reading.plan.query)
        missed = words.missed_points([words.without_endings(text[slice(*_line(text, *cell))]) for cell in cells], asked)
        chosen = [cell for cell, lost in zip(cells, missed, strict=True) if not lost]
        cells = chosen if len(chosen) > 1 else cells
        return [AnswerCandidate(best.index, best.document, *cell, best.terms, share=best.share) for cell in cells]
    answering = {index for index, pointed in found.items() if pointed.answers > 0 or not reading.model.has_adapter}
    near = [one for one in reversed(candidates) if one.index in answering and one.share >= _NEAR * best.share]
    each = {one.text.casefold(): one for one in {one.index: one for one in near}.values()}
    several = sorted(each.values(), key=lambda one: (one.index, one.start))
    return several if len(several) > 1 else []


def _of_each_document(reading: Reading, candidates: Seq[AnswerCandidate]) -> list[AnswerCandidate]:
    """Returns the best candidate of each document that answers; ``share``: P(right). Empty if the documents agree."""
    found = list[AnswerCandidate]()
    for document in reading.plan.documents if reading.ranking.documents else ():
        own = [one for one in candidates if one.document is document]
        at, rows = [one.index for one in own], [one.row for one in own if one.row is not None]
        support = reading.support.support(evidence_of(reading, reading.pointed_at(at), at, max(rows, default=None)))
        if own and support >= ANSWERED:
            whole = sum({key(one.text): one.share for one in own}.values())
            found.append(replace(own[0], share=support * own[0].share / whole))
    return found if len({key(one.text) for one in found}) > 1 else []


def _alike(candidates: Seq[AnswerCandidate]) -> list[AnswerCandidate]:
    """Returns the cells in the best candidate's column that answer about as well; empty if only that candidate does."""
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


def _line(text: str, start: int, end: int) -> events.Chars:
    stop = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, stop if stop >= 0 else len(text)


def answer_of(judged: Judged) -> Answer:
    """Returns an `Answer` with an empty text and the values of the judgement: status, quotations, support and so on."""
    span = (judged.candidates[0].start, judged.candidates[0].end) if judged.candidates else None
    own = judged.quotes, judged.support, (), judged.evidence, judged.candidates, judged.confidence
    return Answer("", judged.status, judged.short, span, *own)


def pointed_answer(reading: Reading, judged: Judged) -> Answer:
    """Returns the answer that needs no writer: words of the text, yes or no, or a list, with the quotation."""
    if not judged.candidates or judged.status == "not_found":
        return not_found(reading, judged)
    if len(judged.items) > 1:
        return _listed(reading, judged)
    carried = format_quotes(reading, judged.quotes[: 2 if judged.other else 1])
    if judged.verdict and not judged.is_confirmed and reading.kind == "auto" and judged.quotes[0].header:
        return replace(answer_of(judged), text=f"{ROW_TELLS}\n\n{carried}", short="", span=None)  # models guess on rows
    short = judged.verdict or judged.short
    text = f"{short}." if judged.verdict else on_one_line(short)
    if " ".join(judged.quotes[0].text.split()) == short and not judged.other:
        carried = ""
    elif len(short.split()) >= _LONG and carried:
        text, carried = carried, ""
    text = f"{UNSURE}{text}" if judged.status == "unsure" else text
    return replace(answer_of(judged), text=f"{text}\n\n{carried}" if carried else text, short=short)


def not_found(reading: Reading, judged: Judged) -> Answer:
    """Returns an answer that reports "not found" and shows the nearest quotation."""
    carried = format_quotes(reading, judged.quotes[:1])
    none, hardly = NOT_SO_FAR if reading.is_stopped else NOT_SAID, (judged.support or 0.0) < _HARDLY
    first, where = (none, "Nearest") if hardly or reading.is_stopped else (MAY_NOT_SAY, "Perhaps here")
    text = f"{first}\n\n{where}: {carried}" if carried else none
    return replace(answer_of(judged), text=text, status="not_found", short="", span=None)


def _listed(reading: Reading, judged: Judged) -> Answer:
    items, several = judged.items, len(reading.plan.documents) > 1
    texts = [ITEM.sub("", item.text, count=1).strip("| ").rstrip(";,") for item in items]
    span, place, lines = None, "", texts
    if len({item.index for item in items}) == 1:  # one list or column, perhaps over several segments
        span, document = (items[0].start, items[-1].end), items[0].document
        place = source_label(document, *span, several, lines=True)
        spans = dict.fromkeys(_line(document.text, item.start, item.end) for item in items[:_QUOTED])
        above = (at for at, own in lists(document) if own[0][0] <= span[0] < own[-1][1])
        introduction = tuple(quote(document, *at) for at in above if document.text[: at[1]].endswith(INTRODUCES))
        own = tuple(quote(document, *at, header_above(document.text, at[0])) for at in spans)
        quotes = (introduction or judged.quotes[:1]) + own
    else:
        places = [source_label(item.document, item.start, item.end, several, lines=True) for item in items]
        lines = [f"{text}{f' ({where})' if where else ''}" for text, where in zip(texts, places, strict=True)]
        quotes = tuple(dict.fromkeys(quote_at(reading, item.index, item.start, item.end) for item in items))
    head = f"{UNSURE if judged.status == 'unsure' else ''}{len(items)} found{f' ({place})' if place else ''}:"
    text = "\n".join([head, *(f"- {line}" for line in lines)])
    return replace(answer_of(judged), text=text, short="; ".join(texts), span=span, quotes=quotes)
