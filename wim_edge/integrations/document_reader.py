"""Answers questions of other programs from documents or a library, with passages to cite.

Other programs ask from several threads at once. Therefore a question is a `ReadingRequest`, which waits for its turn.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from wim_edge.asyncio_api import astream
from wim_edge.documents import Document, document_of, read_document, with_unique_names
from wim_edge.documents.readers import Documents, find_scans, listed
from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.library.ingest import files_of
from wim_edge.library.library import Library
from wim_edge.reading import events
from wim_edge.reading.plan import source_of
from wim_edge.runtime import Runtime
from wim_edge.settings import Settings

_FACTS = (
    "status", "short", "support", "confidence", "unsupported", "finish_reason", "model", "judge", "pattern",
    "read_segments", "segments", "unread_probability",
)  # fmt: skip
_guard = threading.Lock()
_runtimes: dict[Settings, Runtime] = {}


class _Turn(AbstractContextManager[None]):
    """The turn to use a runtime. A `with` block waits for it. Raises InvalidRequestError if this thread has it."""

    def __init__(self) -> None:
        self._lock, self._holder = threading.Lock(), 0

    def __enter__(self) -> None:
        if self._holder == threading.get_ident():
            raise InvalidRequestError("the last answer is still being streamed", "Read its stream to the end first.")
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *exc: object) -> None:
        self._holder = 0
        self._lock.release()


_turns: WeakKeyDictionary[Runtime, _Turn] = WeakKeyDictionary()


@dataclass(frozen=True)
class CitedPassage:
    """A passage of a document: its text, its score and its place."""

    text: str
    score: float
    """The relevance to the question, 0 to 1. A passage that was only recalled has the retriever's score instead."""
    metadata: dict[str, Any]
    """The fields of `citation`: the document, the offsets of the passage, its page, section and others."""


