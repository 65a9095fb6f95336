"""The parts of events: their base class, places, quotations, tokens and costs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

FinishReason = Literal["stop", "length", "repeated", "early_exit", "cancelled"]
AnswerStatus = Literal["answered", "unsure", "not_found"]
Chars = tuple[int, int]
"""The range [start, end), in characters of the document's extracted text."""


@dataclass(frozen=True)
class Event:
    """The base of all events; ``type`` names the event in JSON."""

    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}

    def to_json(self) -> str:
        """Returns one line of JSON, without a line end."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


@dataclass(frozen=True)
class RecalledPassage:
    """A passage recalled from a library. ``document``: the name, in the library, of the document with this passage."""

    document: str
    title: str
    path: str
    page: int | None
    section: str | None
    chars: Chars
    text: str
    score: float
    """The weighted sum of ``scores``."""
    scores: dict[str, float]
    """The passage's scores by name: bm25, title, passage and likelihood (`wim_edge.recall.recaller`)."""
    chosen: bool
    """True if the passage is read for the answer."""
    last_page: int | None = None
    """The page on which the passage ends; ``page`` is the one on which the passage begins."""


@dataclass(frozen=True)
class RankedSegment:
    """A scored segment in the list of `ReadingRanked`."""

    segment: int
    document: str
    chars: Chars
    relevance: float
    chosen: bool
    """True if the answer draws on the segment."""
    score: float | None = None
    """The raw score, comparable between documents: in nats (likelihood methods), log-odds (verdict), or a BM25 score.
    None: an adapter ranked the segment too low for the relevance method to score the segment."""


@dataclass(frozen=True)
class Source:
    """A segment that the answer draws on, with its place in the document."""

    segment: int
    document: str
    page: int | None
    section: str | None
    chars: Chars
    relevance: float
    margin: str
    """The answer's quotation that begins in this segment, else the segment's margin; empty without either."""
    quote: Chars | None
    """The place of ``margin`` in the document; None if ``margin`` is empty or in the model's own words."""
    path: str | None = None
    """The path of the document's file; None if the document has no file."""
    line: int | None = None
    row: int | None = None
    """The row number in a sheet or a CSV file, from 1."""
    opens: str | None = None
    """The address that opens the file at this place, such as "report.pdf#page=12" or "notes.md:14"."""
    confidence: float | None = None
    """The mean OCR confidence of the page, 0 to 1; None if the page is not a scan."""
    page_label: str | None = None
    """The number printed on the page, if it differs from ``page``."""


@dataclass(frozen=True)
class Quote:
    """A sentence, table row or list item that carries the answer."""

    text: str
    document: str
    page: int | None
    section: str | None
    chars: Chars
    header: str = ""
    """The table's header, if the quotation is a row."""
    line: int | None = None
    page_label: str | None = None
    """The number printed on the page, if it differs from ``page``."""
    row: int | None = None
    """The row number in a sheet or a CSV file, from 1."""


@dataclass(frozen=True)
class ScoredWords:
    """A candidate answer: words of a document, with their score in nats."""

    text: str
    document: str
    chars: Chars
    share: float
    """P(these words are the answer | one of the candidates is the answer)."""
    score: float
    """The weighted sum of ``terms``."""
    terms: dict[str, float]
    """The unweighted terms, by their names in `wim_edge.answer.candidates.Terms`."""
    is_cell: bool = False
    """True if the words are a table cell whose row was read alone."""
    place: str = ""
    """The place of the words, for a person: the document's name, and the page, section or line."""


@dataclass(frozen=True)
class Usage:
    """The cost of a request. ``seconds``: wall-clock time by stage (load, prefill, answer, ...) and ``total``."""

    prefilled_tokens: int
    """The number of document tokens evaluated for this request. A token that was evaluated twice counts twice."""
    reused_tokens: int
    """The number of document tokens restored from a saved reading."""
    decoded_tokens: int
    """The number of tokens generated for margins and answer."""
    seconds: dict[str, float]
    peak_rss_bytes: int


@dataclass(frozen=True)
class TokenLogprob:
    """A token. ``bytes`` may be part of a character. ``top``: likeliest tokens as (text, bytes, logprob in nats)."""

    text: str
    bytes: tuple[int, ...]
    logprob: float
    top: tuple[tuple[str, tuple[int, ...], float], ...]
