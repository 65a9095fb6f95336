"""Recall as a step of a question: the index is made once, and what was opened serves the next question."""

from __future__ import annotations

import pytest

from wim_edge import Document, Runtime, Settings, events
from wim_edge.errors import LibraryError
from wim_edge.library.library import Library, open_library
from wim_edge.recall.recaller import Recaller
from wim_edge.testing import FakeModel


def test_what_was_opened_serves_until_the_library_changes(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Recaller] = []
    close = Recaller.close
    monkeypatch.setattr(Recaller, "close", lambda self: (closed.append(self), close(self))[1])
    with Runtime(Settings(retriever="hybrid"), model=FakeModel(lambda prompt: "")) as runtime:
        first, second = (list(runtime.recall("port", "when was the lighthouse built?")) for _ in range(2))
        assert [event.type for event in first].count("warning") == 1  # it is indexed
        assert not any(isinstance(event, events.Warning) for event in second)
        assert not closed
        library.put("more", 0, 0, [("Buoy", Document("Buoy", "The buoy is red."))])
        third = list(runtime.recall("port", "what colour is the buoy?"))
        assert isinstance(third[-1], events.PassagesRecalled)
        assert third[-1].passages[0].title == "Buoy"
        assert len(closed) == 1
    assert len(closed) == 2


def test_words_are_found_without_an_index_or_a_context(library: Library) -> None:
    model = FakeModel(lambda prompt: "")
    with Runtime(Settings(), model=model) as runtime:
        found = list(runtime.recall("port", "when was the lighthouse built?"))
        assert [event.type for event in found] == ["recall.started", "recall.passages"]
        assert not model.contexts
        assert not list(library.folder.glob("*.tokens"))


def test_a_library_must_hold_something(library: Library) -> None:
    assert open_library("port").name == "port"
    Library("empty", create=True)
    with pytest.raises(LibraryError):
        open_library("empty")
