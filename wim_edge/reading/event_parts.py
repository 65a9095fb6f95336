"""The parts of events: their base, and the places, quotations, tokens and costs that they tell."""

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
    """The base of all events; ``type`` is its name in JSON."""

    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **asdict(self)}

    def to_json(self) -> str:
        """Returns one line of JSON, without a line end."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


@dataclass(frozen=True)
class RecalledPassage:
    """A passage of the library, with its document's name there and title; ``chars`` are those of the document."""

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
    """The scores by voice: bm25, title, passage, likelihood (`wim_edge.recall.recaller`)."""
    chosen: bool
    """True if it is read for the answer; those far behind the best one are not."""
    last_page: int | None = None
    """The page of its end; ``page`` is that of its beginning."""


@dataclass(frozen=True)
class RankedSegment:
    """A segment in the final order."""

    segment: int
    document: str
    chars: Chars
    relevance: float
    chosen: bool
    """True if the answer draws on it."""
    score: float | None = None
    """The relevance method's score: nats by which the segment makes the question likelier (likelihood), log-odds
    (verdict), or BM25. Unlike the relevance it is no share among segments: it is comparable over documents. None if an
    adapter tells the segments apart, and the segment was not among the first when it was read."""


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
    """The margin's text; empty if the pattern writes none."""
    quote: Chars | None
    """The margin's place in the document, word for word; None if it has none there."""
    path: str | None = None
    """The document's file, if it has one."""
    line: int | None = None
    row: int | None = None
    """The row of a sheet."""
    opens: str | None = None
    """The address that opens the file at the place, in the form for a person: "report.pdf#page=12", "notes.md:14"."""
    confidence: float | None = None
    """The mean confidence (0 to 1) with which the text of the page was recognised, if it is a picture."""
    page_label: str | None = None
    """The number that is printed on the page, where that is not ``page``."""


@dataclass(frozen=True)
class Quote:
    """Words of a document that carry the answer: a whole sentence, row of a table or item of a list."""

    text: str
    document: str
    page: int | None
    section: str | None
    chars: Chars
    header: str = ""
    """The header of the table, if the quotation is a row of one; else empty."""
    line: int | None = None
    page_label: str | None = None
    """The number that is printed on the page, where that is not ``page``."""


@dataclass(frozen=True)
class ScoredWords:
    """Words of a document that may answer, and their score: the weighted sum of its terms, in nats."""

    text: str
    document: str
    chars: Chars
    share: float
    """The probability that these words are the answer, given that one of the candidates is."""
    score: float
    terms: dict[str, float]
    """The terms of the score, by the names of `wim_edge.answer.candidates.Terms`, before they are weighted."""
    is_cell: bool = False
    """True if they are a cell of a row that was read alone."""


@dataclass(frozen=True)
class Usage:
    """The cost. ``seconds`` by stage (load, embed, prefill, margins, relevance, save, answer) and ``total``."""

    prefilled_tokens: int
    """The document tokens evaluated now, including those read again for the answer."""
    reused_tokens: int
    """The document tokens restored from a saved reading."""
    decoded_tokens: int
    """The tokens generated: margins and answer."""
    seconds: dict[str, float]
    peak_rss_bytes: int


@dataclass(frozen=True)
class TokenLogprob:
    """A decoded token, its bytes (perhaps part of a character), its log-probability in nats, and the likeliest tokens
    at its place."""

    text: str
    bytes: tuple[int, ...]
    logprob: float
    top: tuple[tuple[str, tuple[int, ...], float], ...]
