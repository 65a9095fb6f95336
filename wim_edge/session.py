"""One question: its preparation, and its run from the first event to the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence as Seq
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from wim_edge import tuned, words
from wim_edge.answer.judged import Answer
from wim_edge.answer.quotes import cite
from wim_edge.answer.stage import AnswerStage
from wim_edge.answer.wording import provisional_answer
from wim_edge.answer.writer import LoadsModel
from wim_edge.documents import Document
from wim_edge.documents.place_links import with_named_pages
from wim_edge.engine.protocols import Context, Embedder, Interrupted, Model
from wim_edge.engine.sampling import Sampler
from wim_edge.errors import CapacityError, InvalidRequestError, LibraryError, ModelError
from wim_edge.library import FAILURES, ReadingStore, SavedReading
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading import events
from wim_edge.reading.control import Control, Decision, Policy
from wim_edge.reading.plan import Plan, make_plan
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.ranking import Similarity, is_mostly_latin
from wim_edge.reading.reading import Reading
from wim_edge.reading.relevance import Scorer, relevance_for
from wim_edge.reading.resolved_settings import ResolvedSettings
from wim_edge.reading.timings import Timings, peak_rss_bytes
from wim_edge.roles import roles_for
from wim_edge.settings import ALL, AUTO, NO_MODEL, Settings

_MIN_SEGMENTS = 17
"""The fewest segments for which a scout is loaded; a shorter text is soon read."""
_MAX_EXPLAINED = 16
"""The most candidates in an answer's event."""
_SAMPLE = 4096
"""The number of characters at each document's beginning that show its script and language."""
NOTHING = events.Warning("stopped before anything was found; there is nothing to answer from")


@dataclass(frozen=True)
class Question:
    """A question and its options, as in `Runtime.stream`. If ``text`` is None, documents are only read."""

    text: str | None
    on_margin: Policy | None = None
    verdicts: Mapping[int, bool] | None = None
    read_on: bool = False


@dataclass(frozen=True)
class Run:
    """The state of one request. ``stack``: is closed when the request ends; ``control``: takes the user's decisions."""

    stack: ExitStack = field(default_factory=ExitStack)
    clock: Timings = field(default_factory=Timings)
    control: Control = field(default_factory=Control)


@dataclass
class QuestionSession:
    """A question, its reading, and its answer. The reading stays in the cache until the next question. So this question
    can be answered again without reading, after the user has judged margins."""

    reading: Reading
    prompts: Prompts
    warnings: list[str]
    request: tuple[Seq[Document], str | None]
    """(documents, question). The same documents and question may be answered again from this reading."""
    writer: LoadsModel | None = None
    """The model that writes the answer, if it is not the reader; None: the reader writes or only quotes."""
    is_answered: bool = False
    """True if the question was answered, even if the user stopped the reading early."""
    answering: AnswerStage | None = None
    """The stage that gave the last answer."""

    def reset(self, question: Question, run: Run) -> None:
        """Prepares to answer the question again. If ``question.read_on`` is True, the reading continues first."""
        reading, window = self.reading, self.reading.cache
        reading.control, self.warnings, reading.reads_on = run.control, [], question.read_on
        reading.clock = window.clock = reading.writer.clock = run.clock
        window.reused_tokens += window.read_tokens
        window.read_tokens = window.reread_tokens = reading.writer.decoded_tokens = 0

    @property
    def model(self) -> str:
        """The name of the model that gives the answer."""
        return self.writer.name if self.writer is not None else self.reading.model.info.name

    @property
    def judge(self) -> str | None:
        """The name of the model that judges for `model`; None: `model` itself."""
        relevance = self.reading.relevance
        if self.writer is not None:
            return self.reading.model.info.name
        return relevance.own_model if relevance is not None else None


