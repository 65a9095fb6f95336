"""The parts of an answer: the short answer, the quotation that carries it, its support, and the text."""

from __future__ import annotations

import re
from collections.abc import Container
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from math import exp, log

from wim_edge import words
from wim_edge.kinds import Kind
from wim_edge.support import ANSWERED, NOT_FOUND, Evidence
from wim_edge.wim import events
from wim_edge.wim.answer_form import fits
from wim_edge.wim.candidates import (
    AnswerCandidate,
    aligned,
    candidates_of,
    carrier,
    format_quotes,
    guess,
    is_in_table,
    key,
    likelier,
    looked_up,
    margin_quotes,
    odds,
)
from wim_edge.wim.negation import clause_around, is_conditional, is_literal, is_negation, negates, stated, yes_or_no
from wim_edge.wim.plan import source_label
from wim_edge.wim.pointing import Pointed
from wim_edge.wim.quotation import (
    enumerated,
    introduced,
    is_item,
    items_around,
    joined,
    listed_on,
    on_one_line,
    quotation,
)
from wim_edge.wim.reading import Reading
from wim_edge.wim.records import lacking
from wim_edge.wim.second_look import look_again

NOT_SAID, MAY_NOT_SAY = "The document does not seem to say.", "The document may not say this."
HAS_NONE = "The document does not seem to have {}."
_HARDLY = 0.1
"""The support below which even the nearest passage is hardly an answer."""
_NAMED = 3.0
"""The log-odds that a passage answers if its table has the cell that is asked for: 20 to 1, as of the surest others."""
_UNSURE = (NOT_FOUND + ANSWERED) / 2
_NEAR = 0.08
"""The share of the best passage's probability from which another one's run is an item of a list too."""
_LONG = 8
"""The number of words from which a short answer is not repeated beside the quotation that holds it."""
_CLAUSE = re.compile(r"[,;:()|\t]|\s[–-]\s")
_HELPS = words.without_endings("can could may might must shall should will would any there i you we it they")
_WHAT = re.compile(r"\W*(?:what|which|was|welche\w?|que|quels?|quelles?|qué|cuáles)\b", re.IGNORECASE)
"""A question whose answer may be a list, though its words do not ask for one."""


@dataclass(frozen=True)
class Answer:
    """An answer's parts, as `events.AnswerFinished` has them."""

    text: str = ""
    status: events.AnswerStatus = "answered"
    short: str = ""
    span: events.Chars | None = None
    quotes: tuple[events.Quote, ...] = ()
    support: float | None = None
    unsupported: tuple[str, ...] = ()
    evidence: Evidence | None = None
    is_written: bool = False
    """True if the text is in the model's own words."""


def pointed_answer(reading: Reading, used: Seq[int]) -> Answer:
    """Returns the likeliest run of the passages, or another answer of the asked kind (cell, list, yes or no), with its
    quotation and its support."""
    question, found = reading.plan.query, reading.pointed_at(used)
    cells = looked_up(reading, found, question)
    evidence = evidence_of(reading, found, used, question, bool(cells))
    candidates = [*cells, *candidates_of(reading, found)]
    if candidates and not cells and not reading.model.has_adapter and reading.kind == "fact":
        again = look_again(reading, candidates[0], question)
        if again and again.runs:
            candidates = candidates_of(reading, {**found, candidates[0].index: again})
    support = reading.support.support(evidence)
    if lacks := "" if cells else lacking(reading.plan.documents, question):
        support = min(support, (_HARDLY + NOT_FOUND) / 2)
    if candidates and not cells and reading.kind == "fact":
        candidates = [aligned(reading, one, question) for one in candidates]
        first = candidates[0]
        candidates = sorted(candidates, key=lambda one: not fits(question, one.text))
        support = min(support, _most(reading, first, candidates[0], question))
        if _is_denied(reading, candidates[0], question):
            support = min(support, _UNSURE)
        if other := likelier(reading, candidates, question):
            if support < ANSWERED and fits(question, other.text) >= fits(question, candidates[0].text):
                candidates = [other, *candidates]
            support = min(support, _UNSURE, _most(reading, first, candidates[0], question))
    is_table = any(map(is_in_table, candidates[:1]))
    if not cells and not lacks and reading.kind == "fact" and (support < ANSWERED or is_table):
        likely = guess(reading, question, next(iter(candidates), None))
        if likely and any(one.text == likely.text for one in candidates[:1]):
            support = max(support, _UNSURE)
        elif likely:
            candidates, support = [likely], _UNSURE
    kind = reading.kind if not cells or reading.kind == "yesno" else "list" if len(cells) > 1 else "fact"
    answer = _pointed(reading, used, found, candidates, support, kind, question, lacks)
    return replace(answer, evidence=evidence)


