"""The examples of docs/embedding.md, and what they stand on: the worker process, `astream`, events out of JSON."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Document, Runtime, Settings, events
from wim_edge.asyncio_api import astream
from wim_edge.documents import Mark
from wim_edge.errors import DocumentError, EngineError, InvalidRequestError
from wim_edge.library import ReadingStore
from wim_edge.server.worker_protocol import serve
from wim_edge.wim.control import Decision
from wim_edge.worker import Worker

pytestmark = pytest.mark.real  # the worker is a process
DOCS = Path(__file__).parents[2] / "docs" / "embedding.md"
CHILD = """
import os, sys
sys.path.insert(0, {root!r})
from tests.server.slow import SMALL, Slow
from wim_edge import Runtime
from wim_edge.server.worker_protocol import serve
model = Slow()
model.seconds = float(os.environ.get("SLOW", "0"))
print("a line that some library prints", file=sys.stderr)
serve(iter(sys.stdin.readline, ""), sys.stdout, SMALL, open_runtime=lambda settings: Runtime(settings, model=model))
"""


def example(heading: str) -> dict[str, Any]:
    """The names that an example of the documentation defines."""
    section = DOCS.read_text(encoding="utf-8").split(f"## {heading}")[1]
    code = re.search(r"```python\n(.*?)```", section, re.S)
    assert code
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code[1], heading, "exec"), names)
    return names


@pytest.fixture
def command() -> list[str]:
    return [sys.executable, "-c", CHILD.format(root=str(Path(__file__).parents[2]))]


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(TEXT)
    return path


def test_every_event_comes_out_of_json_as_it_went_in(story: Path) -> None:
    with Runtime(SMALL, model=Slow()) as runtime:
        found = [*runtime.stream(story, "Which colour?"), *runtime.complete("Once", top_logprobs=2)]
    place = events.RecalledPassage("d", "t", "p", None, "s", (0, 3), "abc", 1.5, {"bm25": 5.0}, True, 2)
    found += [events.PassagesRecalled((place,), 3, 4, 0.5), events.TitlesRecalled((("a", 1.0), ("b", 2.0)))]
    quote = events.Quote("Anna signed.", "d", 3, None, (4, 16), "| name |")
    usage = events.Usage(1, 0, 1, {"total": 1.0}, 1)
    found.append(
        events.AnswerFinished(
            "Perhaps: Anna", "repeated", "wim", "m", (), usage, status="unsure", short="Anna", span=(4, 8),
            quotes=(quote,), support=0.4, unsupported=("12",), evidence={"run": -1.0},
        )
    )  # fmt: skip
    found.append(events.QuestionSettled("and 2022?", "Costs in 2022?", "it goes on"))
    assert len({type(event) for event in found}) > 10
    for event in found:
        assert events.from_dict(json.loads(event.to_json())) == event
    with pytest.raises(ValueError, match="no event"):
        events.from_dict({"type": "nothing"})


# The worker

def test_a_worker_answers_as_the_runtime_does(command: list[str], story: Path) -> None:
    with Runtime(SMALL, model=Slow()) as runtime:
        expected = list(runtime.stream(story, "Which colour?"))
    with Worker(command=command) as worker:
        found = list(worker.stream(story, "Which colour?"))
        assert [type(event) for event in found] == [type(event) for event in expected]
        assert found[-1].text == expected[-1].text  # type: ignore[attr-defined]
        used = [source.segment for source in found[-1].sources]  # type: ignore[attr-defined]
        again = worker.ask(story, "Which colour?", verdicts={used[0]: False})
        assert again.usage.prefilled_tokens == 0
        assert [source.segment for source in again.sources] == used[1:]
        marked = Document("d", TEXT, (Mark(0, 7, "Top"),), Path("/x/d.pdf"), title="D")
        assert worker.ask(marked, "Which?").sources[0].page == 7
        assert worker.ask(story, "Which?", verdicts={}).text


def test_a_worker_reads_on(command: list[str]) -> None:
    text = "".join(f"Nothing stands in part {n} that anyone would look for here.\n\n" for n in range(60))
    alone = {"pattern": "wim-shallow", "relevance": "likelihood", "margins": "verbatim", "segment_tokens": 32}
    with Worker(command=command, **alone) as worker:
        first = worker.ask(Document("d", text), "Which bicycle?")
        rest = worker.ask(Document("d", text), "Which bicycle?", read_on=True)
    assert first.read_segments < rest.read_segments == rest.segments == first.segments
    assert first.usage.prefilled_tokens > 0 < rest.usage.reused_tokens


def test_what_the_runtime_raises_the_worker_raises(command: list[str], story: Path) -> None:
    with Worker(command=command) as worker:
        with pytest.raises(DocumentError, match=r"nothing\.txt"):
            worker.ask("nothing.txt", "Which?")
        with pytest.raises(InvalidRequestError, match="empty"):
            worker.ask(story, " ")
        assert worker.ask(story, "Which?").text
    with Worker(command=command, colour="blue") as wrong, pytest.raises(InvalidRequestError, match="no such setting"):
        wrong.ask(story, "Which?")
    with Worker(command=command, answer_tokens=2) as short:
        assert short.ask(story, "Which?").finish_reason == "length"


def test_a_worker_is_stopped_from_another_thread(command: list[str], story: Path, monkeypatch: pytest.MonkeyPatch
                                                 ) -> None:  # fmt: skip
    monkeypatch.setenv("SLOW", "0.02")
    with Worker(command=command) as worker:
        found = []
        for event in worker.stream(story, "Which colour?"):
            found.append(event)
            if isinstance(event, events.MarginJudged) and event.segment == 1:
                worker.judge(1, False)
                threading.Thread(target=worker.answer_now).start()
        assert found[-1].finish_reason == "early_exit"  # type: ignore[attr-defined]
        assert 1 not in [source.segment for source in found[-1].sources]  # type: ignore[attr-defined]
        stream = worker.stream(story, "Which things?")
        next(stream)
        with pytest.raises(InvalidRequestError, match="another question"):
            next(worker.stream(story, "Why?"))
        stream.close()  # it is cancelled, and the next one is served
        assert worker.ask(Document("d", "Words."), "Which?").text
        (kept,) = [one for one in ReadingStore.of(Settings()).readings() if one.title == "story.txt"]
        assert 0 < kept.tokens < kept.of_tokens


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_that_crashes_is_started_again(command: list[str], story: Path, monkeypatch: pytest.MonkeyPatch
                                                ) -> None:  # fmt: skip
    monkeypatch.setenv("SLOW", "0.02")
    with Worker(command=command) as worker:
        stream = worker.stream(story, "Which colour?")
        next(stream)
        assert worker._process is not None
        os.kill(worker._process.pid, signal.SIGSEGV)
        with pytest.raises(EngineError, match="signal 11"):
            list(stream)
        monkeypatch.setenv("SLOW", "0")
        assert worker.ask(story, "Which colour?").text
        process = worker._process
        os.kill(process.pid, signal.SIGKILL)  # between two questions nobody notices
        process.wait()
        assert worker.ask(story, "Which colour?").text
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    with Worker(command=command) as broken, pytest.raises(EngineError, match="exit code 3"):
        broken.ask(story, "Which?")


def test_a_worker_reads_ahead_and_changes_settings_for_one_question(command: list[str], story: Path) -> None:
    with Worker(command=command, pattern="llm") as worker:
        *_, last = worker.read(story)
        assert isinstance(last, events.ReadingFinished)
        assert last.saved_tokens == last.tokens
        assert worker.ask(story, "Which colour?").usage.reused_tokens == last.tokens
        assert worker.ask(story, "Which colour?", settings={"pattern": "wim-shallow"}).pattern == "wim-shallow"
        assert worker.ask(story, "Which colour?").pattern == "llm"


@pytest.mark.parametrize(("wish", "reason"), [(Decision.ANSWER, "early_exit"), (Decision.CANCEL, "cancelled")])
def test_a_workers_margins_are_judged_by_a_policy(
    command: list[str], story: Path, monkeypatch: pytest.MonkeyPatch, wish: Decision, reason: str
) -> None:
    monkeypatch.setenv("SLOW", "0.05")
    asked: list[int] = []

    def policy(margin: events.MarginJudged) -> Decision:
        asked.append(margin.segment)
        return wish if len(asked) == 1 else Decision.CONTINUE

    with Worker(command=command, pattern="wim") as worker:
        assert worker.ask(story, "Which colour?", on_margin=policy).finish_reason == reason
    assert asked


_PARENT = """
import os, signal, sys
from wim_edge.worker import Worker
worker = Worker(command=sys.argv[2:])
stream = worker.stream(sys.argv[1], "Which colour?")
next(stream)
print(worker._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_ends_with_its_parent(command: list[str], story: Path) -> None:
    asked = [sys.executable, "-c", _PARENT, str(story), *command]
    killed = subprocess.run(asked, env={**os.environ, "SLOW": "1"}, stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    worker = int(killed.stdout)
    for _ in range(3000):
        try:
            if psutil.Process(worker).status() == psutil.STATUS_ZOMBIE:  # nobody waits for it
                break
        except psutil.NoSuchProcess:
            break
        time.sleep(0.01)
    else:
        os.kill(worker, signal.SIGKILL)
        pytest.fail("it lives on")


def test_a_worker_that_is_closed_ends(command: list[str], story: Path) -> None:
    worker = Worker(command=command)
    stream = worker.stream(story, "Which colour?")
    next(stream)
    process = worker._process
    assert process is not None
    worker.close()
    assert process.poll() == 0


def test_lines_that_are_no_requests_are_answered(story: Path) -> None:
    asked = [{"id": 1, "do": "ask"}, {"id": 2, "do": "dance"}, {"id": 9, "do": "cancel"},
             {"id": 3, "do": "ask", "documents": [{}], "question": "a?"},
             {"id": 4, "do": "complete", "prompt": "Once"}]  # fmt: skip
    requests = ["no json", "[]", "3", *map(json.dumps, asked)]
    out = io.StringIO()

    def lines() -> Any:
        yield from requests
        while '"completion.finished"' not in out.getvalue():
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=Slow()))
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    errors = [(one["id"], one["error"]) for one in told if one["type"] == "error"]
    assert errors == [(number, "InvalidRequestError") for number in (None, None, None, 1, 2, 3)]
    assert {one["id"] for one in told if one["type"].startswith("completion")} == {4}


