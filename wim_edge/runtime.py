"""The runtime: one open model that answers questions on documents, and yields events to command line and server."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence as Seq
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from wim_edge.documents import Document, with_unique_names
from wim_edge.documents.readers import Documents, DocumentSource, Scan, find_scans, listed, load_documents
from wim_edge.engine.protocols import Embedder, Interrupted, Model
from wim_edge.errors import InvalidRequestError
from wim_edge.followup import WHY, Restater, Turn
from wim_edge.library.ingest import InStep
from wim_edge.library.library import Library, open_library
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading import events
from wim_edge.reading.chat import Message
from wim_edge.reading.completion import Completer
from wim_edge.reading.control import Control, Decision, Policy
from wim_edge.reading.events import Stream
from wim_edge.reading.timings import Timings, peak_rss_bytes
from wim_edge.recall.recaller import LibraryRecall
from wim_edge.roles import Roles, roles_for
from wim_edge.session import NOTHING, Question, QuestionSession, Run, prepare, run_session
from wim_edge.settings import Settings

_PATIENCE = 1.0
"""The seconds that `Runtime.close` waits for another thread to take the last events of its stream."""

_Prepared = Callable[[Run], Iterator[events.Event]]


class Runtime(AbstractContextManager["Runtime"]):
    """A model that is opened once and asked many times; a context manager (docs/python.md has an example).
    ``settings``: None means the defaults, changed by ``WIM_EDGE_*`` variables. ``model``, ``embedder``, ``judge``: open
    models instead of those that the settings name; the caller closes them. A runtime answers one question at a time;
    `answer_now` and `cancel` may be called from any thread."""

    def __init__(
        self, settings: Settings | None = None, *, model: Model | None = None,
        embedder: Embedder | None = None, judge: Model | None = None,
    ) -> None:  # fmt: skip
        self._loaded = LoadedModels(settings or Settings.from_environment(), model, embedder, judge)
        self._session: QuestionSession | None = None
        """The session of the last question; None: there was none, or its reading is closed."""
        self._recall = LibraryRecall()
        self._in_step = InStep()
        self._completer: Completer | None = None
        self._restater = Restater()
        self._control = Control()
        self._busy = threading.Lock()
        self._beginning: int | None = None
        """The id of the thread that is preparing a stream; None: no thread."""
        self._stream: Callable[[], Stream | None] = lambda: None
        """Returns the open stream, or None. Holds it weakly, so that a stream ends if the caller drops it."""

    @property
    def settings(self) -> Settings:
        """The settings. Once the model's file is found, they include the model's settings from models.toml."""
        return self._loaded.resolved(here=False).settings

    def ask(self, documents: Documents, question: str, **options: Any) -> events.AnswerFinished:
        """Answers a question on documents. Takes the arguments of `stream`, and returns its last event, the answer."""
        for event in self.stream(documents, question, **options):
            last = event
        assert isinstance(last, events.AnswerFinished)
        return last

    def stream(
        self, documents: Documents, question: str, *, library: str | None = None,
        after: Turn | None = None, on_margin: Policy | None = None, verdicts: Mapping[int, bool] | None = None,
        read_on: bool = False,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Reads documents and answers a question; yields events on the way.

        Args:
            documents: a path, ``"-"`` for standard input, a `Document`, or several of these. Without documents, the
                pattern must be ``llm``: the model answers from what it knows.
            question: the question, in words; it must not be blank.
            library: the name of a library (`wim-edge library add`). Passages for the question are recalled from it
                first, and read after the documents, if any.
            after: the turn before the question, in a conversation. A question that refers to it is restated, which
                `events.QuestionSettled` reports; the errors below are then raised by the iterator.
            on_margin: called after each judged margin; returns whether to continue, answer now, or cancel.
            verdicts: the user's verdicts by segment: True if the answer should draw on the segment, False if not;
                `judge` adds verdicts. The last question on the same documents is then answered again without reading.
            read_on: if the last question is asked again on the same documents, reading continues until another segment
                is the best or all are read. A new answer comes after `events.AnswerRevised`; if the best segments are
                the same, the answer stays. Another question starts a new reading.

        Errors of the request are raised before anything is read: InvalidRequestError, DocumentError, ModelError,
        CapacityError. Closing the iterator abandons the reading.
        """
        asked, given = Question(_checked_question(question), on_margin, verdicts, read_on), listed(documents)
        answer = self._read_and_answer if library is None else partial(self._recall_and_answer, library)
        if after is not None:
            answer = partial(self._restate_and_answer, answer, after)
        return self._begin(partial(answer, given, asked), given)

    def recall(self, library: str, question: str) -> Iterator[events.Event]:
        """Recalls passages of a library for a question, without answering. The last event is `events.PassagesRecalled`,
        or a cancelled `events.AnswerFinished`. Raises LibraryError, ModelError, CapacityError."""
        asked = Question(_checked_question(question))
        return self._begin(partial(self._recall_and_answer, library, None, asked))

    def read(self, documents: Documents) -> Iterator[events.Event]:
        """Reads documents before there is a question, and saves the reading. It serves later questions only with this
        model and the same shape, deep or shallow, which the pattern sets. The last event is `events.ReadingFinished`.
        Raises what `stream` raises, and LibraryError if nothing can be saved."""
        if not self.settings.save:
            raise InvalidRequestError("reading ahead without saving has no effect", "Leave out --no-save.")
        given = listed(documents)
        return self._begin(partial(self._read_and_answer, given, Question(None)), given, asked=False)

    def complete(
        self, *prompts: str | Seq[Message], top_logprobs: int | None = None, schema: object = None
    ) -> Iterator[events.Event]:
        """Continues each text, or conversation of (role, text). No document is read. For each prompt, yields
        `events.ReadingProgress` (the first for its cached part), `events.CompletionDelta`, and then
        `events.CompletionFinished`. The prefix shared with the last prompt is not evaluated again. ``top_logprobs``:
        report each token's log-probability, and those of this many likeliest tokens. ``schema``: a JSON schema for the
        answer, as json.loads returns it (the extra `server`). Raises InvalidRequestError, ModelError, CapacityError."""
        return self._begin(partial(self._complete, prompts, top_logprobs, schema))

    def embed(self, inputs: Iterable[str | Seq[int]]) -> Iterator[events.Event]:
        """Embeds texts, or token lists of the embedding model, without a prefix. Yields an `events.TextEmbedded` for
        each. Raises InvalidRequestError without an embedding model or for an empty text, ModelError, CapacityError."""
        return self._begin(partial(self._embed, inputs))

    def answer_now(self) -> None:
        """Ends the reading and answers from what has been read; may be called from any thread."""
        self._control.request(Decision.ANSWER)

    def judge(self, segment: int, accepted: bool | None) -> None:
        """Sets the user's verdict on a segment, from any thread; None removes it. Ignored once the answer has begun."""
        self._control.judge(segment, accepted)

    def cancel(self) -> None:
        """Stops reading or answering; may be called from any thread."""
        self._control.request(Decision.CANCEL)

    def open(self) -> Model:
        """Returns the model. The first call loads the model. Raises ModelError, CapacityError."""
        return self._loaded.model()

    def roles(self) -> Roles:
        """Returns which model reads and which one writes the answer, from the settings alone. Raises ModelError."""
        return roles_for(self._loaded, ())

    def with_changes(self, **changes: object) -> Runtime:
        """Returns a new runtime with these settings changed. Both share the loaded models; `close` on this runtime
        closes the models. Raises InvalidRequestError for settings that cannot change on a loaded model."""
        other = Runtime(self.settings)
        other._loaded = self._loaded.with_changes(**changes)
        return other

    def close(self) -> None:
        """Frees the model and its cache. Closes an open stream; if another thread is taking an event from it, cancels
        and waits. Raises InvalidRequestError if a policy calls this method during the reading."""
        patience = time.monotonic() + _PATIENCE
        while True:
            self.cancel()
            stream, here = self._stream(), threading.get_ident()
            if here == self._beginning or (stream is not None and stream.thread == here):
                raise InvalidRequestError("a reading cannot close its own runtime", "Let the policy return CANCEL.")
            # Between two events another thread is outside the stream, and will return for the last event
            if stream is not None and (stream.reader in (None, here) or time.monotonic() > patience):
                with suppress(ValueError):  # another thread is running it
                    stream.close()
            if self._busy.acquire(timeout=0.01):
                break
        try:
            self._forget()
            self._recall.close()
            if self._completer is not None:
                self._completer.close()
                self._completer = None
            self._loaded.close()
        finally:
            self._busy.release()

    def __exit__(self, *exc: object) -> None:
        self.close()

    # One question at a time

    def _begin(
        self, prepared: _Prepared, documents: Iterable[DocumentSource] = (), *, asked: bool = True
    ) -> Iterator[events.Event]:
        """Returns a stream: events of OCR, if there are scans, then ``prepared(run)``. Only one stream can be open."""
        if not self._busy.acquire(blocking=False):
            raise InvalidRequestError("this runtime is answering another question", "Finish or close its stream.")
        run = Run()
        self._control = run.control
        run.stack.callback(self._busy.release)
        run.stack.callback(run.control.detach)
        self._beginning = threading.get_ident()
        try:
            scans = find_scans([one for one in documents if not isinstance(one, Document)], self.settings)
            stream = Stream(run.stack, self._after_scans(scans, prepared, run, asked) if scans else prepared(run))
        except BaseException:
            run.stack.close()
            raise
        finally:
            self._beginning = None
        self._stream = weakref.ref(stream)
        return stream

    def _after_scans(self, scans: list[Scan], prepared: _Prepared, run: Run, asked: bool) -> Iterator[events.Event]:
        stopped: Callable[[], bool] = lambda: bool(run.control.requested)  # noqa: E731
        for scan in scans:
            progress = partial(events.PagesRecognised, scan.path.name, of=len(scan.pages) or None)
            yield progress(pages=0, confidence=None)
            with closing(scan.recognise(self.settings, keep=self.settings.save, is_stopped=stopped)) as pages:
                for done, page in enumerate(run.clock.each("scan", pages), 1):
                    yield progress(pages=done, confidence=page.confidence)
            if stopped():
                yield from self._stopped(run.clock, asked=asked)
                return
        yield from prepared(run)

    def _read_and_answer(self, documents: Documents, question: Question, run: Run) -> Iterator[events.Event]:
        """Reads documents, and answers if there is a question. A repeated question may need no reading."""
        read = load_documents(documents, self.settings)
        run.stack.callback(self._forget, unless_read=True)
        with run.clock.stage("load"):
            self._loaded.check_fits(read)
        again = question.read_on or question.verdicts is not None
        if again and self._session is not None and self._session.request == (read, question.text):
            self._session.reset(question, run)
        else:
            self._forget()
            try:
                self._session = prepare(self._loaded, read, question, run)
            except Interrupted:
                return self._stopped(run.clock, asked=question.text is not None)
        run.control.verdicts.update(question.verdicts or {})
        self._session.reading.ranking.verdicts = run.control.verdicts
        return run_session(self._session)

    def _restate_and_answer(
        self, answer: Callable[[Seq[DocumentSource], Question, Run], Iterator[events.Event]], after: Turn,
        documents: Seq[DocumentSource], question: Question, run: Run,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Restates a follow-up question with the writer, and answers the restated question."""
        query = question.text or ""
        try:
            with run.clock.stage("answer"):
                asked = self._restater.restated(query, after, self.roles().writer, run.control)
        except Interrupted:
            yield from self._stopped(run.clock, asked=True)
            return
        if asked != query:
            yield events.QuestionSettled(query, asked, WHY)
        yield from answer(documents, replace(question, text=asked), run)

    def _recall_and_answer(
        self, name: str, documents: Documents | None, question: Question, run: Run
    ) -> Iterator[events.Event]:
        """Recalls passages of a library. Unless ``documents`` is None, reads documents and passages, and answers."""
        given = None if documents is None else load_documents(documents, self.settings)
        pending = self._in_step.bring(Library(name), self.settings)
        return self._recalled(open_library(name), pending, given, question, run)

    def _recalled(
        self, library: Library, pending: str | None, given: list[Document] | None, question: Question, run: Run
    ) -> Iterator[events.Event]:
        if pending:
            yield events.Warning(pending)
        try:
            recalls = self._loaded.judge() or self._loaded
            model, (chat, _) = recalls.model(), recalls.chat()
            recaller, passages = yield from self._recall.run(
                library, question.text or "", model, chat, self.settings, run.control, run.clock
            )
        except Interrupted:
            yield from self._stopped(run.clock, asked=True)
            return
        if given is None:
            return
        if not any(passage.chosen for passage in passages):
            nothing = f"nothing in library {library.name} has words in common with the question"
            if not given:
                text = f"{nothing[0].upper()}{nothing[1:]}; other words or --retriever hybrid may find it."
                yield events.AnswerDelta(text)
                yield self._unread(text, "stop", "not_found", run.clock)
                return
            yield events.Warning(nothing)
        texts = {document.text for document in given}
        recalled = [one for one in recaller.documents(passages) if one.text not in texts]
        yield from self._read_and_answer(with_unique_names([*given, *recalled]), question, run)

    def _complete(
        self, prompts: Seq[str | Seq[Message]], top_logprobs: int | None, schema: object, run: Run
    ) -> Iterator[events.Event]:
        if self._completer is None:
            self._completer = Completer(self.open(), self._loaded.chat_variables)
        completer, settings = self._completer, self.settings
        tokens = [completer.tokens(prompt) for prompt in prompts]
        run.control.attach(completer.open(max(tokens, key=len, default=[]), settings))
        grammars = [None if schema is None else self.open().grammar(schema) for _ in prompts]

        def found() -> Iterator[events.Event]:
            for prompt, own, grammar in zip(prompts, tokens, grammars, strict=True):
                chat = not isinstance(prompt, str)
                yield from completer.run(own, settings, run.control, top_logprobs, grammar, chat=chat)
                if run.control.requested is Decision.CANCEL:
                    return

        return found()

    def _embed(self, inputs: Iterable[str | Seq[int]], run: Run) -> Iterator[events.Event]:
        embedder = self._loaded.embedder()
        if embedder is None:
            raise InvalidRequestError("there is no embedding model", "Give one: --embedding-model (docs/models.md).")
        texts = [embedder.tokenize(one) if isinstance(one, str) else one for one in inputs]
        if not all(texts):
            raise InvalidRequestError("a text to embed is empty", "Leave it out.")

        def found() -> Iterator[events.Event]:
            with suppress(Interrupted):
                for text, vector in zip(texts, embedder.embed(texts, run.control.check), strict=True):
                    yield events.TextEmbedded(tuple(vector.tolist()), len(text))

        return found()

    def _stopped(self, clock: Timings, *, asked: bool) -> Iterator[events.Event]:
        """Yields the last events of a request that ended before its reading. ``asked``: False without a question."""
        if asked:
            yield NOTHING
            yield self._unread("", "cancelled", "answered", clock)
        else:
            yield events.ReadingFinished(0, 0, self._loaded.name, _no_usage(clock))

    def _unread(
        self, text: str, reason: events.FinishReason, status: events.AnswerStatus, clock: Timings
    ) -> events.AnswerFinished:
        """Returns the last event of a question for which nothing was read."""
        pattern = self._loaded.resolved().pattern.name
        return events.AnswerFinished(text, reason, pattern, self._loaded.name, (), _no_usage(clock), status=status)

    def _forget(self, *, unless_read: bool = False) -> None:
        """Closes the last question's reading. ``unless_read``: True keeps a reading whose question was answered."""
        if self._session is not None and not (unless_read and self._session.is_answered):
            self._session.reading.close()
            self._session = None


def _no_usage(clock: Timings) -> events.Usage:
    return events.Usage(0, 0, 0, clock.seconds(), peak_rss_bytes())


def _checked_question(question: str) -> str:
    if not question.strip():
        raise InvalidRequestError("the question is empty", "Give the question as the last argument.")
    return question.strip()
