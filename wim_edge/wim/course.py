"""The course of one question, from `events.ReadingStarted` to its last event: read, answer, and say what it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict

from wim_edge import speeds
from wim_edge.engine.protocols import Interrupted
from wim_edge.wim import events
from wim_edge.wim.answer import AnswerStage
from wim_edge.wim.answer_parts import Answer
from wim_edge.wim.asked import Asked
from wim_edge.wim.control import Decision
from wim_edge.wim.methods import SeparateModelRelevance
from wim_edge.wim.reading import Reading
from wim_edge.wim.timings import Timings, peak_rss_bytes
from wim_edge.within import ALL, AUTO

_NOTHING = events.Warning("stopped before anything was read; there is nothing to answer from")


def course(asked: Asked) -> Iterator[events.Event]:
    """The events of what is prepared."""
    reading = asked.reading
    control, plan = reading.control, reading.plan
    judging = reading.relevance.context if isinstance(reading.relevance, SeparateModelRelevance) else None
    control.attach(reading.context, *([judging] if judging else []))
    yield _started(asked)
    if plan.order != tuple(sorted(plan.order)):
        yield events.ReadingOrder(plan.order)
    for text in asked.warnings:
        yield events.Warning(text)
    answering = AnswerStage(reading, asked.prompts, asked.answering if reading.reads_on else None)
    if not answering.is_of_whole and (not asked.read or (reading.reads_on and reading.may_read_on)):
        with suppress(Interrupted):
            yield from reading.run()
        if reading.settings.save:
            speeds.note(reading.model, reading.window.read_tokens, reading.clock.of_stage("prefill"))
        for note in reading.saved.notes if reading.saved else ():
            yield events.Warning(note)
    if not plan.query:
        saved = reading.saved.saved_tokens if reading.saved else 0
        yield events.ReadingFinished(saved, plan.tokens, reading.model.info.name, _usage(reading, 0))
        return
    asked.read = cancelled = False  # not again, unless it goes well
    if control.wish is not Decision.CANCEL and not answering.is_of_whole and _nothing_read(reading):
        yield _NOTHING
        cancelled = True
    else:
        try:
            control.begin_answer()
            yield from answering.run()
        except Interrupted:
            cancelled = True
    if cancelled:
        answering.keep_before()
    answering.before = None  # nor its own one before
    asked.read, asked.answering = not cancelled or answering.stands, answering
    if reading.relevance is not None and not reading.may_read_on:
        reading.relevance.close()
    yield _finished(reading, answering, cancelled)


def stopped(model: str, pattern: str, clock: Timings, *, asked: bool) -> Iterator[events.Event]:
    """The events of what was stopped before it was prepared. ``asked``: there was a question."""
    usage = events.Usage(0, 0, 0, clock.seconds(), peak_rss_bytes())
    if not asked:
        yield events.ReadingFinished(0, 0, model, usage)
        return
    yield _NOTHING
    yield events.AnswerFinished("", "cancelled", pattern, model, (), usage)


def _started(asked: Asked) -> events.ReadingStarted:
    reading = asked.reading
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
        _within(reading),
        reading.done if reading.reads_on else 0,
        asked.why,
        reading.relevance.name if isinstance(reading.relevance, SeparateModelRelevance) else None,
    )


def _within(reading: Reading) -> str | None:
    """Returns how much is read, as `events.ReadingStarted` has it."""
    within = reading.settings.within or AUTO
    if reading.reads_on or within == ALL or (within == AUTO and reading.ranking.unread() is None):
        return None
    return within


def _finished(reading: Reading, answering: AnswerStage, cancelled: bool) -> events.AnswerFinished:
    answer, reason = answering.answer or Answer(), answering.finish_reason
    if cancelled:
        reason = "cancelled"
    elif reading.done != len(reading.plan.segments) and not reading.is_spent and not answering.is_of_whole:
        reason = "early_exit"
    return events.AnswerFinished(
        answer.text,
        reason,
        reading.choices.pattern.name,
        reading.model.info.name,
        answering.sources(),
        _usage(reading, 0 if answering.stands else answering.n_tokens),
        reading.done,
        len(reading.plan.segments),
        None if answering.is_of_whole else reading.unread,
        answer.status,
        answer.short,
        answer.span,
        answer.quotes,
        answer.support,
        answer.unsupported,
        asdict(answer.evidence) if answer.evidence else None,
    )


def _usage(reading: Reading, answer_tokens: int) -> events.Usage:
    window = reading.window
    return events.Usage(
        window.read_tokens + window.reread_tokens,
        window.reused_tokens,
        reading.writer.decoded_tokens + answer_tokens,
        reading.clock.seconds(),
        peak_rss_bytes(),
    )


def _nothing_read(reading: Reading) -> bool:
    window = reading.window
    return bool(reading.plan.segments) and not (window.read_tokens or window.reused_tokens or reading.done)
