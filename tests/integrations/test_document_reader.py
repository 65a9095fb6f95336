"""Documents and libraries, as the programs of others ask them."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.reading.story import SMALL, TEXT
from tests.server.slow import Slow
from wim_edge import AnswerFinished, Document, Runtime, Settings, events
from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.integrations import document_reader
from wim_edge.integrations.document_reader import DocumentReader, ReadingRequest


def done(request: ReadingRequest) -> events.Event:
    """The last event of a request that is run."""
    return list(request.stream())[-1]


def test_an_answer_cites_the_places_that_it_draws_on(runtime: Runtime, story: Path) -> None:
    asked = DocumentReader(story, runtime=runtime).ask("Which colour?")
    answer = done(asked)
    assert isinstance(answer, AnswerFinished)
    assert answer.text == "the answer is blue"
    text = story.read_text()
    for passage, source in zip(asked.passages(), answer.sources, strict=True):
        start, end = passage.metadata["chars"]
        assert passage.text == text[start:end]
        assert passage.score == passage.metadata["relevance"] == source.relevance
        assert passage.metadata["opens"] == f"{story}:3"
        assert passage.metadata["section"] == "The wall"
        assert "page" not in passage.metadata  # there are none
    facts = document_reader.answer_facts(answer)
    assert facts["status"] == "answered"
    assert facts["judge"] is answer.judge is None
    assert facts["sources"] == [passage.metadata for passage in asked.passages()] != []


def test_a_ranking_needs_no_answer(runtime: Runtime, story: Path) -> None:
    asked = DocumentReader(story, runtime=runtime).rank("Which colour?")
    assert isinstance(done(asked), events.ReadingRanked)
    chosen, one, four = asked.passages(), asked.passages(1), asked.passages(4)
    assert one == chosen[:1] == four[:1]
    assert len(chosen) < len(four)  # more than an answer would be given from
    assert "number 12 " in chosen[0].text
    assert [passage.score for passage in four] == sorted((passage.score for passage in four), reverse=True)
    again = done(DocumentReader(story, runtime=runtime).ask("Which colour?"))  # the runtime is free
    assert isinstance(again, AnswerFinished)


def test_a_library_is_recalled_with_places(runtime: Runtime, library: str) -> None:
    asked = DocumentReader(library=library, runtime=runtime).rank("When does the tide turn?")
    done(asked)
    (passage,) = asked.passages()
    assert passage.text.startswith("The tide turns at six.")
    assert Path(passage.metadata["path"]).name == "tide.txt"
    assert passage.metadata["opens"].endswith("tide.txt:1")
    assert passage.score == passage.metadata["score"] > 0
    assert "relevance" not in passage.metadata  # it is no share of one


def test_there_must_be_something_to_read(runtime: Runtime) -> None:
    with pytest.raises(InvalidRequestError, match="nothing to read"):
        done(DocumentReader(runtime=runtime).rank("Which?"))
    with pytest.raises(InvalidRequestError, match="both settings and a runtime"):
        DocumentReader(runtime=runtime, settings=Settings())
    with pytest.raises(DocumentError, match="no such file"):
        done(DocumentReader("none.txt", runtime=runtime).ask("Which?"))


def test_folders_are_read_as_they_are_now(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("One.")
    (tmp_path / "one.txt").write_text("Another one.")
    reader = DocumentReader([tmp_path / "a", str(tmp_path / "one.txt"), Document("two", "Two.")], runtime=runtime)
    assert [(one.name, one.text) for one in reader.load()] == [
        ("one.txt", "One."), ("one.txt (2)", "Another one."), ("two", "Two."),
    ]  # fmt: skip
    (tmp_path / "a" / "one.txt").write_text("Changed.")
    (tmp_path / "a" / "empty.txt").write_text("")
    with pytest.warns(UserWarning, match=r"left out: empty\.txt"):
        assert [one.text for one in reader.load()] == ["Changed.", "Another one.", "Two."]


def test_requests_of_several_threads_wait_for_each_other(story: Path) -> None:
    model = Slow()
    model.seconds = 0.002
    with Runtime(SMALL, model=model) as runtime:
        readers = [DocumentReader(story, runtime=runtime) for _ in range(3)]
        found: list[events.Event] = []
        threads = [threading.Thread(target=lambda one=one: found.append(done(one.ask("Which?")))) for one in readers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [type(one) for one in found] == [AnswerFinished] * 3


def test_a_thread_does_not_wait_for_itself(runtime: Runtime, story: Path) -> None:
    reader = DocumentReader(story, runtime=runtime)
    with closing(reader.ask("Which?").stream()) as found:
        next(found)
        with pytest.raises(InvalidRequestError, match="still being streamed"):
            done(reader.ask("Which?"))
    assert isinstance(done(reader.ask("Which?")), AnswerFinished)


@pytest.mark.anyio
async def test_a_task_that_waits_may_be_cancelled_and_harms_no_other(story: Path) -> None:
    model = Slow()
    model.seconds = 0.01
    with Runtime(SMALL, model=model) as runtime:
        reader = DocumentReader(story, runtime=runtime)

        async def ask() -> events.Event:
            async with aclosing(reader.ask("Which?").astream()) as found:
                return [event async for event in found][-1]

        first = asyncio.create_task(ask())
        await asyncio.sleep(0.05)
        second = asyncio.create_task(ask())
        await asyncio.sleep(0.05)
        second.cancel()
        answer = await first
        assert isinstance(answer, AnswerFinished)
        assert answer.finish_reason == "stop"
        assert isinstance((await asyncio.gather(second, return_exceptions=True))[0], asyncio.CancelledError)


def test_an_attachment_is_no_file() -> None:
    document = document_reader.document_from("a.html", f"<html><body><p>{TEXT}</p></body></html>".encode())
    assert (document.name, document.path) == ("a.html", None)
    assert document.text.strip() == TEXT.strip()


def test_the_same_settings_have_one_runtime() -> None:
    assert document_reader.runtime_of(Settings(n_ctx=4096)) is document_reader.runtime_of(Settings(n_ctx=4096))
    assert document_reader.runtime_of(Settings(n_ctx=2048)) is not document_reader.runtime_of(Settings(n_ctx=4096))


@pytest.mark.real
@pytest.mark.parametrize("part", ["Within LangChain", "Within LlamaIndex"])
def test_the_examples_of_the_docs_run_on_the_embedded_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page.partition(f"\n## {part}\n")[2].partition("\n## ")[0], re.S)
    monkeypatch.chdir(ROOT)
    try:
        exec(compile(code, "docs/python.md", "exec"), {})
    finally:
        while document_reader._runtimes:  # which a program keeps to its end
            document_reader._runtimes.popitem()[1].close()
    told = capsys.readouterr().out
    assert "three years" in told
    assert re.search(r"examples/gpl-3\.0\.txt:\d+ ", told)
