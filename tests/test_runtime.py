"""The runtime: what it takes, what of it can change, and how it is closed."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.documents.scanned import said, scan, scripted
from tests.embedder import FakeEmbedder
from tests.reading.story import SMALL, TEXT, of_type, reply, run
from wim_edge import Document, Runtime, events
from wim_edge.documents import scans
from wim_edge.errors import DocumentError, InvalidRequestError, ModelFileError
from wim_edge.testing import FakeModel


@pytest.mark.parametrize("change", [{"model": "other"}, {"kv_type": "q8_0"}, {"n_batch": 64}])
def test_what_belongs_to_a_loaded_model_cannot_change(change: dict[str, object]) -> None:
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        with pytest.raises(InvalidRequestError, match=f"{next(iter(change))} cannot change"):
            runtime.with_changes(**change)
        assert runtime.with_changes(pattern="llm").ask(Document("d", TEXT), "Which colour?").pattern == "llm"


def test_a_long_document_needs_no_model_file_where_a_model_was_given() -> None:
    with Runtime(replace(SMALL, model="nowhere.gguf"), model=FakeModel(reply, n_ctx_train=1 << 16)) as runtime:
        changed = runtime.with_changes(pattern="llm")
        assert changed.ask(Document("d", TEXT + "\n" * (1 << 15)), "Which colour?").pattern == "llm"


def test_half_characters_in_a_document_are_replaced() -> None:
    found = run(FakeModel(reply), text=Document("d\udc80", TEXT + "\ud800"))
    assert found[0].documents == ("d\ufffd",)  # type: ignore[attr-defined]


def test_an_empty_document_is_an_error() -> None:
    with Runtime(SMALL, model=FakeModel(reply)) as runtime, pytest.raises(DocumentError, match="empty"):
        runtime.stream(Document("d", " \n"), "Which colour?")


def test_documents_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text(TEXT[:200])
    given = [tmp_path / "a" / "x.txt", tmp_path / "b" / "x.txt", Document("x", TEXT[:99]), Document("x", TEXT[:99])]
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(given, "Which colour?"))
    assert found[0].documents == ("x.txt", "x.txt (2)", "x", "x (2)")  # type: ignore[attr-defined]


def test_a_scan_tells_of_its_pages_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, path = scripted(monkeypatch), tmp_path / "a.pdf"
    path.write_bytes(scan([["1"], ["2"]]))
    both = [said(1, ("Blue is first.", 70, 100, 200, 130, 0.9)), said(2, ("Red is second.", 70, 100, 200, 130, 0.7))]
    runs += [both[:1], both[1:]]
    with Runtime(replace(SMALL, save=False), model=FakeModel(reply)) as runtime:
        stream = runtime.stream(path, "Which colour?")
        assert next(stream) == events.PagesRecognised("a.pdf", 0, 2, None)
        assert next(stream) == events.PagesRecognised("a.pdf", 1, 2, 0.9)
        runtime.cancel()
        assert [event.type for event in stream][-2:] == ["warning", "answer.finished"]
        found = list(runtime.stream(path, "Which colour?"))
    told = of_type(found, events.PagesRecognised)
    assert [(event.pages, event.of, event.confidence) for event in told] == [(0, 1, None), (1, 1, 0.7)]
    finished = found[-1]
    assert isinstance(finished, events.AnswerFinished)
    assert {source.confidence for source in finished.sources} <= {0.9, 0.7}
    assert finished.usage.seconds["scan"] > 0
    assert not scans.folder().exists(), "nothing is kept"


def test_closing_the_runtime_ends_a_stream_under_way() -> None:
    runtime = Runtime(SMALL, model=FakeModel(reply))
    stream = runtime.stream(Document("d", TEXT), "Which colour?")
    next(stream)
    runtime.close()
    with pytest.raises(StopIteration):
        next(stream)


def test_closing_the_runtime_from_another_thread_waits_for_the_reading() -> None:
    model, begun, found = FakeModel(reply), threading.Event(), []
    runtime = Runtime(SMALL, model=model)
    stream = runtime.stream(Document("d", TEXT * 5), "Which colour?")
    model.contexts[-1].on_append = lambda _: begun.set()
    reader = threading.Thread(target=lambda: found.extend(stream))
    reader.start()
    assert begun.wait(60)
    runtime.close()
    evaluated = len(model.history)
    reader.join(60)
    assert not reader.is_alive()
    assert len(model.history) == evaluated  # nothing after it was closed
    assert found[-1].finish_reason == "cancelled"


def test_closing_while_another_thread_sets_the_reading_up_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model, begun, found = FakeModel(reply), threading.Event(), []
    opened = model.context

    def slow(n_ctx: int) -> object:
        begun.set()
        time.sleep(0.1)
        return opened(n_ctx)

    monkeypatch.setattr(model, "context", slow)
    runtime = Runtime(SMALL, model=model)
    reader = threading.Thread(target=lambda: found.extend(runtime.stream(Document("d", TEXT), "Which colour?")))
    reader.start()
    assert begun.wait(60)
    runtime.close()
    assert model.contexts
    assert all(context.closed for context in model.contexts)
    reader.join(60)
    assert not reader.is_alive()


def test_a_policy_cannot_close_the_runtime_it_is_asked_by() -> None:
    refused: list[str] = []

    def policy(_margin: events.MarginJudged) -> None:
        try:
            runtime.close()
        except InvalidRequestError as error:
            refused.append(str(error))

    runtime = Runtime(SMALL, model=FakeModel(reply))
    found = list(runtime.stream(Document("d", TEXT), "Which colour?", on_margin=policy))
    runtime.close()
    assert "cannot close its own runtime" in refused[0]
    assert found[-1].finish_reason == "cancelled"  # type: ignore[attr-defined]


def test_texts_are_embedded_until_it_is_cancelled() -> None:
    with Runtime(SMALL, model=FakeModel(), embedder=FakeEmbedder(lambda text: 1.0)) as runtime:
        found = []
        for event in runtime.embed(["one", [111], "three"]):
            found.append(event)
            if len(found) == 2:
                runtime.cancel()
        assert found == [events.TextEmbedded((1.0, 0.0), 3), events.TextEmbedded((1.0, 0.0), 1)]
        with pytest.raises(InvalidRequestError, match="empty"):
            runtime.embed(["one", ""])
    with Runtime(SMALL, model=FakeModel()) as runtime, pytest.raises(InvalidRequestError, match="no embedding model"):
        runtime.embed(["one"])


def test_what_fails_while_opening_leaves_the_runtime_free(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeModel(reply)
    with Runtime(SMALL, model=model) as runtime:
        with monkeypatch.context() as patch:
            patch.setattr(model, "_id", lambda word: 7)  # a tokenizer that tells nothing apart
            with pytest.raises(ModelFileError, match="YES and NO"):
                runtime.stream(Document("d", TEXT), "Which colour?")
        assert runtime.ask(Document("d", TEXT), "Which colour?").finish_reason == "stop"
