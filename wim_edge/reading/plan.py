"""The plan of a reading, made before it starts: segments, windows and the context's size. Nothing is cut silently:
texts that exceed the context raise an error or, with margins, are read in windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence as Seq
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from wim_edge.documents import Document, Segment, split
from wim_edge.documents.place_links import opens, page_text
from wim_edge.documents.segments import Tokenize
from wim_edge.documents.tables import header_above, tables
from wim_edge.engine.available_memory import memory_hint
from wim_edge.engine.batches import grouped
from wim_edge.engine.memory_estimate import padded
from wim_edge.engine.protocols import Model
from wim_edge.errors import ContextOverflowError, InvalidRequestError
from wim_edge.reading import events
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.cuts import labels_apart_from
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.ranking import Outlook, outlook
from wim_edge.reading.resolved_settings import ResolvedSettings
from wim_edge.settings import Settings

_SLACK = 32  # spare tokens: joined texts may be tokenized differently
_SMALLEST = 16  # the fewest tokens of a segment
_COUNTED = 1 << 14  # characters that `check_fits` tokenizes at once
_LABEL = 24  # tokens reserved for a margin's place in the final prompt
_SECTION, _HEADER = 24, 40  # tokens of a section's heading and of a table's header; longer ones are left out
BLANK_LINE = "\n\n"  # separates documents
_MARGINS_AT_LEAST = 2  # relevant margins that must fit beside the whole context


@dataclass(frozen=True)
class PlannedSegment:
    """A segment with its heading: the document's name and, in shallow reading, the section and table header."""

    segment: Segment
    heading: str
    heading_tokens: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        return self.heading + self.segment.text

    @property
    def chars(self) -> tuple[int, int]:
        """The segment's range ``[start, end)``, in characters of the document."""
        return self.segment.start, self.segment.end

    @property
    def tokens(self) -> tuple[int, ...]:
        return (*self.heading_tokens, *self.segment.tokens)

    @property
    def size(self) -> int:
        return len(self.heading_tokens) + len(self.segment.tokens)


@dataclass(frozen=True)
class Plan:
    """The plan of a reading. Sizes are in tokens."""

    documents: tuple[Document, ...]
    query: str
    prefix: tuple[int, ...]
    """The tokens of the system text and of the beginning of the user's turn."""
    margin_prompt: tuple[int, ...]
    """The tokens that follow a segment and ask for a margin (`make_margin_prompt`)."""
    windows: tuple[tuple[PlannedSegment, ...], ...]
    n_ctx: int
    reserved: int
    """The number of cells to keep free: for scoring, and for the tokens that joining texts may add."""
    outlook: Outlook | None = None
    """The prior that orders the segments in shallow reading; None in deep reading or without a question."""

    @cached_property
    def segments(self) -> tuple[PlannedSegment, ...]:
        return tuple(piece for window in self.windows for piece in window)

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The number of each window's first segment, for segments numbered over all windows."""
        return tuple(accumulate(map(len, self.windows[:-1]), initial=0))

    @property
    def order(self) -> tuple[int, ...]:
        """The windows' numbers in the order of reading."""
        return tuple(range(len(self.windows))) if self.outlook is None else self.outlook.order

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Prompt labels, such as "Answer:", that no document contains. In an answer they are echoes of the prompt."""
        return labels_apart_from(document.text for document in self.documents)

    @property
    def tokens(self) -> int:
        """The number of tokens in the documents' text, without headings."""
        return sum(len(piece.segment.tokens) for piece in self.segments)

    def document_of(self, index: int) -> Document:
        return self.documents[self.segments[index].segment.document]


@dataclass(frozen=True)
class Limit:
    """The most tokens that a context may have. ``larger``: advice to the user on how to raise this limit."""

    tokens: int
    larger: str


