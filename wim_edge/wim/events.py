"""What a reading tells its reader, as it happens: frozen dataclasses, and their JSON form.

One generator of these events is the runtime's spine; the command line, and any host application,
are only consumers of it. `to_json` gives an object with ``type`` first; docs/events.md describes each.
Consumers should pass over types that they do not know.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal

FinishReason = Literal["stop", "length", "repeated", "early_exit", "cancelled"]
Status = Literal["answered", "unsure", "not_found"]
Chars = tuple[int, int]
"""[start, end) in characters of the document's extracted text."""


@dataclass(frozen=True)
class Event:
    """Base of all events; ``type`` is its name in JSON."""

    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}

    def to_json(self) -> str:
        """One line of JSON, without a line end."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


@dataclass(frozen=True)
class QuestionSettled(Event):
    """A question is not asked as it was put: it is completed by what was asked and answered before it, or it was not
    clear what of a message is the question."""

    type = "question.settled"
    question: str
    asked_as: str
    why: str


@dataclass(frozen=True)
class RecallStarted(Event):
    """A library is searched for what may answer the question."""

    type = "recall.started"
    library: str
    documents: int
    model: str
    chooser: str


@dataclass(frozen=True)
class TitlesRecalled(Event):
    """The titles that the model recalls, the best first, and how much likelier the question makes each, nats."""

    type = "recall.titles"
    titles: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class RecalledPassage:
    """A passage of the library, its document's name there and title; ``chars`` are those of the document."""

    document: str
    title: str
    path: str
    page: int | None
    section: str | None
    chars: Chars
    text: str
    score: float
    """The weighted sum of what speaks for it."""
    scores: dict[str, float]
    """By voice: bm25, title, passage, likelihood (`wim_edge.recall.recaller`)."""
    chosen: bool
    """Whether it is read for the answer; those far behind the best one are not."""
    last_page: int | None = None
    """``page`` is that of its beginning."""


@dataclass(frozen=True)
class PassagesRecalled(Event):
    """The passages, the best first; the last event of a recall."""

    type = "recall.passages"
    passages: tuple[RecalledPassage, ...]
    decoded_tokens: int
    """Evaluated for the beams."""
    prefilled_tokens: int
    """Of passages that were read to judge them."""
    seconds: float


@dataclass(frozen=True)
class ReadingStarted(Event):
    """The plan, before the first token is read. Sizes in tokens."""

    type = "reading.started"
    model: str
    pattern: str
    documents: tuple[str, ...]
    segments: int
    tokens: int
    n_ctx: int
    windows: int
    """1: the whole context is in the cache at the end; more: it is longer than the cache; 0: each segment
    is read alone."""
    relevance: str | None
    """The method that scores; None where nothing is scored."""
    within: str | None = None
    """How much is read at most (`Settings.within`); None: all, and "auto" where the order is free."""
    read_segments: int = 0
    """Segments that were read before, where the reading goes on after an answer."""
    why: str | None = None
    """Why it is this pattern; None where the user has chosen it."""
    judge: str | None = None
    """The model that scores, where it is not the one that reads."""


@dataclass(frozen=True)
class ReadingOrder(Event):
    """The segments in the order in which they are read, where that is not the document's."""

    type = "reading.order"
    segments: tuple[int, ...]


@dataclass(frozen=True)
class SegmentsEmbedded(Event):
    """So many segments are embedded, of so many that are to be before they are read; a new order follows."""

    type = "segments.embedded"
    segments: int
    of: int


@dataclass(frozen=True)
class ReadingProgress(Event):
    """So many document tokens are read, of so many; after every prefill batch."""

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
    """Of the document's text, from 1, in which it begins; None: not known."""


@dataclass(frozen=True)
class SegmentScored(Event):
    """How much a segment matters, as of what has been read so far (0 to 1)."""

    type = "segment.scored"
    segment: int
    relevance: float
    rank: int | None
    """Its place among the segments scored so far, from 1; None: a gate held it back."""
    unread_probability: float | None = None
    """That a segment not read yet answers better; None: nothing is known of those."""


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
    """Where the text stands in the document, word for word; None: it is in the model's own words.
    ``page`` and ``section`` are those of the quotation, else of the segment's beginning, ``chars`` the segment's."""
    relevance: float
    """To the question, 0 to 1, as of what has been read so far."""
    relevant: bool
    """Whether it would stand beside the question if the answer were given now."""
    header: str = ""
    """Of a row of a table, the row that heads it."""
    short: Chars | None = None
    """The characters in the quotation that answer the question, as the model points at them."""
    line: int | None = None
    """As ``page``."""


@dataclass(frozen=True)
class RankedSegment:
    """A segment in the final order."""

    segment: int
    document: str
    chars: Chars
    relevance: float
    chosen: bool
    """Whether the answer draws on it."""
    score: float | None = None
    """What the relevance method gave it: nats by which it makes the question likelier (likelihood), log-odds
    (verdict), BM25. Unlike the relevance no share among segments: comparable over documents. None where an adapter
    tells the segments apart, and it was not among the first when it was read."""


@dataclass(frozen=True)
class ReadingRanked(Event):
    """The scored segments, most relevant first; once, before the answer."""

    type = "reading.ranked"
    ranking: tuple[RankedSegment, ...]


