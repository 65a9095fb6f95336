"""The events that a reading emits as it runs: frozen dataclasses, and their JSON form.

One generator of these events is the runtime's spine; the command line, and any host application, are only consumers
of it. `Event.to_json` (event_parts.py) gives an object with ``type`` first; docs/events.md describes each.
Consumers of the JSON should pass over types that they do not know; `from_dict` does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wim_edge.reading.event_parts import AnswerStatus as AnswerStatus
from wim_edge.reading.event_parts import Chars as Chars
from wim_edge.reading.event_parts import Event as Event
from wim_edge.reading.event_parts import FinishReason as FinishReason
from wim_edge.reading.event_parts import Quote as Quote
from wim_edge.reading.event_parts import RankedSegment as RankedSegment
from wim_edge.reading.event_parts import RecalledPassage as RecalledPassage
from wim_edge.reading.event_parts import ScoredWords as ScoredWords
from wim_edge.reading.event_parts import Source as Source
from wim_edge.reading.event_parts import TokenLogprob as TokenLogprob
from wim_edge.reading.event_parts import Usage as Usage


@dataclass(frozen=True)
class QuestionSettled(Event):
    """The question is not asked as it was put: it was completed by earlier questions and answers, or it was not clear
    which part of a message is the question."""

    type = "question.settled"
    question: str
    asked_as: str
    why: str


@dataclass(frozen=True)
class PagesRecognised(Event):
    """The number of pages recognised so far, of those of a document that are pictures; before it is read."""

    type = "pages.recognised"
    document: str
    pages: int
    of: int | None
    """None: of a picture, which may hold several."""
    confidence: float | None
    """The mean confidence of the last page's characters, 0 to 1; None before the first."""


@dataclass(frozen=True)
class RecallStarted(Event):
    """A library is searched for passages that may answer the question."""

    type = "recall.started"
    library: str
    documents: int
    model: str
    retriever: str


@dataclass(frozen=True)
class TitlesRecalled(Event):
    """The titles that the model recalls, the best first, and how much likelier the question makes each, in nats."""

    type = "recall.titles"
    titles: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PassagesRecalled(Event):
    """The recalled passages, the best first; the last event of a recall."""

    type = "recall.passages"
    passages: tuple[RecalledPassage, ...]
    decoded_tokens: int
    """The tokens evaluated for the beams."""
    prefilled_tokens: int
    """The tokens of passages that were read to judge them."""
    seconds: float


@dataclass(frozen=True)
class ReadingStarted(Event):
    """The plan, before the first token is read. Sizes are in tokens."""

    type = "reading.started"
    model: str
    pattern: str
    documents: tuple[str, ...]
    segments: int
    tokens: int
    n_ctx: int
    windows: int
    """The number of windows. 1: the whole context is in the cache at the end; more: it is longer than the cache;
    0: each segment is read alone."""
    relevance: str | None
    """The method that scores; None if nothing is scored."""
    within: str | None = None
    """The reading limit (`Settings.within`): "auto" where the order is free, or as asked for; None: all is read."""
    read_segments: int = 0
    """The number of segments that were read before, if the reading goes on after an answer."""
    why: str | None = None
    """The reason for the pattern; None if the user has chosen it."""
    judge: str | None = None
    """The model that judges which passages answer, if it is not ``model``."""


@dataclass(frozen=True)
class ReadingOrder(Event):
    """The segments in the order in which they are read, if that is not the document's."""

    type = "reading.order"
    segments: tuple[int, ...]


@dataclass(frozen=True)
class SegmentsEmbedded(Event):
    """The number of segments embedded so far, of those that come before they are read; a new order follows."""

    type = "segments.embedded"
    segments: int
    of: int


@dataclass(frozen=True)
class ReadingProgress(Event):
    """The number of document tokens read so far, of all; after every prefill batch."""

    type = "reading.progress"
    tokens: int
    of: int


@dataclass(frozen=True)
class SegmentRead(Event):
    """A segment is in the cache."""

    type = "segment.read"
    segment: int
    of: int
    document: str
    page: int | None
    section: str | None
    chars: Chars
    tokens: int
    line: int | None = None
    """The line of the document's text, from 1, in which it begins; None: not known."""
    page_label: str | None = None
    """The number that is printed on the page, where that is not ``page``."""


@dataclass(frozen=True)
class SegmentScored(Event):
    """The relevance of a segment, 0 to 1, as of all that has been read so far."""

    type = "segment.scored"
    segment: int
    relevance: float
    rank: int | None
    """The segment's place among the segments scored so far, from 1; None: a gate held it back."""
    unread_probability: float | None = None
    """The probability that a segment not read yet answers better; None: nothing is known of those."""


@dataclass(frozen=True)
class MarginDelta(Event):
    """A piece of the margin being written."""

    type = "margin.delta"
    segment: int
    text: str


@dataclass(frozen=True)
class MarginJudged(Event):
    """A margin is complete, judged, and out of the cache again; policies are asked after it."""

    type = "margin.judged"
    segment: int
    document: str
    page: int | None
    section: str | None
    chars: Chars
    text: str
    quote: Chars | None
    """The text's place in the document, word for word; None: it is in the model's own words. ``page`` and ``section``
    are those of the quotation, or else of the segment's beginning; ``chars`` are the segment's."""
    relevance: float
    """The relevance to the question, 0 to 1, as of all that has been read so far."""
    relevant: bool
    """True if the margin would stand beside the question if the answer were given now."""
    header: str = ""
    """The header of the table, if the margin is a row of one; else empty."""
    short: Chars | None = None
    """The characters of the quotation that answer the question, as the model points at them."""
    line: int | None = None
    """The line, from 1, in which the quotation or else the segment begins; None: not known."""
    page_label: str | None = None
    """The number that is printed on the page, where that is not ``page``."""


