"""What events are made of: their base, and the places, quotations, tokens and costs that they tell."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
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
class TokenLogprob:
    """A decoded token, its bytes (perhaps part of a character), its log-probability in nats, and the likeliest ones
    at its place."""

    text: str
    bytes: tuple[int, ...]
    logprob: float
    top: tuple[tuple[str, tuple[int, ...], float], ...]
