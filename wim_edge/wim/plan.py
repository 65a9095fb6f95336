"""What will be read and how it fits, settled before any work starts.

Nothing is silently cut: a context that does not hold what is asked is an error with the numbers, or
for `wim` the named strategy of reading in windows.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

from wim_edge.documents import Document, Segment, split
from wim_edge.engine.api import Model
from wim_edge.engine.memory import padded
from wim_edge.errors import ContextOverflowError, InvalidRequestError
from wim_edge.settings import Settings
from wim_edge.wim.chat import ChatFormat
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.relevance import prompt_parts

_SLACK = 32  # tokenization of pieces put together may differ by a few tokens
_LABEL = 24  # tokens of a margin's place in the final prompt, usually fewer
_MARGINS_AT_LEAST = 2  # so many relevant margins must fit beside the whole context, else windows


@dataclass(frozen=True)
class Piece:
    """A segment with what stands before it in the cache: a document's heading, where one begins."""

    segment: Segment
    lead: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return len(self.lead) + len(self.segment.tokens)


@dataclass(frozen=True)
class Plan:
    """A reading, laid out. Sizes in tokens."""

    documents: tuple[Document, ...]
    query: str
    opening: tuple[int, ...]
    """System text and the opening of the user's turn."""
    extract: tuple[int, ...]
    """The extractive prompt with the end of the turn."""
    windows: tuple[tuple[Piece, ...], ...]
    n_ctx: int
    """Cells the context must have."""
    reserved: int
    """Cells of it that are not for the context, the final prompt or the answer."""

    segments: tuple[Piece, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", tuple(piece for window in self.windows for piece in window))

    @property
    def tokens(self) -> int:
        """Tokens of the documents' text."""
        return sum(len(piece.segment.tokens) for piece in self.segments)


def make_plan(
    model: Model, chat: ChatFormat, prompts: Prompts, settings: Settings, documents: Seq[Document], query: str
) -> Plan:
    """Segment the documents and choose the context. Raises ContextOverflowError, InvalidRequestError."""
    limit = min(settings.n_ctx or model.info.n_ctx_train, model.info.n_ctx_train)
    if settings.n_ctx is None:
        limit = min(limit, model.largest_n_ctx())
    opening = tuple(chat.opening(model, prompts.system()))
    end = len(chat.after_user)
    extract = (*model.tokenize(prompts.extract(query)), *chat.after_user)
    question = len(model.tokenize(prompts.answer(query, (), windowed=False))) + end + settings.answer_tokens
    classify = sum(map(len, prompt_parts(model, chat, prompts, query))) + settings.margin_tokens + _SLACK
    wim = settings.pattern == "wim"
    reserved = _SLACK + (classify if wim else 0)
    beside = reserved + len(opening) + (max(len(extract) + settings.margin_tokens, question) if wim else question)
    each = settings.margin_tokens + _LABEL if wim else 0
    beside += each * _MARGINS_AT_LEAST
    if beside + settings.segment_tokens > limit:
        raise _too_small(settings, limit, beside)
    pieces = _segment(model, prompts, settings, documents)
    total = sum(piece.size for piece in pieces)
    need = beside + total
    if need <= limit:
        n_ctx = min(limit, padded(need + each * len(pieces)))
        return Plan(tuple(documents), query, opening, extract, (pieces,), n_ctx, reserved)
    if not wim:
        raise ContextOverflowError(
            f"the documents have {total:,} tokens; with the question and the answer that is {need:,}, "
            f"and the context holds {limit:,}",
            "Use --pattern wim, which reads in windows, or a model with a larger context.",
        )
    windows = _windows(pieces, limit - beside)
    return Plan(tuple(documents), query, opening, extract, windows, limit, reserved)


def _too_small(settings: Settings, limit: int, beside: int) -> Exception:
    largest = limit - beside
    numbers = f"{limit:,} tokens of context, {beside:,} of them for prompts, margin and answer"
    if largest < 16:
        return ContextOverflowError(
            f"question and prompts do not fit: {numbers}",
            "Raise --ctx, lower --answer-tokens or --margin-tokens, or shorten the question.",
        )
    return InvalidRequestError(
        f"segments of {settings.segment_tokens:,} tokens do not fit: {numbers}",
        f"Use --segment-tokens {largest:,} or less, or raise --ctx.",
    )


def _segment(model: Model, prompts: Prompts, settings: Settings, documents: Seq[Document]) -> tuple[Piece, ...]:
    pieces = []
    for index, document in enumerate(documents):
        lead = tuple(model.tokenize(prompts.document(document.name, several=len(documents) > 1)))
        budget = settings.segment_tokens - len(lead)
        if budget < 16:
            raise InvalidRequestError(
                f"segments of {settings.segment_tokens} tokens leave no room beside the heading of {document.name}",
                "Use larger segments (--segment-tokens).",
            )
        for segment in split(document.text, budget, model.tokenize, index):
            pieces.append(Piece(segment, lead))
            lead = ()
    return tuple(pieces)


def _windows(pieces: Seq[Piece], room: int) -> tuple[tuple[Piece, ...], ...]:
    """Consecutive pieces, as many to a window as fit."""
    windows: list[list[Piece]] = [[]]
    used = 0
    for piece in pieces:
        if windows[-1] and used + piece.size > room:
            windows.append([])
            used = 0
        windows[-1].append(piece)
        used += piece.size
    return tuple(map(tuple, windows))


def place_of(document: Document, start: int, end: int, several: bool) -> str:
    """How the final prompt and the display name a place: "report.pdf, page 12"."""
    place = document.place(start, end)
    parts = [document.name] if several else []
    if place.page is not None:
        parts.append(f"page {place.page}")
    elif place.section:
        parts.append(place.section[:60])
    return ", ".join(parts) or f"characters {start}-{end}"