def _most(reading: Reading, first: AnswerCandidate, best: AnswerCandidate, question: str) -> float:
    """Returns the most support for ``best``: 1 if it has the form asked for (a number, say) and is the likeliest
    run, ``first``; unsure if it is not the likeliest, or only its sentence has the form; else hardly any."""
    if not fits(question, best.text):
        return _UNSURE if fits(question, carrier(reading, best).text) else _HARDLY
    return 1.0 if best is first else _UNSURE


def _pointed(
    reading: Reading, used: Seq[int], found: dict[int, Pointed], candidates: Seq[AnswerCandidate], support: float,
    kind: Kind, question: str, lacks: str,
) -> Answer:  # fmt: skip
    if not candidates:
        return Answer(NOT_SAID, "not_found", support=support)
    best, said = candidates[0], ""
    if kind == "yesno":
        best, is_of_it = _of_the_question(reading, candidates, question)
        is_yes, is_borne = _yes_or_no(reading, found, best, carrier(reading, best))
        support = support if is_of_it and is_borne else min(support, _UNSURE)
        said = "Yes" if is_yes else "No"
    status = status_of(support)
    quotes = (carrier(reading, best), *margin_quotes(reading, [index for index in used if index != best.index]))
    carried = format_quotes(reading, quotes[:1])
    if status == "not_found":
        return not_found(reading, quotes, support, lacks=lacks)
    if kind == "list" or (kind == "fact" and _WHAT.match(question) and _below(best)):
        certain = [one for one in candidates if one.share == 1.0]  # rows of a table that have the same value
        items, is_run = (certain, False) if len(certain) > 1 else _items(reading, candidates, found)
        one_of_many = kind == "list" and is_item(best.document.text, best.start, best.end, quotes[0].chars)
        if len(items) > 1 and (is_run or not one_of_many):
            return _listed(reading, items, is_run, quotes, status, support)
        goes_on = listed_on(best.document.text, best.start, best.end, quotes[0].chars[1], pair=kind == "list")
        best = replace(best, end=goes_on or best.end)
        if one_of_many and not goes_on:  # where the first one begins is open: the whole sentence
            best = replace(best, start=quotes[0].chars[0], end=quotes[0].chars[1])
    short, span = said or best.text, (best.start, best.end)
    if said:
        text = f"{said}."
    else:
        text = on_one_line(short)
        if quotes and " ".join(quotes[0].text.split()) == short:
            carried = ""
        elif len(short.split()) >= _LONG and carried:  # it would be said twice
            text, carried = carried, ""
    text = f"Perhaps: {text}" if status == "unsure" else text
    return Answer(f"{text}\n\n{carried}" if carried else text, status, short, span, quotes, support)


def status_of(support: float) -> events.AnswerStatus:
    """Returns the status of an answer with this support."""
    return "not_found" if support < NOT_FOUND else "unsure" if support < ANSWERED else "answered"


