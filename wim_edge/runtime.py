"""The runtime: one opened model, asked about documents. Everything above it only consumes its events."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as Seq
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Any, Self

from wim_edge.documents import Document, with_unique_names
from wim_edge.documents.readers import Documents, DocumentSource, Scan, find_scans, listed, load_documents
from wim_edge.engine.protocols import Embedder, Interrupted, Model
from wim_edge.errors import InvalidRequestError
from wim_edge.followup import WHY, Restater, Turn
from wim_edge.library.in_step import InStep
from wim_edge.library.library import Library, open_library
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading import events
from wim_edge.reading.chat import Message
from wim_edge.reading.completion import Completer
from wim_edge.reading.control import Control, Decision, Policy
from wim_edge.reading.resolved_settings import ResolvedSettings
from wim_edge.reading.stream import Stream
from wim_edge.reading.timings import Timings
from wim_edge.recall.library_recall import LibraryRecall
from wim_edge.roles import Roles, resolve_for, roles_for
from wim_edge.session import QuestionSession, nothing_events, prepare, run_session, stopped_events
from wim_edge.settings import Settings

_Prepared = Callable[[ExitStack, Timings, Control], Iterator[events.Event]]
_PATIENCE = 1.0  # seconds


class Runtime:
    """A model, opened once and asked many times; a context manager.

    >>> with Runtime(Settings(model="smollm2-135m")) as runtime:        # doctest: +SKIP
    ...     print(runtime.ask("contract.pdf", "Who may end the contract?").text)

    Args:
        settings: see `wim_edge.settings.Settings`; by default the defaults and ``WIM_EDGE_*`` variables.
        model: an opened engine model (anything that implements `wim_edge.engine.protocols.Model`), instead of
            the one that ``settings.model`` names. The caller closes it.
        embedder: likewise (`wim_edge.engine.protocols.Embedder`), instead of ``settings.embedding_model``.
        judge: an opened engine model that judges for ``model``, instead of ``settings.judge``.

    One question at a time; `answer_now` and `cancel` may be called from any thread.
    """

    def __init__(
        self, settings: Settings | None = None, *, model: Model | None = None,
        embedder: Embedder | None = None, judge: Model | None = None,
    ) -> None:  # fmt: skip
        self._loaded = LoadedModels(settings or Settings.from_environment(), model, embedder, judge)
        self._session: QuestionSession | None = None
        """The last question asked."""
        self._recall = LibraryRecall()
        self._in_step = InStep()
        self._completer: Completer | None = None
        self._restater = Restater()
        self._control = Control()
        self._busy = threading.Lock()
        self._beginning: int | None = None
        """The thread that is setting a reading up."""
        self._stream: Callable[[], Stream | None] = lambda: None
        """The reading under way, held weakly so that one that is dropped half-way ends."""

    @property
    def settings(self) -> Settings:
        """The settings, with those that models.toml names for the model once it is loaded."""
        return self._loaded.resolved(here=False).settings

    def resolve(self, documents: Documents = ()) -> ResolvedSettings:
        """Returns the settings that these documents would be read with, and where each comes from, without reading
        them. Raises DocumentError, ModelError, CapacityError."""
        read = load_documents(documents, self.settings)
        return resolve_for(self._loaded, read)

    def ask(self, documents: Documents, question: str, **options: Any) -> events.AnswerFinished:
        """Reads and answers; returns the last event of `stream`, which describes the arguments and options."""
        for event in self.stream(documents, question, **options):
            last = event
        assert isinstance(last, events.AnswerFinished)
        return last

    def stream(
        self, documents: Documents, question: str, *, library: str | None = None,
        after: Turn | None = None, on_margin: Policy | None = None, verdicts: Mapping[int, bool] | None = None,
        read_on: bool = False,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Reads documents and answers a question, yielding events as things happen.

        Args:
            documents: a path, ``"-"`` for standard input, a `Document`, or several of them; none with the
                pattern ``llm``: the model answers from what it knows.
            question: what to find out.
            library: the name of a library (`wim-edge library add`): passages for the question are recalled from it
                first, and read after the documents, of which there may then be none.
            after: the turn before the question, in a conversation. A question that refers to it is restated, and
                `events.QuestionSettled` comes first; the errors below then come with the events.
            on_margin: asked after each judged margin whether to go on, answer now, or cancel.
            verdicts: the reader's verdicts on segments, by number: True if the answer draws on the segment, False if
                not; `judge` adds to them. If the last question is asked again with verdicts, of the same documents, it
                is answered again without reading anything.
            read_on: True: if the last question is asked again, of the same documents, reading goes on where it ended,
                until another segment is the best or all is read; a new answer comes after `events.AnswerRevised`, and
                none if the best segments are the same. For another question, reading begins at the start.

        Errors of the request are raised here, before anything is read: InvalidRequestError, DocumentError, ModelError,
        CapacityError. Closing the iterator abandons the reading.
        """
        query, given = _checked_question(question), listed(documents)
        answer = self._read_and_answer if library is None else partial(self._recall_and_answer, library)
        if after is not None:
            answer = partial(self._restate_and_answer, answer, after)
        return self._begin(partial(answer, given, query, on_margin, verdicts, read_on), given)

    def recall(self, library: str, question: str) -> Iterator[events.Event]:
        """Finds the passages of a library that may answer a question, and goes no further. The last event is
        `events.PassagesRecalled`, or, if it was stopped, `events.AnswerFinished`, cancelled. Raises LibraryError,
        ModelError, CapacityError."""
        query = _checked_question(question)
        return self._begin(partial(self._recall_and_answer, library, None, query, None, None, False))

    def read(self, documents: Documents) -> Iterator[events.Event]:
        """Reads documents ahead, without a question, so that questions need not wait for it.

        The reading is saved for this model and the chosen pattern's way of reading (deep or shallow); a known
        text is not read again. The last event is `events.ReadingFinished`. Raises what `stream` raises, and
        LibraryError if nothing can be saved.
        """
        if not self.settings.save:
            raise InvalidRequestError("reading ahead without saving leaves nothing", "Leave --no-save away.")
        given = listed(documents)
        return self._begin(partial(self._read_and_answer, given, None, None, None, False), given, asked=False)

    def complete(
        self, *prompts: str | Seq[Message], top_logprobs: int | None = None, schema: object = None
    ) -> Iterator[events.Event]:
        """Continues a text, or a conversation of (role, text); of several one after the other. No document is read.

        Yields `events.ReadingProgress` of the prompt, the first for what was in the cache, `events.CompletionDelta`,
        and at last `events.CompletionFinished`. The beginning shared with the last prompt is not evaluated again.
        ``top_logprobs``: adds the log-probabilities of each token and of so many likeliest ones.
        ``schema``: a JSON schema that the answer is held to, as json.loads returns it (the extra `server`).
        Raises InvalidRequestError, ModelError, CapacityError.
        """
        return self._begin(partial(self._completing, prompts, top_logprobs, schema))

    def embed(self, inputs: Iterable[str | Seq[int]]) -> Iterator[events.Event]:
        """Embeds texts, or tokens of the embedding model, with no words put before them.

        Yields `events.TextEmbedded` for each, in their order; stops early if it is cancelled.
        Raises InvalidRequestError without an embedding model and for an empty text, ModelError, CapacityError.
        """
        return self._begin(partial(self._embedding, inputs))

    def answer_now(self) -> None:
        """Ends the reading and answers from what has been read; may be called from any thread."""
        self._control.request(Decision.ANSWER)

    def judge(self, segment: int, accepted: bool | None) -> None:
        """Has the answer draw on a segment or not, until the answer begins, from any thread. None: takes that back."""
        self._control.judge(segment, accepted)

    def cancel(self) -> None:
        """Stops reading or answering; may be called from any thread."""
        self._control.request(Decision.CANCEL)

    def open(self) -> Model:
        """Loads the model, if it is not yet loaded. Raises ModelError, CapacityError."""
        return self._loaded.model()

    def roles(self) -> Roles:
        """Returns which model reads and which one words the answer, as far as the settings tell. Raises ModelError."""
        return roles_for(self._loaded, ())

    def with_changes(self, **changes: object) -> Runtime:
        """Returns another runtime with these settings changed, on the same loaded models, which this one closes.

        Raises InvalidRequestError for settings that belong to the loaded model.
        """
        other = Runtime(self.settings)
        other._loaded = self._loaded.with_changes(**changes)
        return other

    def close(self) -> None:
        """Frees the model and its cache. A stream under way is abandoned; one that another thread has begun
        is cancelled, and that thread waited for.

        Raises InvalidRequestError if a policy calls it, in the middle of the reading.
        """
        patience = time.monotonic() + _PATIENCE
        while True:
            self.cancel()
            stream, here = self._stream(), threading.get_ident()
            if here == self._beginning or (stream is not None and stream.thread == here):
                raise InvalidRequestError("a reading cannot close its own runtime", "Let the policy return CANCEL.")
            # Between two events another thread is not in it, and comes back for the last one
            if stream is not None and (stream.reader in (None, here) or time.monotonic() > patience):
                with suppress(ValueError):  # another thread is in it
                    stream.close()
            if self._busy.acquire(timeout=0.01):
                break
        try:
            self._free()
            self._loaded.close()
        finally:
            self._busy.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # One question at a time

    def _begin(
        self, prepared: _Prepared, documents: Iterable[DocumentSource] = (), *, asked: bool = True
    ) -> Iterator[events.Event]:
        """Returns the stream of what is prepared, which holds the runtime, and keeps the stack open, until it ends. It
        is prepared at once, but for documents with scans, whose text is recognised first."""
        if not self._busy.acquire(blocking=False):
            raise InvalidRequestError("this runtime is answering another question", "Finish or close its stream.")
        stack, clock, self._control = ExitStack(), Timings(), Control()
        stack.callback(self._busy.release)
        stack.callback(self._control.detach)
        self._beginning = threading.get_ident()
        try:
            scans = find_scans([one for one in documents if not isinstance(one, Document)], self.settings)
            run = partial(prepared, stack, clock, self._control)
            stream = Stream(stack, self._after_scans(scans, run, clock, asked) if scans else run())
        except BaseException:
            stack.close()
            raise
        finally:
            self._beginning = None
        self._stream = weakref.ref(stream)
        return stream

    def _after_scans(
        self, scans: list[Scan], run: Callable[[], Iterator[events.Event]], clock: Timings, asked: bool
    ) -> Iterator[events.Event]:
        for scan in scans:
            told = partial(events.PagesRecognised, scan.path.name, of=len(scan.pages) or None)
            yield told(pages=0, confidence=None)
            stopped: Callable[[], bool] = lambda: bool(self._control.requested)  # noqa: E731
            with closing(scan.recognise(self.settings, keep=self.settings.save, is_stopped=stopped)) as pages:
                for done, page in enumerate(clock.each("scan", pages), 1):
                    yield told(pages=done, confidence=page.confidence)
            if stopped():
                yield from self._stopped(clock, asked=asked)
                return
        yield from run()

    def _read_and_answer(
        self, documents: Documents, query: str | None, on_margin: Policy | None,
        verdicts: Mapping[int, bool] | None, read_on: bool, stack: ExitStack, clock: Timings, control: Control,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Reads documents, and answers if there is a question; the last one, asked again, from the cache."""
        read = load_documents(documents, self.settings)
        stack.callback(self._forget, unless_read=True)
        with clock.stage("load"):
            self._loaded.check_fits(read)
        request = (read, query)
        asked = self._session if self._session is not None and self._session.request == request else None
        if asked is None or not (read_on or verdicts is not None):
            self._forget()
            try:
                asked = self._session = prepare(self._loaded, read, query, on_margin, clock, control)
            except Interrupted:
                return self._stopped(clock, asked=query is not None)
            asked.request = request
        else:
            asked.reset(control, clock, read_on=read_on)
        control.verdicts.update(verdicts or {})
        asked.reading.ranking.verdicts = control.verdicts
        return run_session(asked)

    def _restate_and_answer(
        self, answer: Callable[..., Iterator[events.Event]], after: Turn, documents: Seq[DocumentSource], query: str,
        on_margin: Policy | None, verdicts: Mapping[int, bool] | None, read_on: bool, stack: ExitStack,
        clock: Timings, control: Control,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Restates a follow-up question with the model that writes, and answers that."""
        try:
            with clock.stage("answer"):
                asked = self._restater.restated(query, after, self.roles().writer, control)
        except Interrupted:
            yield from self._stopped(clock, asked=True)
            return
        if asked != query:
            yield events.QuestionSettled(query, asked, WHY)
        yield from answer(documents, asked, on_margin, verdicts, read_on, stack, clock, control)

    def _recall_and_answer(
        self, name: str, documents: Documents | None, query: str,
        on_margin: Policy | None, verdicts: Mapping[int, bool] | None, read_on: bool,
        stack: ExitStack, clock: Timings, control: Control,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Recalls passages of a library, and goes on to read them unless ``documents`` is None."""
        given = None if documents is None else load_documents(documents, self.settings)
        waiting = self._in_step.bring(Library(name), self.settings)
        library = open_library(name)

        def found() -> Iterator[events.Event]:
            if waiting:
                yield events.Warning(waiting)
            try:
                recalls = self._loaded.judge() or self._loaded
                model, (chat, _) = recalls.model(), recalls.chat()
                recaller, passages = yield from self._recall.run(
                    library, query, model, chat, self.settings, control, clock
                )
            except Interrupted:
                yield from self._stopped(clock, asked=True)
                return
            if given is None:
                return
            texts = {document.text for document in given}
            recalled = [one for one in recaller.documents(passages) if one.text not in texts]
            if not any(passage.chosen for passage in passages):
                nothing = f"nothing in library {name} has words in common with the question"
                if not given:
                    text = f"{nothing[0].upper()}{nothing[1:]}; other words or --retriever hybrid may find it."
                    yield from nothing_events(text, self._loaded.name, self._loaded.resolved().pattern.name, clock)
                    return
                yield events.Warning(nothing)
            read = with_unique_names([*given, *recalled])
            yield from self._read_and_answer(read, query, on_margin, verdicts, read_on, stack, clock, control)

        return found()

    def _completing(
        self, prompts: Seq[str | Seq[Message]], top_logprobs: int | None, schema: object, _stack: ExitStack,
        _clock: Timings, control: Control,
    ) -> Iterator[events.Event]:  # fmt: skip
        if self._completer is None:
            self._completer = Completer(self.open(), self._loaded.chat_variables)
        completer, settings = self._completer, self.settings
        tokens = [completer.tokens(prompt) for prompt in prompts]
        control.attach(completer.open(max(tokens, key=len, default=[]), settings))
        grammars = [None if schema is None else self.open().grammar(schema) for _ in prompts]

        def found() -> Iterator[events.Event]:
            for prompt, own, grammar in zip(prompts, tokens, grammars, strict=True):
                chat = not isinstance(prompt, str)
                yield from completer.run(own, settings, control, top_logprobs, grammar, chat=chat)
                if control.requested is Decision.CANCEL:
                    return

        return found()

    def _embedding(
        self, inputs: Iterable[str | Seq[int]], _stack: ExitStack, _clock: Timings, control: Control
    ) -> Iterator[events.Event]:
        embedder = self._loaded.embedder()
        if embedder is None:
            raise InvalidRequestError("there is no embedding model", "Give one: --embedding-model (docs/models.md).")
        texts = [embedder.tokenize(one) if isinstance(one, str) else one for one in inputs]
        if not all(texts):
            raise InvalidRequestError("a text to embed is empty", "Leave it out.")

        def found() -> Iterator[events.Event]:
            with suppress(Interrupted):
                for text, vector in zip(texts, embedder.embed(texts, control.check), strict=True):
                    yield events.TextEmbedded(tuple(vector.tolist()), len(text))

        return found()

    def _stopped(self, clock: Timings, *, asked: bool) -> Iterator[events.Event]:
        return stopped_events(self._loaded.name, self._loaded.resolved().pattern.name, clock, asked=asked)

    def _forget(self, *, unless_read: bool = False) -> None:
        """Closes the last question's reading, with ``unless_read`` only if it was not answered."""
        if self._session is not None and not (unless_read and self._session.is_answered):
            self._session.close()
            self._session = None

    def _free(self) -> None:
        """Closes all that holds a context of the models."""
        self._forget()
        self._recall.close()
        if self._completer is not None:
            self._completer.close()
            self._completer = None


def _checked_question(question: str) -> str:
    if not question.strip():
        raise InvalidRequestError("the question is empty", "Ask something, as the last argument.")
    return question.strip()