def make_plan(
    model: Model, chat: ChatFormat, prompts: Prompts, resolved: ResolvedSettings, documents: Seq[Document], query: str,
    scoring: int, tokenize: Tokenize,
) -> Plan:  # fmt: skip
    """Returns the plan: the documents divided into segments and windows, and the context's size. ``scoring``: the
    number of cells that the relevance method needs. ``tokenize``: the model's tokenizer for documents; may raise to
    stop the planning. Raises ContextOverflowError, InvalidRequestError."""
    pattern, settings = resolved.pattern, resolved.settings
    most = context_limit(settings, model.info.n_ctx_train, model.largest_n_ctx)
    limit, larger = most.tokens, most.larger
    before = prompts.query_first(query) if settings.query_first else ""
    system = prompts.system(read=bool(documents), margins=pattern.margins and not resolved.margins_are_pointed_at)
    prefix = (*chat.opening(model, system), *model.tokenize(before))
    asking = make_margin_prompt(model, chat, prompts, resolved, query)
    question = len(model.tokenize(prompts.answer(query, (), read=bool(documents)))) + len(chat.after_user)
    question += settings.answer_tokens
    note = resolved.margin_tokens + _LABEL if pattern.margins else 0
    margin = len(asking) + resolved.decoded_tokens if pattern.margins else 0
    reserved = _SLACK + scoring
    beside = reserved + len(prefix) + max(margin, question) + note * _MARGINS_AT_LEAST
    if beside + (_SMALLEST if documents else 0) > limit:
        raise ContextOverflowError(
            f"question and prompts do not fit: {_numbers(limit, beside)}",
            f"{larger[0].upper()}{larger[1:]}, lower --answer-tokens or --margin-tokens, or shorten the question.",
        )
    if documents and pattern.scores and beside + resolved.segment_tokens > limit:
        raise InvalidRequestError(
            f"segments of {resolved.segment_tokens:,} tokens do not fit: {_numbers(limit, beside)}",
            f"Use --segment-tokens {limit - beside:,} or less, or {larger}.",
        )
    if pattern.needs_full_context:
        check_fits(lambda text: len(tokenize(text)), documents, most)
    pieces = _segment(tokenize, prompts, resolved, documents)
    total = sum(piece.size for piece in pieces)
    longest = max((piece.size for piece in pieces), default=0)
    passages = resolved.max_passages * (note + longest) if pattern.answers_from_passages else 0
    need = beside + (total if pattern.deep else 0)
    if need > limit and pattern.needs_full_context:
        raise _too_long(f"{total:,} tokens; with the question and the answer that is {need:,}", most)
    windows: tuple[tuple[PlannedSegment, ...], ...] = tuple((piece,) for piece in pieces)
    if pattern.deep:
        # Padded, so that the question's length doesn't move the windows: saved readings must match
        room = need if need <= limit else max(limit - padded(beside), resolved.segment_tokens)
        windows = tuple(map(tuple, grouped(pieces, lambda piece: (piece.size, 0), room, 0))) or ((),)
    n_ctx = min(limit, padded(need + passages + note * (0 if pattern.answers_from_passages else len(pieces))))
    n_ctx = limit if need > limit else n_ctx
    ahead = None
    if query and pattern.scores and not pattern.deep:
        ahead = outlook([piece.text for piece in pieces], query, [piece.segment.document for piece in pieces])
    return Plan(tuple(documents), query, prefix, asking, windows, n_ctx, reserved, ahead)


def make_margin_prompt(
    model: Model, chat: ChatFormat, prompts: Prompts, resolved: ResolvedSettings, query: str
) -> tuple[int, ...]:
    """Returns the tokens that ask for a margin: for a chat model the end of the user's turn, for others "Answer:"."""
    if resolved.margins_are_pointed_at and (model.has_adapter or not chat.is_chat):
        return tuple(model.tokenize(prompts.ask("pointing", query)))
    name = "quotation" if resolved.margins_are_pointed_at else "extractive_summary"
    return (*model.tokenize(prompts.ask(name, query)), *chat.after_user)


def context_limit(settings: Settings, n_ctx_train: int, largest: Callable[[], int]) -> Limit:
    """Returns the most tokens of a context: what the settings and the model's training allow. If the settings name no
    size, the memory counts too. ``largest``: returns the most tokens that fit the memory."""
    limit = min(settings.n_ctx or n_ctx_train, n_ctx_train)
    if settings.n_ctx is None and (fits := largest()) < limit:
        return Limit(fits, f"{memory_hint()}: memory holds no larger context of this model")
    return Limit(limit, "raise --ctx" if limit < n_ctx_train else "use a model with a larger context")


