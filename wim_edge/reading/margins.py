"""Margins: notes on segments, as quotations or in the model's own words (Writing in the Margins, section 3.2). A margin
is decoded on a fork of the reading's sequence, directly after its segment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wim_edge.documents import Segment
from wim_edge.engine.protocols import Context, Model, Sequence
from wim_edge.engine.sampling import Sampler
from wim_edge.reading.events import Chars
from wim_edge.reading.generate import Generation
from wim_edge.reading.plan import Plan
from wim_edge.reading.pointing import Pointed, Pointer
from wim_edge.reading.prompts import NOT_RELEVANT
from wim_edge.reading.quotation import Quotation, bare_lines, quotation, words_lost
from wim_edge.reading.resolved_settings import ResolvedSettings
from wim_edge.reading.timings import Timings

_CHARS_A_TOKEN = 4
_NEARLY, _BETWEEN = 0.8, "\n\n"  # a paragraph of at least this share of its segment is not read again
WORDS = 0.6
"""The nats that a run loses for each point that its sentence or row misses (`words.missed_points`, docs/choices.md)."""


@dataclass(frozen=True)
class Margin:
    """A note on a segment. ``quote`` and ``pointed`` are None if the note is in the model's own words."""

    text: str
    quote: Chars | None
    header: str = ""
    """The table's header, if the margin is a row."""
    pointed: Pointed | None = None


@dataclass
class MarginWriter:
    """Writes the margins of one reading."""

    model: Model
    context: Context
    plan: Plan
    resolved: ResolvedSettings
    sampler: Sampler
    stops: tuple[str, ...]
    clock: Timings
    decoded_tokens: int = 0
    pointer: Pointer = field(init=False)

    def __post_init__(self) -> None:
        self.pointer = Pointer(self.model, self.context, self.resolved.run_tokens)

    def log_odds(self, sequence: Sequence) -> float:
        """Returns the adapter's log-odds, in nats, that the sequence contains an answer; leaves it unchanged."""
        with sequence.fork() as branch, self.context.adapted():
            branch.append(self.plan.margin_prompt)
            return self.pointer.log_odds(branch.logits)

    def write(self, index: int, branch: Sequence) -> Iterator[str | Margin]:
        """Yields the margin of segment ``index`` as a `Margin`. If the model words the margin, first yields pieces of
        the text. Appends to ``branch``, which ends with the segment. Raises Interrupted, ContextOverflowError."""
        if self.resolved.margins_are_pointed_at:
            yield self._verbatim(index, branch)
        else:
            yield from self._free(branch)

    def _free(self, branch: Sequence) -> Iterator[str | Margin]:
        with self.clock.stage("margins"):
            branch.append(self.plan.margin_prompt)
        generation = Generation(
            self.model, branch, self.sampler, self.resolved.margin_tokens, self.stops, NOT_RELEVANT,
            labels=self.plan.labels,
        )  # fmt: skip
        try:
            yield from self.clock.each("margins", generation.pieces())
        finally:
            self.decoded_tokens += generation.n_tokens
        text = " ".join(generation.text.split())
        yield Margin(text + "…" if text and generation.finish_reason == "length" else text, None)

    def _verbatim(self, index: int, branch: Sequence) -> Margin:
        """Returns the quotation around the best run in segment ``index``; an empty margin if there is no run."""
        pointed = self.point(self.plan.segments[index].segment, branch)
        if not pointed.runs:
            return Margin("", None, pointed=pointed)
        best = pointed.runs[0]
        found = self.quotation(index, best.start, best.end)
        text = self.plan.document_of(index).text[found.start : found.end]
        return Margin(text, (found.start, found.end), found.header, pointed)

    def point(self, segment: Segment, branch: Sequence) -> Pointed:
        """Returns the runs that the model points at in ``segment``. Changes ``branch``, which ends with the segment."""
        document = self.plan.documents[segment.document]
        with self.clock.stage("margins"), self.context.adapted():
            branch.append(self.plan.margin_prompt)
            asked = [(start, end, WORDS * lost) for start, end, lost in words_lost(segment.text, self.plan.query)]
            pointed = self.pointer.point(branch, segment, avoid=bare_lines(document, segment), asked=asked)
        self.decoded_tokens += pointed.n_tokens
        return pointed

    def point_again(self, index: int, start: int, end: int, room: int, *, most: float = _NEARLY) -> Pointed | None:
        """Points into the paragraph of segment ``index`` around characters ``[start, end)``, read alone.
        Returns None if it is over ``most`` of the segment or needs over ``room`` tokens. Raises Interrupted."""
        planned = self.plan.segments[index]
        whole = planned.segment
        left = whole.text.rfind(_BETWEEN, 0, start - whole.start) + 1
        right = whole.text.find(_BETWEEN, end - whole.start)
        text = whole.text[left : right if right >= 0 else len(whole.text)]
        tokens, before = self.model.tokenize(text), [*self.plan.prefix, *planned.heading_tokens]
        if len(text) > most * len(whole.text) or len(before) + len(tokens) > room:
            return None
        at = whole.start + left
        with self.context.sequence() as sequence:
            with self.clock.stage("answer"):
                sequence.append([*before, *tokens])
            return self.point(Segment(whole.document, at, at + len(text), text, tuple(tokens)), sequence)

    def quotation(self, index: int, start: int, end: int) -> Quotation:
        """Returns the quotation, within segment ``index``, around characters ``[start, end)`` of the document."""
        longest = self.resolved.margin_tokens * _CHARS_A_TOKEN
        return quotation(self.plan.document_of(index), self.plan.segments[index].segment, start, end, longest)
