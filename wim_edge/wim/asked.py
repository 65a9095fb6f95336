"""A question, and all that is settled before anything is read for it: how it is read, scored and answered."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass

from wim_edge import speeds
from wim_edge.documents import Document
from wim_edge.engine.protocols import Context, Interrupted
from wim_edge.engine.sampling import Sampler
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library import FAILURES, ReadingStore, SavedReading
from wim_edge.loaded_models import LoadedModels
from wim_edge.settings import Settings
from wim_edge.wim.answer import AnswerStage
from wim_edge.wim.control import Control, Decision, Policy
from wim_edge.wim.methods import Scorer, SeparateModelRelevance, relevance_for
from wim_edge.wim.pattern import Choices, automatic
from wim_edge.wim.plan import Plan, context_limit, make_plan
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.reading import Reading
from wim_edge.wim.similarity import Similarity
from wim_edge.wim.timings import Timings

_SAMPLE = 1 << 14  # characters whose tokens tell how many all have


@dataclass
class Asked:
    """A question, its reading, and how it is answered. The reading stays in the cache until the next question, so that
    this one can be answered again without reading, when the reader has judged margins."""

    reading: Reading
    prompts: Prompts
    warnings: list[str]
    why: str | None
    """Why it is read in this pattern, where the user has not chosen it."""
    request: object = None
    """What was asked for: one that is equal may be answered from this reading."""
    read: bool = False
    """Whether it was answered, with all or with what was read when the reader stopped it."""
    answering: AnswerStage | None = None
    """Its last answer."""

    def again(self, control: Control, clock: Timings, *, read_on: bool = False) -> None:
        """Get ready to answer once more, with ``read_on`` after reading on where it stopped."""
        reading, window = self.reading, self.reading.window
        reading.control, self.warnings, reading.reads_on = control, [], read_on
        reading.clock = window.clock = reading.writer.clock = clock
        window.reused_tokens += window.read_tokens
        window.read_tokens = window.reread_tokens = reading.writer.decoded_tokens = 0

    def close(self) -> None:
        self.reading.close()


def prepare(
    loaded: LoadedModels, documents: Seq[Document], query: str | None, on_margin: Policy | None,
    clock: Timings, control: Control,
) -> Asked:  # fmt: skip
    """Settle how the documents are read and the question, if there is one, is answered.

    Raises InvalidRequestError, ModelError, CapacityError, LibraryError where nothing can be saved and that was the
    purpose, and Interrupted where the reader cancels.
    """
    with clock.stage("load"):
        model = loaded.model()
    settings, why = _with_pattern(loaded, documents)
    choices = Choices.of(settings)
    if not documents and choices.pattern.name != "llm":
        raise InvalidRequestError("no document is given", "Give at least one, or take the pattern llm.")
    chat, warning = loaded.chat()
    prompts = Prompts(settings.templates, chat=chat.is_chat)
    relevance = None
    if choices.pattern.scores and query is not None:
        with clock.stage("load"):
            judge = loaded.judge(alone=not choices.pattern.deep and choices.relevance in ("cascade", "likelihood"))
        auxiliary = judge is not None
        relevance = relevance_for(settings, choices, judge or Scorer(model, chat, prompts), query, auxiliary=auxiliary)

    def tokenize(text: str) -> list[int]:
        if control.wish is Decision.CANCEL:  # a long text takes a while
            raise Interrupted
        return model.tokenize(text)

    cells = relevance.cells if relevance else 0
    plan = make_plan(model, chat, prompts, settings, choices, documents, query or "", cells, tokenize)
    notes = [f"{document.name}: {note}" for document in documents for note in document.notes]
    with clock.stage("load"):
        context = loaded.context(plan.n_ctx)
        saved, failure = _saved(context, loaded, choices, plan)
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
        embedder = None if choices.pattern.deep else loaded.embedder()
    similarity = Similarity(embedder, plan.query, saved) if embedder is not None else None
    reading = Reading(
        model, context, chat, plan, settings, choices, sampler, relevance, control, clock, on_margin, saved,
        loaded.support, similarity,
    )
    notes += [failure] if failure else []
    if settings.n_ctx is not None and settings.n_ctx > model.info.n_ctx_train:
        notes.append(f"the context is limited to the {model.info.n_ctx_train:,} tokens the model was trained for")
    if settings.other_judge is not None and not isinstance(relevance, SeparateModelRelevance):
        why = f"{choices.relevance} takes no model" if relevance else f"{choices.pattern.name} scores nothing"
        notes.append(f"the relevance model is not used: {why}")
    if settings.embedding_model is not None and similarity is None:
        notes.append(f"the embedding model is not used: {choices.pattern.name} reads in the order of the document")
    return Asked(reading, prompts, [*([warning] if warning else []), *notes], why)


def _with_pattern(loaded: LoadedModels, documents: Seq[Document]) -> tuple[Settings, str | None]:
    """The settings with a pattern, and why it is that one, where neither the user nor models.toml names it."""
    settings, model = loaded.settings, loaded.model()
    if settings.pattern is not None or not documents:
        return settings, "measured best with this model" if loaded.suggests_pattern else None
    sample = "".join(document.text[:_SAMPLE] for document in documents)[:_SAMPLE]
    size = sum(len(document.text) for document in documents)
    tokens = len(model.tokenize(sample)) * size // max(1, len(sample))
    limit = context_limit(settings, model.info.n_ctx_train, model.largest_n_ctx).tokens
    pattern, why = automatic(tokens, limit, speeds.known(model))
    return settings.with_changes(pattern=pattern), why


def _saved(
    context: Context, loaded: LoadedModels, choices: Choices, plan: Plan
) -> tuple[SavedReading | None, str | None]:
    """Where this reading is kept. None where nothing is to be, or, with the reason, where nothing can be: it is then
    read anew."""
    settings = loaded.settings
    if not settings.save or settings.query_first or not plan.documents:
        return None, None  # with the question before the text, a state serves that question alone
    shape = "deep" if choices.pattern.deep else "shallow"
    try:
        library, name = ReadingStore.of(settings), loaded.model().info.name
        return SavedReading(library, context.fingerprint, plan.documents, shape, name, plan.tokens), None
    except (*FAILURES, LibraryError) as error:
        return None, str(error)
