"""A title is recalled, then the beginning of a passage, and what all questions share is evaluated once."""

from __future__ import annotations

from tests.recall.conftest import LONG, last, recalled, writes
from wim_edge import Runtime, Settings, events
from wim_edge.documents import Document
from wim_edge.library.library import Library
from wim_edge.testing import FakeModel


def test_recall_finds_a_title_and_then_a_passage(library: Library) -> None:
    found = recalled("what about the sea?", "recall", writes("Almanac", "The ferry of Norra was sold"))
    titles = next(event for event in found if isinstance(event, events.TitlesRecalled))
    assert titles.titles[0][0] == "Almanac"
    best = last(found).passages[0]
    assert best.title == "Almanac"
    assert best.text.startswith("The ferry of Norra was sold in 1933.")
    assert best.text.endswith("at all.")
    assert LONG[: 5] not in best.text[:30]
    start, end = best.chars
    assert (LONG + "The ferry of Norra was sold in 1933. " + LONG)[start:end] == best.text
    assert all(set(passage.scores) == {"title", "passage"} for passage in last(found).passages)
    assert last(found).decoded_tokens > 0


def test_documents_of_equal_titles_are_both_searched(library: Library) -> None:
    found = recalled("which ship?", "recall", writes("Ferry", "Another ferry crosses"))
    best = last(found).passages[0]
    assert (best.document, best.title) == ("Ferry (2)", "Ferry")


def test_a_second_question_takes_the_prompts_from_the_cache(library: Library) -> None:
    model = FakeModel(writes("Ferry", "The ferry"))
    with Runtime(Settings(retriever="recall"), model=model) as runtime:
        list(runtime.recall("port", "one?"))
        first = sum(n for what, _, n in model.history if what == "append")
        model.history.clear()
        list(runtime.recall("port", "one?"))
        second = sum(n for what, _, n in model.history if what == "append")
        assert second < first / 2
        library.put("more", [("Buoy", Document("Buoy", "It floats."))])
        found = list(runtime.recall("port", "one?"))
    started = next(event for event in found if isinstance(event, events.RecallStarted))
    assert started.documents == 5
    assert all(context.closed for context in model.contexts)


def test_the_question_is_evaluated_once_for_all_stages(library: Library) -> None:
    def evaluated(question: str) -> int:
        model = FakeModel(writes("Almanac", "The ferry of Norra was sold"))
        with Runtime(Settings(retriever="recall"), model=model) as runtime:
            list(runtime.recall("port", question))
        return sum(n for what, _, n in model.history if what == "append")

    # A word and its space are two tokens
    assert evaluated("what about the sea" + " and" * 100) - evaluated("what about the sea") == 200