# asyncio

def test_astream_is_the_stream(story: Path) -> None:
    async def use() -> None:
        with Runtime(SMALL, model=Slow()) as runtime:
            found = [event async for event in astream(runtime, story, "Which colour?")]
            assert isinstance(found[-1], events.AnswerFinished)
            with pytest.raises(DocumentError, match="no such file"):
                [event async for event in astream(runtime, "nothing.txt", "Which?")]

    asyncio.run(use())


def test_a_task_that_is_cancelled_cancels_the_reading(story: Path) -> None:
    model = Slow()
    model.seconds = 0.05

    async def use() -> None:
        with Runtime(SMALL, model=model) as runtime:
            begun = asyncio.Event()

            async def watch() -> None:
                async for _ in astream(runtime, story, "Which colour?"):
                    begun.set()

            task = asyncio.create_task(watch())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            model.seconds = 0.0
            async with aclosing(astream(runtime, story, "Which colour?")) as found:
                async for event in found:
                    if isinstance(event, events.SegmentRead):
                        break
            assert runtime.ask(story, "Which colour?").text  # it is free

    asyncio.run(use())


# The examples

def test_the_asyncio_example(story: Path) -> None:
    with Runtime(SMALL, model=Slow()) as runtime:
        assert asyncio.run(example("asyncio")["main"](runtime, str(story), "Which colour?")).startswith("an answer")


def test_the_process_example(command: list[str], story: Path) -> None:
    main = example("A process of its own")["main"]
    assert main(str(story), "Which colour?", command=command).startswith("an answer")
    assert main("nothing.txt", "Which colour?", command=command).startswith("error: ")


def test_the_window_example(story: Path) -> None:
    tk = pytest.importorskip("tkinter")
    try:
        root = tk.Tk()
    except tk.TclError as error:
        pytest.skip(f"no display: {error}")
    with Runtime(SMALL, model=Slow()) as runtime:
        window = example("A window (Tk; Qt alike)")["Window"](root, runtime, str(story), "Which colour?")
        for _ in range(6000):
            root.update()
            time.sleep(0.01)
            if "an answer" in window.text.get("1.0", "end"):
                break
        assert "an answer" in window.text.get("1.0", "end")
    root.destroy()


def test_the_command_serves_a_real_model(smollm2: Path, tmp_path: Path, long_text: str) -> None:
    path = tmp_path / "gpl.txt"
    path.write_text(long_text[:1200])
    with Worker(model=smollm2, answer_tokens=8) as worker:
        found = list(worker.stream(path, "Who may copy it?"))
        assert isinstance(found[-1], events.AnswerFinished)
        assert found[-1].sources