def not_found(
    reading: Reading, quotes: tuple[events.Quote, ...], support: float | None, evidence: Evidence | None = None,
    lacks: str = "",
) -> Answer:  # fmt: skip
    """Returns the answer that the documents do not say, with the nearest quotation. ``lacks``: what is not there."""
    carried = format_quotes(reading, quotes[:1])
    first, where = (NOT_SAID, "Nearest") if (support or 0.0) < _HARDLY else (MAY_NOT_SAY, "Perhaps here")
    if lacks:
        first, where = HAS_NONE.format(lacks), "Nearest"
    elif not carried:
        first = NOT_SAID
    nearest = f"{first}\n\n{where}: {carried}" if carried else first
    return Answer(nearest, "not_found", quotes=quotes, support=support, evidence=evidence)


def evidence_of(reading: Reading, found: dict[int, Pointed], used: Seq[int], question: str, named: bool) -> Evidence:
    """Returns the evidence that the passages pointed into, or ``used`` where none is, hold an answer; ``named``: a
    table has the cell that is asked for."""
    passages = list(found) or list(used)
    answers = 0.0
    if reading.model.has_adapter and found:
        answers = max(pointed.answers for pointed in found.values())
        answers = max(answers, _NAMED) if named else answers
    runs = [pointed.runs[0].logprob for pointed in found.values() if pointed.runs]
    known = reading.ranking.scores if is_in_nats(reading) else {}
    scores = [known[index] for index in passages if index in known]
    missing = words.missing([reading.plan.segments[index].text for index in passages], question)
    return Evidence(max(scores, default=0.0), answers, max(runs, default=0.0), missing)


def is_in_nats(reading: Reading) -> bool:
    return reading.relevance is not None and reading.relevance.scores_in_nats


def _yes_or_no(
    reading: Reading, found: dict[int, Pointed], run: AnswerCandidate, quote: events.Quote
) -> tuple[bool, bool]:
    """Returns whether the answer is yes, by the words of the sentence that carries the run or else by the model, and
    whether those words bear it."""
    query, at = reading.plan.query, quote.chars[0]
    value = aligned(reading, run, query)
    if (is_stated := stated(query, quote.text, value.start - at, value.end - at)) is not None:
        return is_stated, not is_conditional(query, quote.text)
    return yes_or_no(query, quote.text, run.start - at, run.end - at, _yes(reading, found))


def _is_denied(reading: Reading, run: AnswerCandidate, question: str) -> bool:
    """Tells whether the clause around the run denies it: "does not open on Mondays"."""
    sentence = carrier(reading, run)
    at, end = run.start - sentence.chars[0], run.end - sentence.chars[0]
    left, right = clause_around(_CLAUSE, sentence.text, at, end)
    clause = sentence.text[left:right]
    return not is_negation(run.text) and negates(question, clause, at - left, end - left)


def _of_the_question(reading: Reading, candidates: Seq[AnswerCandidate], question: str) -> tuple[AnswerCandidate, bool]:
    """Returns the likeliest run whose sentence has most of the question's words, and whether it has a third of them.
    Those of the line above count where a sentence begins with a yes or no."""
    asked = words.without_endings(question) - _HELPS
    shared = [len(asked & words.without_endings(_with_question(reading, one))) for one in candidates]
    most = max(shared)
    return candidates[shared.index(most)], most * 3 >= len(asked)


def _with_question(reading: Reading, run: AnswerCandidate) -> str:
    quote = carrier(reading, run)
    above = run.document.text[: quote.chars[0]].rstrip().rpartition("\n")[2]
    return f"{above} {quote.text}" if is_literal(quote.text) else quote.text


def _yes(reading: Reading, found: dict[int, Pointed]) -> float:
    """Returns the log-odds of Yes over the passages, weighted by relevance and by their probability of answering."""
    weights = {
        index: reading.ranking.relevance(index) * (odds(pointed) if reading.model.has_adapter else 1)
        for index, pointed in found.items()
    }
    total = sum(weights.values()) or 1.0
    likely = sum(weights[index] / (1 + exp(-pointed.yes)) for index, pointed in found.items()) / total
    return log(max(likely, 1e-9)) - log(max(1 - likely, 1e-9))