def check_fits(count: Callable[[str], int], documents: Seq[Document], limit: Limit) -> None:
    """Raises ContextOverflowError once the documents' tokens exceed the limit. ``count``: counts a text's tokens."""
    size = sum(len(document.text) for document in documents)
    seen = tokens = slack = 0
    for document in documents:
        for start in range(0, len(document.text), _COUNTED):
            piece = document.text[start : start + _COUNTED]
            seen += len(piece)
            tokens += count(piece)
            slack += _SLACK
            if tokens - slack > limit.tokens:
                raise _too_long(f"about {tokens * size // seen:,} tokens", limit)


def _too_long(have: str, limit: Limit) -> ContextOverflowError:
    return ContextOverflowError(
        f"the documents have {have}, and the context holds {limit.tokens:,}",
        f"Use --pattern wim-shallow or wim, which read longer documents, or {limit.larger}.",
    )


def _numbers(limit: int, beside: int) -> str:
    return f"prompts, margin and answer take {beside:,} tokens, the context holds {limit:,}"


def _segment(
    tokenize: Tokenize, prompts: Prompts, resolved: ResolvedSettings, documents: Seq[Document]
) -> tuple[PlannedSegment, ...]:
    pieces = []
    for index, document in enumerate(documents):
        name = document.heading if document.path else document.name
        heading = prompts.document(name, title=document.heading, several=len(documents) > 1)
        between = tokenize(BLANK_LINE) if index and resolved.pattern.deep else ()
        lead = (*between, *tokenize(heading))
        alone = not resolved.pattern.deep
        budget = resolved.segment_tokens - len(lead)
        if budget < _SMALLEST:
            raise InvalidRequestError(
                f"segments of {resolved.segment_tokens} tokens leave no room beside the heading of {document.name}",
                "Use larger segments (--segment-tokens).",
            )
        sections = alone and any(mark.section for mark in document.marks)
        room = min(_SECTION, budget // 4) if sections else 0
        spare = min(_HEADER, budget // 4) if alone and tables(document.text) else 0
        for start, end in document.parts or ((0, len(document.text)),):
            for part in split(document.text[start:end], budget - room - spare, tokenize, index):
                segment = replace(part, start=start + part.start, end=start + part.end)
                above = _section(document, segment, heading) if sections else ""
                tokens = tokenize(above) if above else ()
                if len(tokens) > room:
                    above, tokens = "", ()
                header = header_above(document.text, segment.start) if spare else ""
                header_tokens = tokenize(f"{header}\n") if header else ()
                if 0 < len(header_tokens) <= spare:
                    above, tokens = f"{above}{header}\n", (*tokens, *header_tokens)
                pieces.append(PlannedSegment(segment, heading + above, (*lead, *tokens)))
                lead = lead if alone else ()
    return tuple(pieces)


def _section(document: Document, segment: Segment, heading: str) -> str:
    """Returns a segment's section title and a blank line; "" if there is no title, or heading or segment shows it."""
    section = document.place(segment.start, segment.end).section or ""
    is_shown = section.casefold() in heading.casefold() or segment.text.lstrip(" \n#").startswith(section)
    return "" if is_shown else f"{section}{BLANK_LINE}"


def source_label(document: Document, start: int, end: int, several: bool, *, lines: bool = False) -> str:
    """Returns the place of characters ``[start, end)`` in words, such as "report.pdf, page 12"; may be empty.
    ``several``: includes the document's name. ``lines``: gives the line if there is no page or section."""
    place = document.place(start, end)
    parts = [document.name] if several else []
    if place.page is not None:
        parts.append(page_text(place.page, place.page_label))
    elif place.section and [place.section] != parts:
        parts.append(place.section[:60])
    elif lines and place.line is not None and "\n" in document.text.strip():
        parts.append(f"line {place.line}")
    return ", ".join(parts)


def source_of(
    document: Document, segment: int, chars: events.Chars, relevance: float, text: str, quote: events.Chars | None
) -> events.Source:
    """Returns the source for a segment. ``text``: a margin or quotation; ``quote``: the place of ``text``, or None."""
    place, path = document.place(*(quote or chars)), document.path
    return events.Source(
        segment, document.name, place.page, place.section, chars, relevance, text, quote, str(path) if path else None,
        place.line, place.row, opens(path, place) if path else None, place.confidence,
        place.page_label,
    )  # fmt: skip