def prepare(loaded: LoadedModels, documents: Seq[Document], question: Question, run: Run) -> QuestionSession:
    """Returns the session for a question on documents; if ``question.text`` is None, for reading only. Raises
    Interrupted, InvalidRequestError, ModelError, CapacityError; LibraryError if a reading alone can't be saved."""
    request, query, clock = (documents, question.text), question.text, run.clock
    documents = [with_named_pages(document, query or "") for document in documents]
    roles = roles_for(loaded, documents)
    reader, resolved = roles.reader, roles.resolved
    settings, pattern = resolved.settings, resolved.pattern
    if not documents and pattern.name != "llm":
        raise InvalidRequestError("no document is given", "Give at least one, or take the pattern llm.")
    with clock.stage("load"):
        if roles.writer is not None:
            roles.writer.check_file()
        model = reader.model()
    chat, warning = reader.chat()
    prompts = Prompts(settings.templates, chat=chat.is_chat)
    relevance = None
    if pattern.scores and query is not None:
        with clock.stage("load"):
            scorer = _auxiliary(roles.auxiliary)
        relevance = relevance_for(resolved, scorer or Scorer(model, chat, prompts), query)

    def tokenize(text: str) -> list[int]:
        if run.control.requested is Decision.CANCEL:  # a long text takes a while
            raise Interrupted
        return model.tokenize(text)

    cells = relevance.reserved_cells if relevance else 0
    plan = make_plan(model, chat, prompts, resolved, documents, query or "", cells, tokenize)
    with clock.stage("load"):
        context = reader.context(plan.n_ctx)
        saved, failure = _open_saved_reading(context, model, resolved, plan)
        if relevance is not None:
            try:
                relevance.open(context, plan.segments, saved)
            except BaseException:
                relevance.close()
                raise
    if query is None and failure:
        raise LibraryError(failure, "Free some space, or point WIM_EDGE_HOME at another disk.")
    sampler = Sampler(settings.temperature, settings.top_p, settings.min_p, settings.seed)
    with clock.stage("load"):
        embedder, unused = _scout(loaded, settings, plan) if not pattern.deep else (None, None)
    similarity = Similarity(embedder, plan.query, saved) if embedder is not None else None
    reading = Reading(
        model, context, chat, plan, resolved, sampler, relevance, run.control, clock, question.on_margin, saved,
        reader.support, similarity,
    )  # fmt: skip
    notes = [f"{document.name}: {note}" for document in documents for note in document.notes]
    for document in documents if relevance else ():
        if words.are_two_languages(plan.query, document.text[:_SAMPLE], model.tokenize):
            notes.append(f"{document.name}: the question seems to be in another language; ask in the text's")
    warnings = [warning, *notes, failure, unused, *_unused(reading, has_auxiliary=roles.auxiliary is not None)]
    return QuestionSession(reading, prompts, [one for one in warnings if one], request, roles.writer)


def _scout(loaded: LoadedModels, settings: Settings, plan: Plan) -> tuple[Embedder | None, str | None]:
    """Returns (scout, warning), each perhaps None. The scout is the named embedding model or, for long texts in Latin
    script, the usual one. If the usual one cannot be loaded, a warning says so; a named one raises an error instead."""
    if settings.embedding_model is not None:
        return loaded.embedder(), None
    texts = [plan.query, *(document.text[:_SAMPLE] for document in plan.documents)]
    if len(plan.segments) < _MIN_SEGMENTS or not all(map(is_mostly_latin, texts)):
        return None, None
    try:
        return loaded.embedder(), None
    except (ModelError, CapacityError) as error:
        name = loaded.embedder_name
        return None, f"{name} is not used: {error}. `wim-edge models pull {name}` fetches it again"


def _unused(reading: Reading, *, has_auxiliary: bool) -> Iterator[str]:
    """Yields a warning for each setting that has no effect."""
    resolved, relevance, trained = reading.resolved, reading.relevance, reading.model.info.n_ctx_train
    if (resolved.settings.n_ctx or 0) > trained:
        yield f"the context is limited to the {trained:,} tokens the model was trained for"
    if has_auxiliary and (relevance is None or relevance.own_model is None):
        reason = f"{resolved.relevance} takes no model" if relevance else f"{resolved.pattern.name} scores nothing"
        yield f"the judge is not used: {reason}"
    if resolved.settings.embedding_model not in (None, NO_MODEL) and reading.similarity is None:
        yield f"the embedding model is not used: {resolved.pattern.name} reads in the order of the document"


def _auxiliary(judge: LoadedModels | None) -> Scorer | None:
    if judge is None:
        return None
    model, (chat, _) = judge.model(), judge.chat()
    return Scorer(model, chat, Prompts(judge.settings.templates, chat=chat.is_chat), is_other=True)


def _open_saved_reading(
    context: Context, model: Model, resolved: ResolvedSettings, plan: Plan
) -> tuple[SavedReading | None, str | None]:
    """Returns (saved reading, None); (None, why it cannot be opened); or (None, None) if nothing is to be saved."""
    settings = resolved.settings
    if not settings.save or settings.query_first or not plan.documents:
        return None, None  # a state with the question before the text serves only that question
    shape = "deep" if resolved.pattern.deep else "shallow"
    try:
        store, name = ReadingStore.of(settings), model.info.name
        return SavedReading(store, context.fingerprint, plan.documents, shape, name, plan.tokens), None
    except (*FAILURES, LibraryError) as error:
        return None, str(error)


# The run


