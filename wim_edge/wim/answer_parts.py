"""What an answer consists of: the short answer, the quotation that carries it, how well it is supported, the text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from math import exp, log

from wim_edge import words
from wim_edge.support import ANSWERED, NOT_FOUND, Evidence
from wim_edge.wim import events
from wim_edge.wim.plan import place_of
from wim_edge.wim.pointing import Pointed, Run
from wim_edge.wim.reading import Reading

NOT_SAID = "The document does not seem to say."
_LEAST = 1e-6
_VALUE = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w|https?://\S+|\w*\d[\w.,:/-]*\w|\d")


@dataclass(frozen=True)
class Answer:
    """An answer's parts, as `events.AnswerFinished` has them."""

    text: str = ""
    status: events.Status = "answered"
    short: str = ""
    span: events.Chars | None = None
    quotes: tuple[events.Quote, ...] = ()
    support: float | None = None
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """A run of one of the passages."""

    index: int
    run: Run
    share: float
    """Probability of this run in this passage's being the answer, as far as the passages go."""


def pointed_answer(reading: Reading, used: Seq[int]) -> Answer:
    """Returns the likeliest run of the passages, its quotation and how well it is supported."""
    found = {index: reading.pointed[index] for index in used if index in reading.pointed}
    candidates = _candidates(reading, found)
    support = reading.support.support(_evidence(reading, found))
    status: events.Status = "answered" if support >= ANSWERED else "unsure" if support >= NOT_FOUND else "not_found"
    if not candidates:
        return Answer(NOT_SAID, "not_found", support=support)
    best = candidates[0]
    document = reading.plan.documents[reading.plan.segments[best.index].segment.document]
    quotes = _quotes(reading, [best.index, *(index for index in used if index != best.index)])
    short = " ".join(document.text[best.run.start : best.run.end].split())
    if status == "not_found":
        shown = _shown(reading, quotes[:1])
        return Answer(f"{NOT_SAID}\n\nNearest: {shown}" if shown else NOT_SAID, status, quotes=quotes, support=support)
    text = short if status == "answered" else f"Perhaps: {short}"
    carried = quotes and " ".join(quotes[0].text.split()) != short
    text = f"{text}\n\n{_shown(reading, quotes[:1])}" if carried else text
    return Answer(text, status, short, (best.run.start, best.run.end), quotes, support)


def written_answer(reading: Reading, used: Seq[int], text: str) -> Answer:
    """Returns the parts of an answer in the model's own words."""
    found = {index: reading.pointed[index] for index in used if index in reading.pointed}
    scored = bool(reading.ranking.scores) and not reading.ranking.own
    support = reading.support.support(_evidence(reading, found)) if scored else None
    passages = " ".join(reading.plan.segments[index].text for index in used) or " ".join(
        document.text for document in reading.plan.documents
    )
    candidates = _candidates(reading, found)
    best = candidates[0] if candidates else None
    short, span = "", None
    order = list(used)
    if best is not None:
        document = reading.plan.documents[reading.plan.segments[best.index].segment.document]
        short, span = " ".join(document.text[best.run.start : best.run.end].split()), (best.run.start, best.run.end)
        order = [best.index, *(index for index in used if index != best.index)]
    return Answer(
        text, "answered", short, span, _quotes(reading, order), support, unsupported(text, passages, reading.plan.query)
    )


def unsupported(text: str, passages: str, question: str) -> tuple[str, ...]:
    """Returns the numbers, codes and addresses of a text that stand neither in the passages nor in the question."""
    known = f"{passages}\n{question}"
    plain = re.sub(r"[\s,]", "", known).casefold()
    found = dict.fromkeys(match.group().rstrip(".,:;") for match in _VALUE.finditer(text))
    return tuple(value for value in found if value.replace(",", "").casefold() not in plain)


def _candidates(reading: Reading, found: dict[int, Pointed]) -> list[_Candidate]:
    """The runs of all passages, the likeliest first: a passage's relevance times the run's probability in it; what
    several say counts for each of them."""
    own: list[tuple[int, Run, float]] = []
    total: dict[str, float] = defaultdict(float)
    for index, pointed in found.items():
        document = reading.plan.documents[reading.plan.segments[index].segment.document]
        for run in pointed.runs:
            share = exp(log(max(reading.ranking.relevance(index), _LEAST)) + run.logprob)
            own.append((index, run, share))
            total[_key(document.text[run.start : run.end])] += share
    ranked = [
        _Candidate(index, run, total[_key(_document_text(reading, index)[run.start : run.end])])
        for index, run, _ in sorted(own, key=lambda one: -one[2])
    ]
    return sorted(ranked, key=lambda one: -one.share)


def _document_text(reading: Reading, index: int) -> str:
    return reading.plan.documents[reading.plan.segments[index].segment.document].text


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _evidence(reading: Reading, found: dict[int, Pointed]) -> Evidence:
    """What speaks for an answer's being in these passages."""
    answers = 0.0
    if reading.model.has_adapter and found:
        answers = max(log(max(exp(-pointed.none) - 1, _LEAST)) for pointed in found.values())
    runs = [pointed.runs[0].logprob for pointed in found.values() if pointed.runs]
    scores = [reading.ranking.scores[index] for index in found if index in reading.ranking.scores]
    texts = [reading.plan.segments[index].text for index in found]
    missing = words.missing(texts, reading.plan.query)
    return Evidence(max(scores, default=0.0), answers, max(runs, default=0.0), missing)


def _quotes(reading: Reading, order: Seq[int]) -> tuple[events.Quote, ...]:
    """The margins of these segments that are quotations."""
    quotes = []
    for index in order:
        margin = reading.margins.get(index)
        if margin is not None and margin.quote is not None and margin.text:
            document = reading.plan.documents[reading.plan.segments[index].segment.document]
            place = document.place(*margin.quote)
            quotes.append(
                events.Quote(margin.text, document.name, place.page, place.section, margin.quote, margin.header)
            )
    return tuple(quotes)


def _shown(reading: Reading, quotes: Seq[events.Quote]) -> str:
    """Quotations with their places, as a person reads them."""
    shown = []
    for quote in quotes:
        document = next(one for one in reading.plan.documents if one.name == quote.document)
        place = place_of(document, *quote.chars, len(reading.plan.documents) > 1)
        text = " ".join(quote.text.split())
        header = f"{' '.join(quote.header.split())}\n" if quote.header else ""
        shown.append(f"{header}“{text}”{f' ({place})' if place else ''}")
    return "\n".join(shown)
