"""The answer in words of the text: the best candidate, yes or no, or a list, with the quotation that carries it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wim_edge.answer.candidates import AnswerCandidate
from wim_edge.answer.judged import Judged
from wim_edge.answer.quotes import format_quotes, quote_at
from wim_edge.documents.units import ITEM
from wim_edge.reading import events
from wim_edge.reading.plan import source_label
from wim_edge.reading.quotation import on_one_line
from wim_edge.reading.reading import Reading
from wim_edge.support import Evidence

UNSURE, NOT_SAID, MAY_NOT_SAY = "Perhaps: ", "The document does not seem to say.", "The document may not say this."
_HARDLY = 0.1  # support below which even the nearest passage hardly answers
_LONG = 8  # words of a short answer that is shown in its quotation alone


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


def answer_of(judged: Judged) -> Answer:
    """Returns a judgement as an answer without its text."""
    return Answer(
        "", judged.status, judged.short, judged.span, judged.quotes, judged.support, (), judged.evidence,
        judged.candidates, judged.confidence,
    )  # fmt: skip


def pointed_answer(reading: Reading, judged: Judged) -> Answer:
    """Returns the answer that needs no writer."""
    if not judged.candidates:
        return replace(answer_of(judged), text=NOT_SAID, status="not_found")
    if judged.status == "not_found":
        return not_found(reading, judged)
    if len(judged.items) > 1:
        return _listed(reading, judged)
    carried = format_quotes(reading, judged.quotes[:1])
    short = judged.verdict or judged.short
    text = f"{short}." if judged.verdict else on_one_line(short)
    if " ".join(judged.quotes[0].text.split()) == short:
        carried = ""
    elif len(short.split()) >= _LONG and carried:
        text, carried = carried, ""
    text = f"{UNSURE}{text}" if judged.status == "unsure" else text
    return replace(answer_of(judged), text=f"{text}\n\n{carried}" if carried else text, short=short)


def not_found(reading: Reading, judged: Judged) -> Answer:
    """Returns the answer that the documents do not say, with the nearest quotation."""
    carried = format_quotes(reading, judged.quotes[:1])
    first, where = (NOT_SAID, "Nearest") if (judged.support or 0.0) < _HARDLY else (MAY_NOT_SAY, "Perhaps here")
    text = f"{first}\n\n{where}: {carried}" if carried else NOT_SAID
    return replace(answer_of(judged), text=text, status="not_found", short="", span=None)


def _listed(reading: Reading, judged: Judged) -> Answer:
    items, several = judged.items, len(reading.plan.documents) > 1
    texts = [ITEM.sub("", item.text, count=1).strip("| ") for item in items]
    span, place, quotes = None, "", judged.quotes
    if len({item.index for item in items}) == 1:  # one passage
        span = (items[0].start, items[-1].end)
        place, lines = source_label(items[0].document, *span, several, lines=True), texts
    else:
        places = [source_label(item.document, item.start, item.end, several, lines=True) for item in items]
        lines = [f"{text}{f' ({where})' if where else ''}" for text, where in zip(texts, places, strict=True)]
        quotes = tuple(dict.fromkeys(quote_at(reading, item.index, item.start, item.end) for item in items))
    head = f"{UNSURE if judged.status == 'unsure' else ''}{len(items)} found{f' ({place})' if place else ''}:"
    text = "\n".join([head, *(f"- {line}" for line in lines)])
    return replace(answer_of(judged), text=text, short="; ".join(texts), span=span, quotes=quotes)