class DocumentReader:
    """Answers questions on documents (paths, folders, texts) or a library (its name). Readers with equal ``settings``
    share a runtime. The caller closes a given ``runtime``. Raises InvalidRequestError if both are given."""

    def __init__(
        self, documents: Documents = (), library: str | None = None,
        settings: Settings | None = None, runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        if settings is not None and runtime is not None:
            raise InvalidRequestError("both settings and a runtime are given", "A runtime has its own settings.")
        self.documents = listed(documents)
        self.library = library
        self.runtime = runtime or runtime_of(settings or Settings.from_environment())
        with _guard:
            self.turn = _turns.setdefault(self.runtime, _Turn())
        self._read: dict[Path, tuple[tuple[int, int], Document]] = {}

    def load(self) -> list[Document]:
        """Returns the documents as they are now; reads changed files again. Raises DocumentError for a file that cannot
        be read. If the file is in a folder, leaves it out with a Python warning instead."""
        found: list[Document] = []
        for one in self.documents:
            if isinstance(one, Document):
                found.append(one)
                continue
            folder = Path(one).is_dir()
            for path in [path for path in files_of(Path(one)) if isinstance(path, Path)] if folder else [Path(one)]:
                try:
                    found.append(self._file(path))
                except DocumentError as error:
                    if not folder:
                        raise
                    warnings.warn(f"left out: {error}", stacklevel=2)
        return with_unique_names(found)

    def _file(self, path: Path) -> Document:
        limits = self.runtime.settings
        try:
            stat = path.stat()
        except OSError:
            return read_document(path, limits=limits)  # raises the error
        known = (stat.st_mtime_ns, stat.st_size)
        if path not in self._read or self._read[path][0] != known:
            for scan in find_scans([path], limits):
                for _ in scan.recognise(limits, keep=limits.save):
                    pass
            self._read[path] = known, read_document(path, limits=limits)
        return self._read[path][1]

    def ask(self, question: str, shown: Shown | None = None) -> ReadingRequest:
        """Returns a request. Running the request reads the documents and answers the question."""
        return ReadingRequest(self, partial(self._begin, question, True), shown=shown)

    def rank(self, question: str) -> ReadingRequest:
        """Returns a request that only ranks passages. After its end, `ReadingRequest.passages` returns them."""
        return ReadingRequest(self, partial(self._begin, question, False), until=events.ReadingRanked)

    def _begin(
        self, question: str, answers: bool, request: ReadingRequest, runtime: Runtime
    ) -> Iterator[events.Event]:
        request.documents = self.load()
        if request.documents or answers:
            return runtime.stream(request.documents, question, library=self.library)
        if self.library is None:
            raise InvalidRequestError("there is nothing to read", "Give documents or a library.")
        return runtime.recall(self.library, question)


Shown = Callable[["ReadingRequest", events.Event], Iterable[Any]]


class ReadingRequest:
    """One request to a shared runtime. It ends after an event of the class ``until``; (): after the last event.
    ``shown`` converts an event to the items that the streams yield for it; None: the event itself."""

    def __init__(
        self, reader: DocumentReader, begin: Callable[[ReadingRequest, Runtime], Iterator[events.Event]],
        until: type[events.Event] | tuple[()] = (), shown: Shown | None = None,
    ) -> None:  # fmt: skip
        self.reader, self.begin, self.runtime, self._until = reader, begin, reader.runtime, until
        self._shown = shown or (lambda _, event: (event,))
        self.documents: Sequence[Document] = ()
        """The documents that are read, without those of the library; empty before the request begins."""
        self._runs = self._is_cancelled = False
        self._margins: dict[int, events.MarginJudged] = {}
        self._last: events.Event | None = None

    def stream(self) -> Generator[Any]:
        """Waits until no other request is running, then yields the items. Closing the generator ends the reading."""
        with self.reader.turn:
            self._runs = True
            try:
                if self._is_cancelled:
                    return
                with closing(self.begin(self, self.runtime)) as found:  # type: ignore[type-var]
                    for event in found:
                        if isinstance(event, events.MarginJudged):
                            self._margins[event.segment] = event
                        self._last = event
                        yield from self._shown(self, event)
                        if isinstance(event, self._until):
                            return
            finally:
                self._runs = False

    def astream(self) -> AsyncGenerator[Any]:
        """Yields the items, for asyncio. A cancelled task stops the reading after the current batch of tokens."""
        return astream(self)

    def finish(self) -> ReadingRequest:
        """Runs the request to its end, and returns the request."""
        for _ in self.stream():
            pass
        return self

    async def afinish(self) -> ReadingRequest:
        """Runs the request to its end for asyncio, and returns the request."""
        async for _ in self.astream():
            pass
        return self

    def cancel(self) -> None:
        """Stops a running request. If it has not begun, it will yield no events."""
        self._is_cancelled = True
        if self._runs:
            self.runtime.cancel()

    def passages(self, most: int | None = None) -> list[CitedPassage]:
        """Returns a finished request's passages, the best first: the answer's sources, or ranked or recalled passages.
        ``most``: the largest number of passages; None: only those that an answer draws on."""
        last, found = self._last, list[CitedPassage]()
        if isinstance(last, events.AnswerFinished):
            found = [CitedPassage(self._text(one), one.relevance, citation(one)) for one in last.sources]
        elif isinstance(last, events.ReadingRanked):
            found = [self._ranked(one) for one in last.ranking if one.chosen or most is not None]
        elif isinstance(last, events.PassagesRecalled):
            found = [self._recalled(one) for one in last.passages if one.chosen or most is not None]
        return found[:most]

    def _text(self, source: events.Source) -> str:
        document = self._document(source.document)
        return document.text[slice(*source.chars)] if document else source.margin

    def _ranked(self, one: events.RankedSegment) -> CitedPassage:
        margin, document = self._margins.get(one.segment), self._document(one.document)
        assert document is not None  # it was read just now
        text, quote = (margin.text, margin.quote) if margin else ("", None)
        place = citation(source_of(document, one.segment, one.chars, one.relevance, text, quote))
        return CitedPassage(document.text[slice(*one.chars)], one.relevance, place)

    def _recalled(self, one: events.RecalledPassage) -> CitedPassage:
        document = self._document(one.document) or Document(one.document, "", path=Path(one.path))
        place = citation(source_of(document, 0, one.chars, one.score, "", None))
        kept = {name: value for name, value in place.items() if name not in ("segment", "relevance")}
        return CitedPassage(one.text, one.score, {**kept, "title": one.title, "score": one.score})

    def _document(self, name: str) -> Document | None:
        """Returns the document of this name; None if neither the request nor the library has it."""
        own = next((one for one in self.documents if one.name == name), None)
        if own is not None or self.reader.library is None:
            return own
        kept = Library(self.reader.library).find(name)
        return kept.document if kept else None


def citation(source: events.Source) -> dict[str, Any]:
    """Returns the fields of a source as a dict, without fields that are None or empty."""
    return {name: value for name, value in asdict(source).items() if value not in (None, "")}


def answer_facts(finished: events.AnswerFinished) -> dict[str, Any]:
    """Returns an answer as a dict: status, support, models, numbers of segments, quotations, sources and others."""
    facts = {name: getattr(finished, name) for name in _FACTS}
    return {**facts, "quotes": [*map(asdict, finished.quotes)], "sources": [*map(citation, finished.sources)]}


def document_from(name: str, data: bytes) -> Document:
    """Returns the bytes of an attachment as a document. ``name``: the file's name with ending. Raises DocumentError."""
    return replace(document_of(Path(name), data), path=None)


def runtime_of(settings: Settings) -> Runtime:
    """Returns the runtime that this process shares for these settings; creates it at the first call."""
    with _guard:
        if settings not in _runtimes:
            _runtimes[settings] = Runtime(settings)
        return _runtimes[settings]
