"""The course of one question, from `events.ReadingStarted` to its last event: read, answer, and say what it took."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from wim_edge.engine.api import Interrupted
from wim_edge.wim import events
from wim_edge.wim.answer import Answering
from wim_edge.wim.clock import Clock, peak_rss_bytes
from wim_edge.wim.control import Control, Decision
from wim_edge.wim.methods import Auxiliary
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.reading import Reading


@dataclass
class Asked:
    """A question, its reading, and how it is answered. The reading stays in the cache until the next question, so that
    this one can be answered again without reading, when the reader has judged margins."""

    reading: Reading
    prompts: Prompts
    warnings: list[str]
    request: object = None
    """What was asked for: one that is equal may be answered from this reading."""
    read: bool = False
    """Whether it was answered, with all or with what was read when the reader stopped it."""

    def again(self, control: Control, clock: Clock) -> None:
        """Get ready to answer once more."""
        reading = self.reading
        reading.control, reading.clock, reading.writer.clock, self.warnings = control, clock, clock, []
        reading.reused_tokens += reading.read_tokens
        reading.read_tokens = reading.reread_tokens = reading.writer.decoded_tokens = 0

    def close(self) -> None:
        self.reading.close()


def course(stack: ExitStack, asked: Asked) -> Generator[events.Event | None, None, None]:
    """The events, after one None at which nothing is done yet.

    ``stack``: what is let go at the end, however it comes.
    """
    reading = asked.reading
    control, plan = reading.control, reading.plan
    with stack:
        yield None
        judging = reading.relevance.context if isinstance(reading.relevance, Auxiliary) else None
        control.attach(reading.context, *([judging] if judging and not asked.read else []))
        yield _started(reading)
        for text in asked.warnings:
            yield events.Warning(text)
        if not asked.read:
            with suppress(Interrupted):
                yield from reading.run()
            for note in reading.saved.notes if reading.saved else ():
                yield events.Warning(note)
        if not plan.query:
            saved = reading.saved.saved_tokens if reading.saved else 0
            yield events.ReadingFinished(saved, plan.tokens, reading.model.info.name, _usage(reading, 0))
            return
        answering = Answering(reading, asked.prompts)
        asked.read = cancelled = False  # not again, unless it goes well
        if control.wish is not Decision.CANCEL and _nothing_read(reading):
            yield events.Warning("stopped before anything was read; there is nothing to answer from")
            cancelled = True
        else:
            try:
                control.begin_answer()
                yield from answering.run()
            except Interrupted:
                cancelled = True
        asked.read = not cancelled
        yield _finished(reading, answering, cancelled)


def _started(reading: Reading) -> events.ReadingStarted:
    plan, choices = reading.plan, reading.choices
    return events.ReadingStarted(
        reading.model.info.name,
        choices.pattern.name,
        tuple(document.name for document in plan.documents),
        len(plan.segments),
        plan.tokens,
        reading.context.n_ctx,
        len(plan.windows) if choices.pattern.deep else 0,
        choices.relevance if choices.pattern.scores else None,
    )


def _finished(reading: Reading, answering: Answering, cancelled: bool) -> events.AnswerFinished:
    generation = answering.generation
    reason: events.FinishReason = generation.finish_reason if generation else "stop"
    if cancelled:
        reason = "cancelled"
    elif reading.done != len(reading.plan.segments):
        reason = "early_exit"
    return events.AnswerFinished(
        generation.text.strip() if generation else "",
        reason,
        reading.choices.pattern.name,
        reading.model.info.name,
        answering.sources(),
        _usage(reading, generation.n_tokens if generation else 0),
    )


def _usage(reading: Reading, answer_tokens: int) -> events.Usage:
    return events.Usage(
        reading.read_tokens + reading.reread_tokens,
        reading.reused_tokens,
        reading.writer.decoded_tokens + answer_tokens,
        reading.clock.seconds(),
        peak_rss_bytes(),
    )


def _nothing_read(reading: Reading) -> bool:
    return bool(reading.plan.segments) and not (reading.read_tokens or reading.reused_tokens or reading.done)
