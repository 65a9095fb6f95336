"""Recall from a library as a step of a question: its index is opened or made, then its passages are recalled.

What was opened for the last question serves the next one, as long as the library and the settings are the same.
"""

from __future__ import annotations

from collections.abc import Generator

from wim_edge.engine.protocols import Model
from wim_edge.library.library import Library
from wim_edge.reading import events
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.control import Control
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.timings import Timings
from wim_edge.recall.index import load_index, load_or_build_index, without_tokens
from wim_edge.recall.recaller import Recaller
from wim_edge.settings import Settings


class LibraryRecall:
    """Recalls from one library after the other, with one model."""

    def __init__(self) -> None:
        self._recaller: Recaller | None = None
        self._key = ("", "", False)
        """The folder and the version of the library that the recaller is of, and whether it knows no token."""

    def run(
        self, library: Library, query: str, model: Model, chat: ChatFormat, settings: Settings, control: Control,
        clock: Timings,
    ) -> Generator[events.Event, None, tuple[Recaller, tuple[events.RecalledPassage, ...]]]:  # fmt: skip
        """Yields events, and returns the passages, best first, with the recaller that knows their documents. Raises
        LibraryError, CapacityError, Interrupted."""
        recaller = yield from self._open(library, model, chat, settings, control)
        if settings.retriever != "bm25":  # which asks no model
            control.attach(recaller.open(query))
        passages: tuple[events.RecalledPassage, ...] = ()
        recalled = recaller.recall(query, settings.retriever, most=settings.recall_passages)
        for event in clock.each("recall", recalled):
            yield event
            control.check()
            passages = event.passages if isinstance(event, events.PassagesRecalled) else ()
        return recaller, passages

    def _open(
        self, library: Library, model: Model, chat: ChatFormat, settings: Settings, control: Control
    ) -> Generator[events.Event, None, Recaller]:
        """Returns the last question's recaller, with its prompts in the cache, if the library is as it was."""
        key = (str(library.folder), library.version, settings.retriever == "bm25")
        if self._recaller is None or self._key != key:
            self.close()
            index = without_tokens(library) if settings.retriever == "bm25" else load_index(library, model)
            if index is None:
                yield events.Warning(f"library {library.name} is indexed for {model.info.name}, once for all questions")
                index = load_or_build_index(library, model, lambda _done, _of: control.check())
            prompts = Prompts(settings.templates, chat=chat.is_chat)
            self._key, self._recaller = key, Recaller(model, chat, prompts, library, index)
        return self._recaller

    def close(self) -> None:
        """Frees the recaller's context."""
        if self._recaller is not None:
            self._recaller.close()
            self._recaller = None
