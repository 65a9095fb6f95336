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
    """A passage recalled from a library. ``document`` is its document's name in the library."""

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
    """The scores bm25, title, passage and likelihood (`wim_edge.recall.recaller`)."""
    chosen: bool
    """True if the passage is read for the answer."""
    last_page: int | None = None
    """The page where the passage ends; it begins on ``page``."""


@dataclass(frozen=True)
class RankedSegment:
    """A segment in the final order."""

    segment: int
    document: str
    chars: Chars
    relevance: float
    chosen: bool
    """True if the answer draws on the segment."""
    score: float | None = None
    """The relevance method's score, comparable across documents: gain in log P(question) in nats (likelihood), log-odds
    (verdict), or BM25. None if an adapter ranks the segments and ranked this one too low when it was read."""


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
    """The margin's text; empty without margins."""
    quote: Chars | None
    """The margin's place in the document; None if it is in the model's own words."""
    path: str | None = None
    """The document's file, if it has one."""
    line: int | None = None
    row: int | None = None
    """The row of a sheet."""
    opens: str | None = None
    """The address that opens the file at the place: "report.pdf#page=12", "notes.md:14"."""
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
    """The row of a sheet."""


@dataclass(frozen=True)
class ScoredWords:
    """A candidate answer: words of a document, with their score in nats."""

    text: str
    document: str
    chars: Chars
    share: float
    """P(these words are the answer | one of the candidates is)."""
    score: float
    """The weighted sum of ``terms``."""
    terms: dict[str, float]
    """The unweighted terms, by their names in `wim_edge.answer.candidates.Terms`."""
    is_cell: bool = False
    """True for a cell of a row that was read alone."""
    place: str = ""
    """Document and page, section or line."""


@dataclass(frozen=True)
class Usage:
    """The cost. ``seconds`` by stage (load, embed, prefill, margins, relevance, save, answer) and ``total``."""

    prefilled_tokens: int
    """Document tokens evaluated now, including those read again for the answer."""
    reused_tokens: int
    """Document tokens restored from a saved reading."""
    decoded_tokens: int
    """Tokens generated for margins and answer."""
    seconds: dict[str, float]
    peak_rss_bytes: int


@dataclass(frozen=True)
class TokenLogprob:
    """A decoded token: text, bytes (may be part of a character), log-probability in nats; ``top``: likeliest tokens."""

    text: str
    bytes: tuple[int, ...]
    logprob: float
    top: tuple[tuple[str, tuple[int, ...], float], ...]