# Lists


def _items(
    reading: Reading, candidates: Seq[AnswerCandidate], found: dict[int, Pointed]
) -> tuple[list[AnswerCandidate], bool]:
    """Returns all items of the list or rows of the table in which the best run stands, or those of them that share most
    words with the question; else the items that its sentence lists; else the best run of each passage that is nearly as
    likely, in the order of the documents. Returns also whether they stand together."""
    best = candidates[0]
    told = {index for index, pointed in found.items() if pointed.answers > 0 or not reading.model.has_adapter}
    around = items_around(best.document.text, best.start, best.end) or _below(best)
    within = [] if around else _listed_within(reading, best)
    if within:
        items = [AnswerCandidate(best.index, best.document, start, end, best.share) for start, end in within]
        others = [one for one in _each(candidates, told) if one.index != best.index]
        return sorted([*items, *others], key=lambda one: (one.index, one.start)), not others
    if around:
        texts = [best.document.text[start:end] for start, end in around]
        asked = words.without_endings(reading.plan.query)
        hits = [len(asked & words.without_endings(text)) for text in texts]
        some = [span for span, n in zip(around, hits, strict=True) if n == max(hits)]
        chosen = some if max(hits) > min(hits) else around
        return [AnswerCandidate(best.index, best.document, start, end, best.share) for start, end in chosen], True
    return sorted(_each(candidates, told), key=lambda one: (one.index, one.start)), False


def _each(candidates: Seq[AnswerCandidate], told: Container[int]) -> list[AnswerCandidate]:
    """Returns the best run of each passage that answers and is nearly as likely as the best of all, without those that
    say the same."""
    each: dict[str, AnswerCandidate] = {}
    for one in candidates:
        if one.index not in told or one.share < _NEAR * candidates[0].share:
            continue
        if one.index not in {other.index for other in each.values()}:
            each.setdefault(key(one.text), one)
    return list(each.values())


def _below(run: AnswerCandidate) -> list[events.Chars]:
    """Returns the items of the list that the run introduces."""
    return introduced(run.document.text, run.start, run.end)


def _listed_within(reading: Reading, run: AnswerCandidate) -> list[events.Chars]:
    """Returns the items that the sentence lists by marks, "(a) ..."; else those that the run joins."""
    segment = reading.plan.segments[run.index].segment
    whole = quotation(run.document, segment, run.start, run.end, len(segment.text))
    marked = enumerated(run.document.text, whole.start, whole.end)
    return marked or joined(run.document.text, run.start, run.end)


def _listed(
    reading: Reading, items: Seq[AnswerCandidate], is_run: bool, quotes: tuple[events.Quote, ...],
    status: events.AnswerStatus, support: float,
) -> Answer:  # fmt: skip
    texts = [re.sub(r"^(?:[-*•–]|\d{1,3}[.)]|\(?\w\))\s+", "", item.text).strip("| ") for item in items]
    several = len(reading.plan.documents) > 1
    if is_run:
        span = (items[0].start, items[-1].end)
        place, lines = source_label(items[0].document, *span, several, lines=True), texts
    else:  # each has its own place, and its own quotation
        span, place = None, ""
        places = [source_label(item.document, item.start, item.end, several, lines=True) for item in items]
        lines = [f"{text}{f' ({where})' if where else ''}" for text, where in zip(texts, places, strict=True)]
        quotes = tuple(dict.fromkeys(carrier(reading, item) for item in items))
    head = f"{'Perhaps: ' if status == 'unsure' else ''}{len(items)} found{f' ({place})' if place else ''}:"
    text = "\n".join([head, *(f"- {line}" for line in lines)])
    return Answer(text, status, "; ".join(texts), span, quotes, support)
