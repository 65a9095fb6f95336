"""Margins: texts that are written beside segments, in the model's own words or as quotations.

Writing in the Margins, section 3.2. A margin is decoded on a fork of the sequence that ends with its segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Seq
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
WORDS = 0.6
"""The nats that a run loses for a point of the question's words that its sentence lacks (docs/choices.md)."""


@dataclass(frozen=True)
class Margin:
    text: str
    quote: Chars | None
    """The margin's place in the document; None if it is in the model's own words."""
    header: str = ""
    """The header of the table, if the margin is a row of one; else empty."""
    pointed: Pointed | None = None
    """The runs by which it was found, with the model's certainty; None if it is in the model's own words."""


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
        """Returns the log-odds, in nats, that the sequence holds an answer, as the adapter tells them. The sequence is
        as before."""
        with sequence.fork() as branch, self.context.adapted():
            branch.append(self.plan.margin_prompt)
            return self.pointer.log_odds(branch.logits)

    def write(self, index: int, branch: Sequence) -> Iterator[str | Margin]:
        """Yields the margin of a segment, which ends the branch: pieces of its text as they come, then the margin.

        The branch is of no use afterwards. Raises Interrupted, ContextOverflowError.
        """
        yield from {"verbatim": self._verbatim, "free": self._free}[self.resolved.margins](index, branch)

    def _free(self, _index: int, branch: Sequence) -> Iterator[str | Margin]:
        """Yields what the model writes of a segment in its own words."""
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

    def _verbatim(self, index: int, branch: Sequence) -> Iterator[str | Margin]:
        """Yields the quotation that carries the run pointed at; an empty margin if the segment holds no word."""
        pointed = self.point(self.plan.segments[index].segment, branch, self.plan.margin_prompt, self.plan.query)
        if not pointed.runs:
            yield Margin("", None, pointed=pointed)
            return
        best = pointed.runs[0]
        found = self.quotation(index, best.start, best.end)
        text = self.plan.documents[self.plan.segments[index].segment.document].text
        yield Margin(text[found.start : found.end], (found.start, found.end), found.header, pointed)

    def point(self, segment: Segment, branch: Sequence, prompt: Seq[int], question: str) -> Pointed:
        """Lets the model point into a segment, with which the branch ends, after the tokens that put the question."""
        document = self.plan.documents[segment.document]
        with self.clock.stage("margins"), self.context.adapted():
            branch.append(prompt)
            asked = [(start, end, WORDS * lost) for start, end, lost in words_lost(segment, question)]
            pointed = self.pointer.point(branch, segment, avoid=bare_lines(document, segment), asked=asked)
        self.decoded_tokens += pointed.n_tokens
        return pointed

    def quotation(self, index: int, start: int, end: int) -> Quotation:
        """Returns the quotation that carries the characters ``[start, end)`` of the document, in this segment."""
        segment = self.plan.segments[index].segment
        document = self.plan.documents[segment.document]
        return quotation(document, segment, start, end, self.resolved.margin_tokens * _CHARS_A_TOKEN)
