"""From a question to passages, and on to the answer, on a scripted engine."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from tests.recall.conftest import DOCUMENTS, last, recalled, writes
from wim_edge import Document, Runtime, Settings, events
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.ingest import add
from wim_edge.library.library import Library, remove_library
from wim_edge.recall import recaller
from wim_edge.recall.recaller import Recaller
from wim_edge.testing import FakeModel


def test_bm25_finds_words_and_asks_no_model(library: Library) -> None:
    model = FakeModel(lambda prompt: "")
    with Runtime(Settings(), model=model) as runtime:
        found = list(runtime.recall("port", "when was the lighthouse built?"))
    assert not model.contexts
    assert not list(library.folder.glob("*.tokens"))
    assert [event.type for event in found] == ["recall.started", "recall.passages"]
    passages = last(found).passages
    assert (passages[0].document, passages[0].title) == ("Lighthouse", "Lighthouse")
    assert passages[0].text == DOCUMENTS[1][1]
    assert set(passages[0].scores) == {"bm25"}
    assert last(found).decoded_tokens == last(found).prefilled_tokens == 0


def test_hybrid_hears_every_voice(library: Library) -> None:
    found = recalled("when does the ferry sail?", "hybrid", writes("Lighthouse", "The lighthouse"))
    passages = {passage.document: passage for passage in last(found).passages}
    assert {"Ferry", "Lighthouse", "Ferry (2)", "Almanac"} <= set(passages)
    assert set(passages["Ferry"].scores) >= {"bm25", "title"}
    assert "bm25" not in passages["Lighthouse"].scores
    assert any("likelihood" in passage.scores for passage in passages.values())
    assert last(found).prefilled_tokens > 0
    scores = [passage.score for passage in last(found).passages if "likelihood" in passage.scores]
    assert scores == sorted(scores, reverse=True)


def test_so_many_are_listed_and_at_most_so_many_chosen(library: Library) -> None:
    found = recalled("when does the ferry sail?", "bm25", lambda prompt: "", recall_passages=2)
    chosen = [passage.chosen for passage in last(found).passages]
    assert 1 <= sum(chosen) <= 2
    assert chosen == sorted(chosen, reverse=True)
    library.put("many", [(f"T{n}", Document(f"T{n}", f"The lighthouse number {n}.")) for n in range(40)])
    assert len(last(recalled("lighthouse?", "bm25", lambda prompt: "", recall_passages=30)).passages) == 30


def test_the_answer_is_read_from_what_was_recalled(library: Library) -> None:
    model = FakeModel(writes("Almanac", "The ferry of Norra was sold"))
    chosen = Settings(retriever="recall", recall_passages=1, pattern="wim", relevance="verdict")
    with Runtime(chosen, model=model) as runtime:
        found = list(runtime.stream((), "what about the sea?", library="port"))
    started = next(event for event in found if isinstance(event, events.ReadingStarted))
    assert started.documents == ("Almanac",)
    passage = next(event for event in found if isinstance(event, events.PassagesRecalled)).passages[0]
    assert started.tokens == len(model.tokenize(passage.text))
    (segment,) = (event for event in found if isinstance(event, events.SegmentRead))
    assert segment.chars == passage.chars
    answer = found[-1]
    assert isinstance(answer, events.AnswerFinished)
    assert answer.text == "an answer"
    (source,) = answer.sources
    assert (source.document, source.chars) == ("Almanac", passage.chars)
    assert source.quote
    assert DOCUMENTS[2][1][slice(*source.quote)] == source.margin == "The ferry of Norra was sold in 1933."


def test_short_documents_are_read_whole_and_given_ones_come_first(library: Library) -> None:
    with Runtime(Settings(retriever="bm25", recall_passages=1), model=FakeModel(lambda prompt: "x")) as runtime:
        found = list(runtime.stream(Document("mine", "My own text."), "when was the lighthouse built?", library="port"))
    started = next(event for event in found if isinstance(event, events.ReadingStarted))
    assert started.documents == ("mine", "Lighthouse")


def test_what_is_wrong_is_said_before_anything_is_done(library: Library) -> None:
    with Runtime(Settings(), model=FakeModel()) as runtime:
        with pytest.raises(LibraryError, match="no library none"):
            runtime.stream((), "a?", library="none")
        with pytest.raises(InvalidRequestError, match="empty"):
            runtime.stream((), " ", library="port")
        with pytest.raises(InvalidRequestError, match="empty"):
            runtime.recall("port", "")
        Library("void", create=True)
        with pytest.raises(LibraryError, match="no documents"):
            runtime.stream((), "a?", library="void")
    with pytest.raises(InvalidRequestError, match="retriever"):
        Settings(retriever="best")


def test_no_words_in_common(library: Library) -> None:
    with Runtime(Settings(retriever="bm25"), model=FakeModel()) as runtime:
        last_one = runtime.ask((), "xylophone?", library="port")
    assert (last_one.status, last_one.read_segments) == ("not_found", 0)
    assert "in common" in last_one.text
    with Runtime(Settings(retriever="bm25"), model=FakeModel(lambda prompt: "x")) as runtime:
        found = list(runtime.stream(Document("mine", "My own."), "xylophone?", library="port"))
    assert any(isinstance(event, events.Warning) and "in common" in event.text for event in found)
    assert isinstance(found[-1], events.AnswerFinished)


def test_the_same_text_is_recalled_once(library: Library) -> None:
    library.put("copy", [("Copy", Document("Copy", DOCUMENTS[1][1]))])
    found = recalled("when was the lighthouse built?", "hybrid", writes("Copy", "The lighthouse"))
    texts = [passage.text for passage in last(found).passages]
    assert len(texts) == len(set(texts))


def test_what_it_took_counts_the_recall(library: Library) -> None:
    with Runtime(Settings(retriever="recall"), model=FakeModel(writes("Ferry", "The ferry"))) as runtime:
        found = list(runtime.stream((), "which ship?", library="port"))
    answer, recall = found[-1], last([event for event in found if isinstance(event, events.PassagesRecalled)])
    assert isinstance(answer, events.AnswerFinished)
    assert 0 < answer.usage.seconds["recall"] <= answer.usage.seconds["total"]
    assert all(source.path == "rows" for source in answer.sources)
    assert recall.passages[0].path == "rows"


def test_a_question_too_long_for_the_model(library: Library) -> None:
    with (
        Runtime(Settings(retriever="hybrid"), model=FakeModel()) as runtime,
        pytest.raises(InvalidRequestError, match="the question takes"),
    ):
        list(runtime.recall("port", "word " * 9000))


def test_an_abandoned_recall_is_closed_before_the_next(library: Library) -> None:
    with Runtime(Settings(retriever="recall"), model=FakeModel(writes("Ferry", "The"))) as runtime:
        abandoned = runtime.recall("port", "a?")
        next(abandoned)
        with pytest.raises(InvalidRequestError, match="another question"):
            runtime.recall("port", "b?")
        abandoned.close()  # type: ignore[attr-defined]
        assert last(list(runtime.recall("port", "b?"))).passages


def test_closing_the_runtime_ends_a_recall(library: Library) -> None:
    runtime = Runtime(Settings(retriever="recall"), model=FakeModel(writes("Ferry", "The")))
    stream = runtime.recall("port", "a?")
    next(stream)
    runtime.close()
    assert list(stream) == []


@pytest.mark.parametrize("wish", ["cancel", "answer_now"])
@pytest.mark.parametrize(("retriever", "at"), [
    *product(["bm25", "recall", "hybrid"], ["recall.started", "recall.passages"]),
    *product(["recall", "hybrid"], ["warning", "recall.titles"]),
])  # fmt: skip
def test_stopped_at_every_event(library: Library, retriever: str, wish: str, at: str) -> None:
    with Runtime(Settings(retriever=retriever), model=FakeModel(writes("Ferry", "The ferry"))) as runtime:
        found = []
        for event in runtime.stream((), "when does the ferry sail?", library="port"):
            found.append(event)
            if event.type == at:
                getattr(runtime, wish)()
        types = [event.type for event in found]
        assert types[types.index(at) + 1 :] == ["warning", "answer.finished"]  # that nothing has been read
        assert found[-1].finish_reason == "cancelled"  # type: ignore[attr-defined]
        assert runtime.ask((), "when does the ferry sail?", library="port").finish_reason == "stop"


def test_stopped_while_it_is_indexed(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.recall.index._AT_ONCE", 1)
    model = FakeModel(writes("Ferry", "The ferry"))
    with Runtime(Settings(retriever="hybrid"), model=model) as runtime:
        tokenize, seen = model.tokenize, 0

        def stopping(text: str, *, special: bool = False) -> list[int]:
            nonlocal seen
            seen += 1
            runtime.cancel()
            return tokenize(text, special=special)

        stream = runtime.recall("port", "a?")
        assert next(stream).type == "warning"
        model.tokenize = stopping  # type: ignore[method-assign]
        (_, last_event) = list(stream)
        assert isinstance(last_event, events.AnswerFinished)
        assert seen <= 3
        model.tokenize = tokenize  # type: ignore[method-assign]
        assert last(list(runtime.recall("port", "a?"))).passages


def test_a_library_that_is_replaced_meanwhile_is_not_quoted(library: Library) -> None:
    with Runtime(Settings(retriever="recall"), model=FakeModel(writes("Almanac", "The ferry of Norra"))) as runtime:
        stream = runtime.recall("port", "what about the sea?")
        while next(stream).type != "recall.started":
            pass
        remove_library("port")
        made = Library("port", create=True)
        made.put("x", [("Other", Document("Other", "abcdefghij " * 3000))])
        with pytest.raises(LibraryError, match="changed meanwhile"):
            list(stream)
        assert last(list(runtime.recall("port", "what about the sea?"))).passages[0].title == "Other"


def test_no_other_question_comes_between_recall_and_reading(library: Library) -> None:
    with Runtime(Settings(retriever="bm25"), model=FakeModel(lambda prompt: "x")) as runtime:
        stream = runtime.stream((), "when was the lighthouse built?", library="port")
        for event in stream:
            if event.type != "answer.finished":
                with pytest.raises(InvalidRequestError, match="another question"):
                    runtime.ask(Document("d", "text"), "b?")
        assert isinstance(event, events.AnswerFinished)
        assert event.finish_reason == "stop"


def test_what_was_not_worth_reading_is_not_chosen(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recaller.QuestionLikelihood, "log_likelihood", lambda self, sequence: -3.0 * len(sequence))
    found = recalled("when does the ferry sail at noon?", "hybrid", writes("Ferry", "The ferry"))
    for passage in last(found).passages:
        assert not passage.chosen or "likelihood" in passage.scores
    assert any(isinstance(event, events.Warning) and "may not answer" in event.text for event in found)


def test_a_file_written_again_with_its_old_times_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rates.md"
    path.write_text("The fee is 55 euros.")
    os.utime(path, ns=(1, 1))
    list(add(Library("port", create=True), [path]))
    with Runtime(Settings(), model=FakeModel(lambda prompt: "an answer")) as runtime:
        for fee, told in ((55, False), (70, True)):
            path.write_text(f"The fee is {fee} euros.")
            os.utime(path, ns=(1, 1))
            found = list(runtime.stream((), "What is the fee?", library="port"))
            texts = [one.text for one in found if isinstance(one, events.Warning)]
            assert any("changed since" in text for text in texts) == told


def test_what_was_opened_serves_until_the_library_changes(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Recaller] = []
    close = Recaller.close
    monkeypatch.setattr(Recaller, "close", lambda self: (closed.append(self), close(self))[1])
    with Runtime(Settings(retriever="hybrid"), model=FakeModel(lambda prompt: "")) as runtime:
        first, second = (list(runtime.recall("port", "when was the lighthouse built?")) for _ in range(2))
        assert [event.type for event in first].count("warning") == 1  # it is indexed
        assert not any(isinstance(event, events.Warning) for event in second)
        assert not closed
        library.put("more", [("Buoy", Document("Buoy", "The buoy is red."))])
        third = list(runtime.recall("port", "what colour is the buoy?"))
        assert isinstance(third[-1], events.PassagesRecalled)
        assert third[-1].passages[0].title == "Buoy"
        assert len(closed) == 1
    assert len(closed) == 2