@dataclass(frozen=True)
class AnswerRevised(Event):
    """The reading went on after an answer and others are the best segments now: the answer is given again, from
    these."""

    type = "answer.revised"
    segments: tuple[int, ...]


@dataclass(frozen=True)
class AnswerDelta(Event):
    """A piece of the answer."""

    type = "answer.delta"
    text: str


@dataclass(frozen=True)
class Source:
    """A place that the answer draws on."""

    segment: int
    document: str
    page: int | None
    section: str | None
    chars: Chars
    relevance: float
    margin: str
    """Empty where the pattern writes none."""
    quote: Chars | None
    """Where the margin stands in the document, word for word."""
    path: str | None = None
    """The document's file, if it has one."""
    line: int | None = None


@dataclass(frozen=True)
class Quote:
    """Words of a document that carry the answer: a whole sentence, row of a table or item of a list."""

    text: str
    document: str
    page: int | None
    section: str | None
    chars: Chars
    header: str = ""
    """Of a row of a table, the row that heads it."""
    line: int | None = None


@dataclass(frozen=True)
class Usage:
    """What it cost. ``seconds`` by stage (load, embed, prefill, margins, relevance, save, answer) and ``total``."""

    prefilled_tokens: int
    """Document tokens evaluated now, those read again for the answer too."""
    reused_tokens: int
    """Document tokens restored from a saved reading."""
    decoded_tokens: int
    """Tokens generated: margins and answer."""
    seconds: dict[str, float]
    peak_rss_bytes: int


@dataclass(frozen=True)
class ReadingFinished(Event):
    """The last event of reading ahead, without a question."""

    type = "reading.finished"
    saved_tokens: int
    """Document tokens that the library now holds."""
    tokens: int
    """Document tokens in all."""
    model: str
    usage: Usage


@dataclass(frozen=True)
class AnswerFinished(Event):
    """The whole answer; the last event where a question was asked."""

    type = "answer.finished"
    text: str
    """What a person reads: the short answer and the quotation that carries it, or the model's own words."""
    finish_reason: FinishReason
    pattern: str
    model: str
    sources: tuple[Source, ...]
    usage: Usage
    read_segments: int = 0
    """Segments that the answer knows of,"""
    segments: int = 0
    """of so many: fewer where the reader stopped it, or no more was to be read (`Settings.within`)."""
    unread_probability: float | None = None
    """That one of the others answers better; None: nothing is known of those."""
    status: Status = "answered"
    """``not_found``: the documents do not seem to say; ``unsure``: it may be another."""
    short: str = ""
    """The answer in a few words; empty where there is none, or none was pointed at."""
    span: Chars | None = None
    """Where it stands in the document of the first quotation; None where it is no run of it."""
    quotes: tuple[Quote, ...] = ()
    """What carries it, the best first; where nothing was found, what comes nearest."""
    support: float | None = None
    """How likely the documents hold an answer, 0 to 1 (`wim_edge.support`); None: nothing was scored."""
    unsupported: tuple[str, ...] = ()
    """Numbers, codes and addresses in the text that stand in no passage that it was given from."""
    evidence: dict[str, float] | None = None
    """What the support rests on, by the names of `wim_edge.support.Evidence`."""


@dataclass(frozen=True)
class TokenLogprob:
    """A decoded token, its bytes (perhaps part of a character), its log-probability in nats, and the likeliest ones
    at its place."""

    text: str
    bytes: tuple[int, ...]
    logprob: float
    top: tuple[tuple[str, tuple[int, ...], float], ...]


@dataclass(frozen=True)
class CompletionDelta(Event):
    """A piece of a text that goes straight on from a prompt; ``logprobs`` of the tokens since the last piece, where
    they were asked for."""

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
    """Of the prompt, that were in the cache from the completion before."""
    completion_tokens: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class Warning(Event):
    """Something the reader should know; the work goes on."""

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
    SegmentRead,
    SegmentScored,
    MarginDelta,
    MarginJudged,
    ReadingRanked,
    ReadingFinished,
    AnswerRevised,
    AnswerDelta,
    AnswerFinished,
    CompletionDelta,
    CompletionFinished,
    Warning,
)

_BY_TYPE = {kind.type: kind for kind in EVENTS}


def from_dict(data: Mapping[str, Any]) -> Event:
    """The event whose `Event.to_dict` this is. Raises ValueError for one that is not known here."""
    if data.get("type") not in _BY_TYPE:
        raise ValueError(f"no event is called {data.get('type')!r}")
    found = _made(_BY_TYPE[data["type"]], data)
    assert isinstance(found, Event)
    return found


def _made(hint: Any, value: Any) -> Any:
    """What JSON made a dict or a list of, as it was."""
    if is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        names = [field.name for field in fields(hint) if field.name in value]
        return hint(**{name: _made(hints[name], value[name]) for name in names})  # type: ignore[operator]
    options = typing.get_args(hint)
    if isinstance(hint, types.UnionType):
        return None if value is None else _made(next(one for one in options if one is not types.NoneType), value)
    if typing.get_origin(hint) is tuple:
        kinds = [options[0]] * len(value) if options[-1] is Ellipsis else options
        return tuple(_made(kind, one) for kind, one in zip(kinds, value, strict=True))
    return value