@dataclass(frozen=True)
class ReadingRanked(Event):
    """The scored segments, most relevant first; once, before the answer."""

    type = "reading.ranked"
    ranking: tuple[RankedSegment, ...]


@dataclass(frozen=True)
class AnswerProvisional(Event):
    """The answer so far, while the reading goes on; the next one, or the answer, takes its place."""

    type = "answer.provisional"
    short: str
    """The answer in a few words of the text."""
    quote: Quote
    """The quotation that carries it, with its place."""
    support: float
    """The support so far, 0 to 1."""
    read_segments: int
    """The number of segments read so far, of ``segments``."""
    segments: int


@dataclass(frozen=True)
class AnswerRevised(Event):
    """Other segments are the best ones now that the reading went on after an answer: the answer is given again, from
    these."""

    type = "answer.revised"
    segments: tuple[int, ...]


@dataclass(frozen=True)
class AnswerDelta(Event):
    """A piece of the answer."""

    type = "answer.delta"
    text: str


@dataclass(frozen=True)
class ReadingFinished(Event):
    """The last event of reading ahead, without a question."""

    type = "reading.finished"
    saved_tokens: int
    """The document tokens that saved readings now hold."""
    tokens: int
    """The document tokens in all."""
    model: str
    usage: Usage


@dataclass(frozen=True)
class AnswerFinished(Event):
    """The whole answer; the last event where a question was asked."""

    type = "answer.finished"
    text: str
    """The text for a person: the short answer and the quotation that carries it, or the model's own words."""
    finish_reason: FinishReason
    pattern: str
    model: str
    sources: tuple[Source, ...]
    usage: Usage
    read_segments: int = 0
    """The number of segments that were read for the answer."""
    segments: int = 0
    """The number of all segments; not all are read if the reader or the limit (`Settings.within`) ended it."""
    unread_probability: float | None = None
    """The probability that a segment not read answers better; None: nothing is known of those."""
    status: AnswerStatus = "answered"
    """The outcome. ``not_found``: the documents do not seem to say; ``unsure``: the answer may be another."""
    short: str = ""
    """The answer in a few words; empty if there is none, or none was pointed at."""
    span: Chars | None = None
    """The short answer's place in the document of the first quotation; None if it is no run of it."""
    quotes: tuple[Quote, ...] = ()
    """The quotations that carry the answer, the best first; if nothing was found, those that come nearest."""
    support: float | None = None
    """The support, 0 to 1: how likely the documents hold an answer (`wim_edge.support`); None: nothing was scored."""
    unsupported: tuple[str, ...] = ()
    """The numbers, codes, addresses and names in the text that are in no passage that it was given from."""
    evidence: dict[str, float] | None = None
    """The evidence that the support rests on, by the names of `wim_edge.support.Evidence`."""
    citations: tuple[tuple[int, int], ...] = ()
    """The ends of sentences, as characters of the text, each with the source that carries it, by its number from 0; of
    a text in the model's own words."""
    judge: str | None = None
    """The model that judged which passages answer, if it is not ``model``."""
    candidates: tuple[ScoredWords, ...] = ()
    """The words that may answer, the likeliest first, with the terms of their scores."""


@dataclass(frozen=True)
class CompletionDelta(Event):
    """A piece of a text that goes straight on from a prompt; ``logprobs`` are those of the tokens since the last piece,
    if they were asked for."""

    type = "completion.delta"
    text: str
    logprobs: tuple[TokenLogprob, ...]


@dataclass(frozen=True)
class CompletionFinished(Event):
    """The whole text; the last event of `Runtime.complete`."""

    type = "completion.finished"
    text: str
    finish_reason: FinishReason
    model: str
    prompt_tokens: int
    cached_tokens: int
    """The prompt's tokens that were in the cache from the completion before."""
    completion_tokens: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class TextEmbedded(Event):
    """A text's unit vector, and its length in tokens of the embedding model; texts come in their order."""

    type = "text.embedded"
    vector: tuple[float, ...]
    tokens: int


@dataclass(frozen=True)
class Warning(Event):
    """Something that the reader should know; the work goes on."""

    type = "warning"
    text: str


EVENTS: tuple[type[Event], ...] = (
    QuestionSettled,
    RecallStarted,
    TitlesRecalled,
    PassagesRecalled,
    ReadingStarted,
    ReadingOrder,
    SegmentsEmbedded,
    ReadingProgress,
    PagesRecognised,
    SegmentRead,
    SegmentScored,
    MarginDelta,
    MarginJudged,
    ReadingRanked,
    ReadingFinished,
    AnswerProvisional,
    AnswerRevised,
    AnswerDelta,
    AnswerFinished,
    CompletionDelta,
    CompletionFinished,
    TextEmbedded,
    Warning,
)

_BY_TYPE = {kind.type: kind for kind in EVENTS}


def from_dict(data: Mapping[str, Any]) -> Event:
    """Returns the event whose `Event.to_dict` this is; unknown fields are passed over.

    Raises ValueError for an unknown event, or one with a field of another type.
    """
    import msgspec

    if data.get("type") not in _BY_TYPE:
        raise ValueError(f"no event is called {data.get('type')!r}")
    return msgspec.convert(data, _BY_TYPE[data["type"]])
