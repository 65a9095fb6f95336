"""A small library, in a home of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wim_edge import Runtime, Settings, events
from wim_edge.documents import Document
from wim_edge.library.library import Library
from wim_edge.recall.index import SuffixArray, end_of, sorted_places
from wim_edge.testing import FakeModel


def writes(title: str, passage: str) -> Callable[[str], str]:
    """A model that recalls this title and this passage, and answers with the place it was shown."""

    def reply(prompt: str) -> str:
        if "Every question is answered by a page." not in prompt:
            return "an answer"
        if prompt.rpartition("Question:")[2].startswith("\n"):
            return ""  # without a question nothing is likelier than anything else
        for label, text in (("\nPassage:", passage), ("\nPage:", " " + title + "\n")):
            if label in prompt and prompt.rfind(label) == max(prompt.rfind("\nPassage:"), prompt.rfind("\nPage:")):
                said = prompt[prompt.rfind(label) + len(label) :]
                return text[len(said) :] if text.startswith(said) else ""
        return ""

    return reply


def recalled(question: str, retriever: str, reply: Callable[[str], str], **settings: Any) -> list[events.Event]:
    with Runtime(Settings(retriever=retriever, **settings), model=FakeModel(reply)) as runtime:
        return list(runtime.recall("port", question))


def last(found: list[events.Event]) -> events.PassagesRecalled:
    assert isinstance(found[-1], events.PassagesRecalled)
    return found[-1]


LONG = "".join(f"Sentence number {n} speaks of the weather and nothing else at all. " for n in range(200))
DOCUMENTS = [
    ("Ferry", "The ferry sails at noon. It is a small ship with room for nine."),
    ("Lighthouse", "The lighthouse was built in 1904. It burned down twice."),
    ("Almanac", LONG + "The ferry of Norra was sold in 1933. " + LONG),
    ("Ferry", "Another ferry crosses the lake every hour."),
]


@pytest.fixture
def library() -> Library:
    made = Library("port", create=True)
    made.put("rows", [(title, Document(title, text)) for title, text in DOCUMENTS])
    return made


def suffix_array_of(tokens: np.ndarray, places: np.ndarray | None = None) -> SuffixArray:
    """Sorts these places; without any, all but the ends."""
    everywhere = np.flatnonzero(tokens != end_of(tokens)) if places is None else places
    return SuffixArray(tokens, sorted_places(tokens, everywhere))