def run_session(session: QuestionSession) -> Iterator[events.Event]:
    """Runs a prepared session and yields its events."""
    reading = session.reading
    control, plan = reading.control, reading.plan
    judging = reading.relevance.context if reading.relevance is not None else None
    control.attach(reading.context, *([judging] if judging else []))
    yield _started(session)
    if plan.order != tuple(sorted(plan.order)):
        yield events.ReadingOrder(plan.order)
    for text in session.warnings:
        yield events.Warning(text)
    before = session.answering if reading.reads_on else None
    answering = AnswerStage(reading, session.prompts, before, session.writer)
    rejected = False in reading.ranking.verdicts.values()  # then the segments read may no longer suffice
    goes_on = not session.is_answered or (
        reading.may_read_on and (reading.reads_on or (rejected and not reading.is_enough()))
    )
    if goes_on and not answering.of_whole:
        with suppress(Interrupted):
            yield from _with_provisional_answers(reading)
        if reading.resolved.settings.save:
            tuned.note_speed(reading.model, reading.cache.read_tokens, reading.clock.stages.get("prefill", 0.0))
        for note in reading.saved.notes if reading.saved else ():
            yield events.Warning(note)
    if not plan.query:
        saved = reading.saved.saved_tokens if reading.saved else 0
        yield events.ReadingFinished(saved, plan.tokens, reading.model.info.name, _usage(reading, 0))
        return
    session.is_answered = cancelled = False  # until the new answer is complete
    if control.requested is not Decision.CANCEL and not answering.of_whole and _nothing_read(reading):
        yield NOTHING
        cancelled = True
    else:
        try:
            control.begin_answer()
            yield from answering.run()
        except Interrupted:
            cancelled = True
    if cancelled:
        answering.keep_before()
    answering.before = None  # frees the earlier answers' stages
    session.is_answered, session.answering = not cancelled or answering.is_unchanged, answering
    if reading.relevance is not None and not reading.may_read_on:
        reading.relevance.close()
    yield _finished(session, answering, cancelled)


def _with_provisional_answers(reading: Reading) -> Iterator[events.Event]:
    """Yields the reading's events. After a margin, also yields a sure answer that differs from the last one yielded."""
    shown = ""
    for event in reading.run():
        yield event
        if not isinstance(event, events.MarginJudged):
            continue
        found = provisional_answer(reading)
        if found is not None and found.short != shown:
            shown = found.short
            support, n_read = found.support or 0.0, min(reading.n_read + 1, len(reading.plan.segments))
            yield events.AnswerProvisional(shown, found.quotes[0], support, n_read, len(reading.plan.segments))
            if reading.resolved.settings.first:
                reading.control.request(Decision.ANSWER)


def _started(session: QuestionSession) -> events.ReadingStarted:
    reading = session.reading
    plan, resolved = reading.plan, reading.resolved
    return events.ReadingStarted(
        session.model, resolved.pattern.name, tuple(document.name for document in plan.documents), len(plan.segments),
        plan.tokens, reading.context.n_ctx, len(plan.windows) if resolved.pattern.deep else 0,
        resolved.relevance if reading.relevance else None, _within(reading), reading.n_read, resolved.why,
        session.judge,
    )  # fmt: skip


def _within(reading: Reading) -> str | None:
    """Returns the bound on the reading, as in `events.ReadingStarted`; None if all segments are to be read."""
    within = reading.resolved.settings.within or AUTO
    if reading.reads_on or within == ALL or (within == AUTO and reading.ranking.unread() is None):
        return None
    return within


def _finished(session: QuestionSession, answering: AnswerStage, cancelled: bool) -> events.AnswerFinished:
    reading, answer, reason = session.reading, answering.answer or Answer(), answering.finish_reason
    if cancelled:
        reason = "cancelled"
    elif reading.is_stopped and not answering.of_whole:
        reason = "early_exit"
    sources = answering.sources()
    passages = [reading.plan.segments[source.segment].text for source in sources]
    return events.AnswerFinished(
        answer.text, reason, reading.resolved.pattern.name, session.model, sources,
        _usage(reading, 0 if answering.is_unchanged else answering.n_tokens),
        reading.n_read, len(reading.plan.segments), None if answering.of_whole else reading.unread,
        answer.status, answer.short, answer.span, answer.quotes, answer.support, answer.unsupported,
        answer.evidence.to_dict() if answer.evidence else None,
        cite(answer.text, passages) if answer.is_written else (),
        session.judge,
        tuple(one.shown for one in answer.candidates[:_MAX_EXPLAINED]),
        answer.confidence, reading.may_read_on and not answering.of_whole, answer.query,
    )  # fmt: skip


def _usage(reading: Reading, answer_tokens: int) -> events.Usage:
    window = reading.cache
    n_read, n_decoded = window.read_tokens + window.reread_tokens, reading.writer.decoded_tokens + answer_tokens
    return events.Usage(n_read, window.reused_tokens, n_decoded, reading.clock.seconds(), peak_rss_bytes())


def _nothing_read(reading: Reading) -> bool:
    if reading.n_read or not reading.plan.segments:
        return False
    window = reading.cache  # deep reading may answer from part of a segment
    return not (reading.resolved.pattern.deep and (window.read_tokens or window.reused_tokens))
