"""The runtime: one opened model, asked about documents. Everything above it only consumes its events."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from collections.abc import Sequence as Seq
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Self

from wim_edge.catalog import resolve
from wim_edge.documents import Document, read_documents, told_apart
from wim_edge.engine.api import Context, Interrupted, Model
from wim_edge.engine.sampling import Sampler
from wim_edge.errors import DocumentError, InvalidRequestError, LibraryError
from wim_edge.library import FAILURES, Library, SavedReading
from wim_edge.library.collection import Collection
from wim_edge.recall.index import load_index, open_index
from wim_edge.recall.recaller import Recaller
from wim_edge.settings import Paths, Settings
from wim_edge.tuning import open_model
from wim_edge.wim import events
from wim_edge.wim.chat import Message, chat_format
from wim_edge.wim.clock import Clock, peak_rss_bytes
from wim_edge.wim.completion import Completer
from wim_edge.wim.control import Control, Decision, Policy
from wim_edge.wim.course import Asked, course
from wim_edge.wim.methods import Auxiliary, Judge, relevance_for
from wim_edge.wim.pattern import Choices
from wim_edge.wim.plan import Plan, make_plan
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.reading import Reading
from wim_edge.wim.stream import Stream

Source = str | Path | Document

_OF_THE_MODEL = ("model", "n_batch", "n_threads", "n_gpu_layers", "kv_type", "flash_attn")
"""Settings that a loaded model keeps."""


class Runtime:
    """A model, opened once and asked many times; a context manager.

    >>> with Runtime(Settings(model="smollm2-135m")) as runtime:        # doctest: +SKIP
    ...     print(runtime.ask("contract.pdf", "Who may end the contract?").text)

    Args:
        settings: see `wim_edge.settings.Settings`; by default the defaults and ``WIM_EDGE_*`` variables.
        model: an opened engine model (anything that implements `wim_edge.engine.api.Model`), instead of
            the one that ``settings.model`` names. It stays the caller's to close.

    One question at a time; `answer_now` and `cancel` may be called from any thread.
    """

    def __init__(self, settings: Settings | None = None, *, model: Model | None = None) -> None:
        self.settings = settings or Settings.from_environment()
        self._model = model
        self._judging: Judge | None = None
        self._opened: list[Model] = []
        """The models to close: those that were not given."""
        self._context: Context | None = None
        self._asked: Asked | None = None
        """The last question."""
        self._recaller: tuple[tuple[str, str], Recaller] | None = None
        """With the folder and the version of the library it is of."""
        self._completer: Completer | None = None
        self._notes: list[str] = []
        self._chat_variables: Mapping[str, Any] = {}
        self._control = Control()
        self._busy = threading.Lock()
        self._beginning: int | None = None
        """The thread that is setting a reading up."""
        self._stream: Callable[[], Stream | None] = lambda: None
        """The reading under way; weak, so that one dropped half-way ends."""

    def ask(
        self, documents: Source | Iterable[Source], question: str, *, library: str | None = None,
        on_margin: Policy | None = None, judged: Mapping[int, bool] | None = None,
    ) -> events.AnswerFinished:  # fmt: skip
        """Read and answer; the last event of `stream`, which see."""
        for event in self.stream(documents, question, library=library, on_margin=on_margin, judged=judged):
            last = event
        assert isinstance(last, events.AnswerFinished)
        return last

    def stream(
        self, documents: Source | Iterable[Source], question: str, *, library: str | None = None,
        on_margin: Policy | None = None, judged: Mapping[int, bool] | None = None,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Read documents and answer a question, yielding events as things happen.

        Args:
            documents: a path, ``"-"`` for standard input, a `Document`, or several of them; none with the
                pattern ``llm``: the model answers from what it knows.
            question: what to find out.
            library: the name of a library (`wim-edge library add`): what it holds of the question is recalled
                first, and read after the documents, of which there may then be none.
            on_margin: asked after each judged margin whether to go on, answer now, or cancel.
            judged: what the reader says of segments, by number: True, and the answer draws on it; False, and it
                does not. It is heeded as it changes, until the answer begins. The last question asked again with it,
                of the same documents, is answered again without reading anything.

        What is wrong with the request raises here, before anything is read: InvalidRequestError,
        DocumentError, ModelError, CapacityError. Closing the iterator abandons the reading.
        """
        if not question.strip():
            raise InvalidRequestError("the question is empty", "Ask something, as the last argument.")
        if library is not None:
            return self._begin_recall(documents, question.strip(), library, on_margin, judged)
        return self._begin(documents, question.strip(), on_margin, judged)

    def recall(self, library: str, question: str) -> Iterator[events.Event]:
        """Find the passages of a library that may answer a question, without reading on. The last event is
        `events.PassagesRecalled`, or where it was stopped `events.AnswerFinished`, cancelled. Raises LibraryError,
        ModelError, CapacityError."""
        if not question.strip():
            raise InvalidRequestError("the question is empty", "Ask something, as the last argument.")
        return self._begin_recall(None, question.strip(), library)

    def read(self, documents: Source | Iterable[Source]) -> Iterator[events.Event]:
        """Read documents ahead, without a question, so that questions need not wait for it.

        What is read is kept in the library, for this model and the chosen pattern's way of reading (deep
        or shallow); a known text is not read again. The last event is `events.ReadingFinished`. Raises as
        `stream`, and LibraryError where nothing can be saved.
        """
        if not self.settings.save:
            raise InvalidRequestError("reading ahead without saving leaves nothing", "Leave --no-save away.")
        return self._begin(documents, None)

    def complete(
        self, prompt: str | Seq[Message], *, top_logprobs: int | None = None
    ) -> Iterator[events.Event]:
        """Go straight on from a text, or from a conversation of (role, text); no document is read.

        Yields `events.ReadingProgress` of the prompt, first what of it was in the cache, `events.CompletionDelta`,
        and at last `events.CompletionFinished`. What the prompt has in common with the last one is not evaluated again.
        ``top_logprobs``: log-probabilities of each token and of so many likeliest ones.
        Raises InvalidRequestError, ModelError, CapacityError.
        """
        self._take()
        with ExitStack() as stack:
            stack.callback(self._busy.release)
            self._control = control = Control()
            stack.callback(control.detach)
            completer = self._completer or Completer(self.open(), self._chat_variables)
            self._completer = completer
            tokens = completer.tokens(prompt)
            control.attach(completer.open(tokens, self.settings))
            chat = not isinstance(prompt, str)
            found = completer.run(tokens, self.settings, control, top_logprobs, chat=chat)
            kept = stack.pop_all()
        stream = Stream(_until_let_go(kept, found))
        self._stream = weakref.ref(stream)
        return stream

    def _begin(
        self, documents: Source | Iterable[Source], query: str | None, on_margin: Policy | None = None,
        judged: Mapping[int, bool] | None = None, after: tuple[Clock, Control] | None = None,
    ) -> Iterator[events.Event]:  # fmt: skip
        """``after``: a recall went before, on this clock, and has the runtime."""
        clock, control = after or (Clock(), Control())
        if after is None:
            self._take()
        self._beginning = threading.get_ident()
        with ExitStack() as stack:
            stack.callback(self._busy.release)
            stack.callback(setattr, self, "_beginning", None)
            stack.callback(self._forget, unless_read=True)
            self._control = control
            stack.callback(control.detach)
            read = _read(documents)
            with clock.stage("load"):
                self.open()
            request = (read, query, self.settings)
            if self._asked is None or judged is None or self._asked.request != request:
                self._forget()
                self._asked = self._ask(stack, read, query, on_margin, clock, control)
                self._asked.request = request
            else:
                self._asked.again(control, clock)
            self._asked.reading.ranking.judged = {} if judged is None else judged
            kept = stack.pop_all()  # from here on the stream owns them
        stream = Stream(course(kept, self._asked))
        self._stream, self._beginning = weakref.ref(stream), None
        return stream

    def _ask(
        self, stack: ExitStack, read: list[Document], query: str | None, on_margin: Policy | None, clock: Clock,
        control: Control,
    ) -> Asked:  # fmt: skip
        """Settle how they are read and the question is answered; ``stack`` closes what only reading needs."""
        self._notes = []
        model, settings = self.open(), self.settings
        choices = Choices.of(settings)
        scores = choices.pattern.scores and query is not None
        with clock.stage("load"):
            judge = self._open_judge() if scores else None
        if not read and choices.pattern.name != "llm":
            raise InvalidRequestError("no document is given", "Name at least one file, or - for standard input.")
        chat, warning = chat_format(model, self._chat_variables)
        prompts = Prompts(settings.templates, chat=chat.is_chat)
        relevance = None
        if scores and query is not None:
            auxiliary = judge is not None
            judge = judge or Judge(model, chat, prompts)
            relevance = relevance_for(settings, choices, judge, query, auxiliary=auxiliary)
        plan = make_plan(
            model, chat, prompts, settings, choices, read, query or "", relevance.cells if relevance else 0
        )
        with clock.stage("load"):
            context = self._open_context(model, plan.n_ctx)
            saved = self._open_saved(context, choices, plan)
            if relevance is not None:
                stack.callback(relevance.close)
                relevance.open(context, plan.segments, saved)
        reading = Reading(
            model, context, chat, plan, settings, choices, self._sampler(), relevance, control, clock, on_margin, saved
        )
        if query is None and reading.saved is None:
            raise LibraryError(self._notes[-1], "Free some space, or point WIM_EDGE_HOME at another disk.")
        notes = [f"{document.name}: {note}" for document in read for note in document.notes] + self._notes
        if settings.n_ctx is not None and settings.n_ctx > model.info.n_ctx_train:
            notes.append(f"the context is limited to the {model.info.n_ctx_train:,} tokens the model was trained for")
        if settings.relevance_model is not None and not isinstance(relevance, Auxiliary):
            why = f"{choices.relevance} takes no model" if relevance else f"{choices.pattern.name} scores nothing"
            notes.append(f"the relevance model is not used: {why}")
        return Asked(reading, prompts, [*([warning] if warning else []), *notes])

    def _forget(self, *, unless_read: bool = False) -> None:
        """Let go of the last question's reading."""
        if self._asked is not None and not (unless_read and self._asked.read):
            self._asked.close()
            self._asked = None

    def _begin_recall(
        self, documents: Source | Iterable[Source] | None, query: str, library: str,
        on_margin: Policy | None = None, judged: Mapping[int, bool] | None = None,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Recall, and go on reading; without documents (None) do not."""
        given = _read(documents) if documents is not None else None
        collection = Collection(library)
        if not len(collection):
            raise LibraryError(f"library {library} holds no documents", f"wim-edge library add --to {library} FILE...")
        self._take()
        stream = Stream(self._run_recall(collection, given, query, on_margin, judged))
        self._stream = weakref.ref(stream)
        return stream

    def _run_recall(
        self, collection: Collection, given: list[Document] | None, query: str, on_margin: Policy | None,
        judged: Mapping[int, bool] | None,
    ) -> Generator[events.Event | None, None, None]:  # fmt: skip
        control, clock = Control(), Clock()
        self._control = control
        passages: tuple[events.Recalled, ...] = ()
        with ExitStack() as stack:
            stack.callback(self._busy.release)
            stack.callback(control.detach)
            yield None
            this = self._stream
            try:
                recaller = yield from self._opened_recaller(collection, control)
                control.attach(recaller.open(query))
                most = self.settings.recall_passages
                for event in clock.each("recall", recaller.recall(query, self.settings.chooser, most=most)):
                    yield event
                    _go_on(control)
                    passages = event.passages if isinstance(event, events.PassagesRecalled) else ()
            except Interrupted:
                usage = events.Usage(0, 0, 0, clock.seconds(), peak_rss_bytes())
                name, pattern = self.open().info.name, Choices.of(self.settings).pattern.name
                yield events.Warning("stopped before anything was read; there is nothing to answer from")
                yield events.AnswerFinished("", "cancelled", pattern, name, (), usage)
                return
            if given is None:
                return
            texts = {document.text for document in given}
            found = [one for one in recaller.documents(passages) if one.text not in texts]
            if not any(passage.chosen for passage in passages):
                nothing = f"nothing in library {collection.name} has words in common with the question"
                if not given:
                    raise LibraryError(nothing, "Use --chooser hybrid or recall.")
                yield events.Warning(nothing)
            stack.pop_all()  # the reading lets go of the runtime
        read = told_apart([*given, *found])
        with closing(self._begin(read, query, on_margin, judged, (clock, control))) as reading:  # type: ignore[type-var]
            self._stream = this
            yield from reading

    def answer_now(self) -> None:
        """Read no further and answer from what has been read; from any thread."""
        self._control.ask_for(Decision.ANSWER)

    def cancel(self) -> None:
        """Stop reading or answering; from any thread."""
        self._control.ask_for(Decision.CANCEL)

    def open(self) -> Model:
        """Load the model, if it is not yet loaded. Raises ModelError, CapacityError."""
        if self._model is None:
            found = resolve(self.settings.model, Paths.from_environment())
            if found.entry is not None:
                self.settings = _filled(self.settings, found.entry.settings)
                self._chat_variables = found.entry.chat
            self._model = open_model(found, self.settings)
            self._opened.append(self._model)
        return self._model

    def but(self, **changes: object) -> Runtime:
        """Another runtime with these settings changed, on the same loaded models, which stay this one's.

        Raises InvalidRequestError for settings that belong to the loaded model.
        """
        model, settings = self.open(), self.settings.but(**changes)
        fixed = [name for name in _OF_THE_MODEL if getattr(settings, name) != getattr(self.settings, name)]
        if fixed:
            raise InvalidRequestError(f"{', '.join(fixed)} cannot change on a loaded model", "Open another Runtime.")
        other = Runtime(settings, model=model)
        other._chat_variables = self._chat_variables
        if (settings.relevance_model, settings.templates) == (self.settings.relevance_model, self.settings.templates):
            other._judging = self._open_judge()
        return other

    def close(self) -> None:
        """Free the model and its cache. A stream under way is abandoned; one that another thread has begun
        is cancelled, and its thread waited for.

        Raises InvalidRequestError inside a policy: it is asked in the middle of the reading.
        """
        while True:
            self.cancel()
            stream, here = self._stream(), threading.get_ident()
            if here == self._beginning or (stream is not None and stream.thread == here):
                raise InvalidRequestError("a reading cannot close its own runtime", "Let the policy return CANCEL.")
            if stream is not None:
                with suppress(ValueError):  # another thread is in it
                    stream.close()
            if self._busy.acquire(timeout=0.01):
                break
        try:
            self._free()
        finally:
            self._busy.release()

    def _free(self) -> None:
        if self._completer is not None:
            self._completer.close()
            self._completer = None
        self._forget()
        if self._recaller is not None:
            self._recaller[1].close()
            self._recaller = None
        if self._context is not None:
            self._context.close()
            self._context = None
        for model in self._opened:
            model.close()
            if model is self._model:
                self._model = None
            else:
                self._judging = None
        self._opened = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Parts

    def _open_judge(self) -> Judge | None:
        """The model that scores, where it is not the one that reads."""
        if self._judging is None and self.settings.relevance_model is not None:
            found = resolve(self.settings.relevance_model, Paths.from_environment())
            model = open_model(found, self.settings)
            self._opened.append(model)
            chat, _ = chat_format(model, found.entry.chat if found.entry else None)
            self._judging = Judge(model, chat, Prompts(self.settings.templates, chat=chat.is_chat))
        return self._judging

    def _take(self) -> None:
        """The runtime is this question's, until `_busy` is released."""
        if not self._busy.acquire(blocking=False):
            raise InvalidRequestError(
                "this runtime is answering another question", "Finish or close its stream, or use another runtime."
            )

    def _opened_recaller(self, collection: Collection, control: Control) -> Generator[events.Event, None, Recaller]:
        """The one of the last question, if the library is as it was; its prompts are in the cache."""
        model = self.open()
        chat, _ = chat_format(model, self._chat_variables)
        key = (str(collection.folder), collection.version)
        if self._recaller is None or self._recaller[0] != key:
            if self._recaller is not None:
                self._recaller[1].close()
                self._recaller = None
            index = load_index(collection, model)
            if index is None:
                yield events.Warning(
                    f"library {collection.name} is indexed for {model.info.name}, once for all questions"
                )
                index = open_index(collection, model, lambda _done, _of: _go_on(control))
            prompts = Prompts(self.settings.templates, chat=chat.is_chat)
            self._recaller = (key, Recaller(model, chat, prompts, collection, index))
        return self._recaller[1]

    def _open_context(self, model: Model, n_ctx: int) -> Context:
        if self._context is not None and self._context.n_ctx < n_ctx:
            self._context.close()
            self._context = None
        if self._context is None:
            self._context = model.context(n_ctx)
        return self._context

    def _open_saved(self, context: Context, choices: Choices, plan: Plan) -> SavedReading | None:
        """Where this reading is kept. None where nothing is to be, or can be: then it is told, and read anew."""
        if not self.settings.save or self.settings.query_first or not plan.documents:
            return None  # with the question before the text, a state serves that question alone
        shape = "deep" if choices.pattern.deep else "shallow"
        try:
            library = Library.of(self.settings)
            return SavedReading(
                library, context.fingerprint, plan.documents, shape, self.open().info.name, plan.tokens
            )
        except (*FAILURES, LibraryError) as error:
            self._notes.append(str(error))
            return None

    def _sampler(self) -> Sampler:
        chosen = self.settings
        return Sampler(chosen.temperature, chosen.top_p, chosen.min_p, chosen.seed)


def _until_let_go(
    stack: ExitStack, found: Iterator[events.Event]
) -> Generator[events.Event | None, None, None]:
    with stack:
        yield None
        yield from found


def _go_on(control: Control) -> None:
    """Raise Interrupted if the reader does not wish it."""
    if control.wish:
        raise Interrupted


def _read(documents: Source | Iterable[Source]) -> list[Document]:
    given = [documents] if isinstance(documents, str | Path | Document) else list(documents)
    for one in given:
        if isinstance(one, Document) and not one.text.strip():
            raise DocumentError(f"{one.name}: the document is empty", "Give one that holds text.")
    paths = [one for one in given if not isinstance(one, Document)]
    read = iter(read_documents(paths))
    return told_apart(one if isinstance(one, Document) else next(read) for one in given)


def _filled(settings: Settings, suggested: Mapping[str, object]) -> Settings:
    """What models.toml says of a model, where the user has left the choice open."""
    return settings.but(**{name: value for name, value in suggested.items() if getattr(settings, name) is None})
