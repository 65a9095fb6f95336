"""The events of a reading: frozen dataclasses with a JSON form (docs/events.md). The runtime yields them to command
line, server and host applications. Consumers of the JSON should ignore unknown types; `from_dict` refuses them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from wim_edge.reading.event_parts import (
    AnswerStatus as AnswerStatus,
    Chars as Chars,
    Event as Event,
    FinishReason as FinishReason,
    Quote as Quote,
    RankedSegment as RankedSegment,
    RecalledPassage as RecalledPassage,
    ScoredWords as ScoredWords,
    Source as Source,
    TokenLogprob as TokenLogprob,
    Usage as Usage,
)

_T = TypeVar("_T")


@dataclass(frozen=True)
class QuestionSettled(Event):
    """The question as it will be asked: ``asked_as``. ``why``: the reason for a change. If a message was unclear, both
    fields hold the question that was found in the message."""

    type = "question.settled"
    question: str
    asked_as: str
    why: str


@dataclass(frozen=True)
class RecallStarted(Event):
    """The search of a library for passages begins."""

    type = "recall.started"
    library: str
    documents: int
    model: str
    retriever: str


@dataclass(frozen=True)
class TitlesRecalled(Event):
    """The recalled titles, best first, as (title, nats by which the question raises the title's log-probability)."""

    type = "recall.titles"
    titles: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PassagesRecalled(Event):
    """The recalled passages, best first; the last event of a recall."""

    type = "recall.passages"
    passages: tuple[RecalledPassage, ...]
    decoded_tokens: int
    """Tokens evaluated by the beam search for titles and passages."""
    prefilled_tokens: int
    """Tokens of passages that the model read to rank these passages."""
    seconds: float


@dataclass(frozen=True)
class ReadingStarted(Event):
    """The plan, before any text is read. ``tokens`` and ``n_ctx`` count tokens; ``segments`` counts segments."""

    type = "reading.started"
    model: str
    pattern: str
    documents: tuple[str, ...]
    segments: int
    tokens: int
    n_ctx: int
    windows: int
    """The number of windows (parts of the text). 1: all documents fit the context; 0: each segment is read alone."""
    relevance: str | None
    """The relevance method; None if nothing is scored."""
    within: str | None = None
    """The bound on the reading (`Settings.within`); None: all segments are read."""
    read_segments: int = 0
    """The number of segments that are already read, if the last question is asked again."""
    why: str | None = None
    """The reason for the pattern; None if the user chose it."""
    judge: str | None = None
    """The model that judges the passages, if it is not ``model``."""


@dataclass(frozen=True)
class ReadingOrder(Event):
    """The segment numbers in the order of reading. Sent if this is not the documents' order, or if it changes."""

    type = "reading.order"
    segments: tuple[int, ...]


@dataclass(frozen=True)
class SegmentsEmbedded(Event):
    """Embedding progress, in segments. When a question is asked, a `ReadingOrder` follows the last of these events."""

    type = "segments.embedded"
    segments: int
    of: int


@dataclass(frozen=True)
class ReadingProgress(Event):
    """Reading progress after each prefill batch, in document tokens; in prompt tokens for a completion."""

    type = "reading.progress"
    tokens: int
    of: int


@dataclass(frozen=True)
class PagesRecognised(Event):
    """OCR progress, in scanned pages of a document. The document is read after this."""

    type = "pages.recognised"
    document: str
    pages: int
    of: int | None
    """The number of scanned pages; None: unknown, as for an image file, which may contain several pages."""
    confidence: float | None
    """The mean OCR confidence of the last recognised page, 0 to 1; None before the first page."""


@dataclass(frozen=True)
class SegmentRead(Event):
    """A segment has been read. ``of``: the number of all segments; ``tokens``: the segment's length."""

    type = "segment.read"
    segment: int
    of: int
    document: str
    page: int | None
    section: str | None
    chars: Chars
    tokens: int
    line: int | None = None
    """The line where the segment begins, from 1; None: unknown."""
    page_label: str | None = None
    """The number printed on the page, if it differs from ``page``."""


@dataclass(frozen=True)
class SegmentScored(Event):
    """The relevance of a segment, 0 to 1, given everything read so far."""

    type = "segment.scored"
    segment: int
    relevance: float
    rank: int | None
    """The rank among the segments scored so far, from 1; None: the segment has no score, as its gain is too small."""
    unread_probability: float | None = None
    """P(an unread segment answers better than those that are read); None: unknown."""


@dataclass(frozen=True)
class MarginDelta(Event):
    """A piece of a margin that is being written."""

    type = "margin.delta"
    segment: int
    text: str


@dataclass(frozen=True)
class MarginJudged(Event):
    """A margin is complete, with its relevance. The policy is called next."""

    type = "margin.judged"
    segment: int
    document: str
    page: int | None
    section: str | None
    chars: Chars
    text: str
    quote: Chars | None
    """The place of ``text`` in the document; None if the text is in the model's own words. ``page``, ``section`` and
    ``line`` are those of the quotation, else of the segment; ``chars`` are always the segment's."""
    relevance: float
    """The relevance, 0 to 1, given everything read so far."""
    relevant: bool
    """True if an answer given now would draw on the margin."""
    header: str = ""
    """The table's header, if the margin is a row."""
    short: Chars | None = None
    """The place of the best words at which the model points; None if there are none."""
    line: int | None = None
    page_label: str | None = None
    """The number printed on the page, if it differs from ``page``."""


@dataclass(frozen=True)
class ReadingRanked(Event):
    """The scored segments, most relevant first. This event comes before the answer."""

    type = "reading.ranked"
    ranking: tuple[RankedSegment, ...]


@dataclass(frozen=True)
class ReadingFinished(Event):
    """The last event of a reading without a question."""

    type = "reading.finished"
    saved_tokens: int
    """The number of document tokens that are saved on disk now. ``tokens``: the number of all document tokens."""
    tokens: int
    model: str
    usage: Usage


@dataclass(frozen=True)
class AnswerProvisional(Event):
    """A sure answer, sent while reading continues. The next event of this type, or the final answer, replaces it."""

    type = "answer.provisional"
    short: str
    quote: Quote
    support: float
    read_segments: int
    segments: int


@dataclass(frozen=True)
class AnswerRevised(Event):
    """The reading continued after an answer and found better segments. A new answer from ``segments`` follows."""

    type = "answer.revised"
    segments: tuple[int, ...]


@dataclass(frozen=True)
class AnswerDelta(Event):
    """A piece of the answer."""

    type = "answer.delta"
    text: str


@dataclass(frozen=True)
class AnswerFinished(Event):
    """The whole answer; the last event of a question."""

    type = "answer.finished"
    text: str
    """The short answer with its quotation, or the model's own words."""
    finish_reason: FinishReason
    pattern: str
    model: str
    sources: tuple[Source, ...]
    usage: Usage
    read_segments: int = 0
    """The number of ``segments`` that were read."""
    segments: int = 0
    unread_probability: float | None = None
    """P(an unread segment answers better than those that are read); None: unknown."""
    status: AnswerStatus = "answered"
    """``not_found``: the documents do not seem to answer; ``unsure``: the answer may be wrong."""
    short: str = ""
    """The answer in a few words; may be empty."""
    span: Chars | None = None
    """The place of ``short`` in the document of the first quotation; None if ``short`` is not from there."""
    quotes: tuple[Quote, ...] = ()
    """The quotations that carry the answer, best first; for ``not_found``, the nearest ones."""
    support: float | None = None
    """P(the documents contain an answer) (`wim_edge.support`); None: unknown, for example if no segment was scored."""
    unsupported: tuple[str, ...] = ()
    """Numbers, codes, addresses and names in the answer's text that no passage contains."""
    evidence: dict[str, float] | None = None
    """{name: value} of the evidence from which the answer was judged, by the fields of `wim_edge.support.Evidence`."""
    citations: tuple[tuple[int, int], ...] = ()
    """Pairs (offset of a sentence's end in ``text``, index of its source in ``sources``), if a model wrote ``text``."""
    judge: str | None = None
    """The model that judged the passages, if it is not ``model``."""
    candidates: tuple[ScoredWords, ...] = ()
    """The candidate answers, best first, at most 16, with the terms of their scores."""
    confidence: float | None = None
    """P(``short`` is right): ``support`` times P(``short`` is the answer | there is one). None: unknown."""
    has_more: bool = False
    """True if unread segments are left. The same question with ``read_on`` continues with these segments."""
    query: str = ""
    """The SQL query, written by a model, that found the answer in a table's rows; empty without one."""


@dataclass(frozen=True)
class CompletionDelta(Event):
    """A piece of a completion, with the log-probabilities of its tokens if they were requested."""

    type = "completion.delta"
    text: str
    logprobs: tuple[TokenLogprob, ...]


@dataclass(frozen=True)
class CompletionFinished(Event):
    """The whole completion; the last event of `Runtime.complete`."""

    type = "completion.finished"
    text: str
    finish_reason: FinishReason
    model: str
    prompt_tokens: int
    cached_tokens: int
    """The number of prompt tokens that were in the cache, and so were not evaluated."""
    completion_tokens: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class TextEmbedded(Event):
    """The unit vector of a text. ``tokens``: the text's length in tokens of the embedding model."""

    type = "text.embedded"
    vector: tuple[float, ...]
    tokens: int


@dataclass(frozen=True)
class Warning(Event):
    """A message for the user; the work continues."""

    type = "warning"
    text: str


EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
_BY_TYPE = {kind.type: kind for kind in EVENTS}


def from_dict(data: Mapping[str, Any]) -> Event:
    """Returns the event for a dict of `Event.to_dict`, ignoring unknown fields. Raises ValueError for invalid data."""
    import msgspec

    if data.get("type") not in _BY_TYPE:
        raise ValueError(f"no event is called {data.get('type')!r}")
    return msgspec.convert(data, _BY_TYPE[data["type"]])


class Stream(Iterator[Event]):
    """An iterator over the events of one reading. Its end, `close`, or garbage collection closes ``stack``."""

    def __init__(self, stack: ExitStack, found: Iterator[Event]) -> None:
        self._events = _until_closed(stack, found)
        next(self._events)  # enters the stack, so that closing an unused stream closes the stack
        self.thread: int | None = None
        """The id of the thread that is now in `__next__` or `close` of this stream; None: no thread."""
        self.reader: int | None = None
        """The id of the thread that took the last event; None: no event was taken."""

    def __next__(self) -> Event:
        self.reader = threading.get_ident()
        event = self._enter(lambda: next(self._events))
        assert event is not None  # only the first item is None, and __init__ took it
        return event

    def close(self) -> None:
        """Ends the reading. Raises ValueError while another thread is inside this stream."""
        self._enter(self._events.close)

    def _enter(self, step: Callable[[], _T]) -> _T:
        before, self.thread = self.thread, threading.get_ident()
        try:
            return step()
        finally:
            self.thread = before


def _until_closed(stack: ExitStack, found: Iterator[Event]) -> Generator[Event | None, None, None]:
    with stack:
        yield None
        yield from found
