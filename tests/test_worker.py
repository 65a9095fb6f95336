"""A worker in a process of its own: it answers as the runtime does, is stopped, crashes and is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.server.slow import COMMAND, SMALL, TEXT, Slow, until
from wim_edge import Document, Runtime, Settings, events
from wim_edge.documents import Mark
from wim_edge.errors import DocumentError, EngineError, InvalidRequestError
from wim_edge.library import ReadingStore
from wim_edge.reading.control import Decision
from wim_edge.worker import Worker

_PARENT = """
import os, signal, sys
from wim_edge.worker import Worker
worker = Worker(command=sys.argv[2:])
stream = worker.stream(sys.argv[1], "Which colour?")
next(stream)
print(worker._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""

_JUDGED = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.reading.mill import SURE
from wim_edge import Runtime, Settings
from wim_edge.loaded_models import LoadedModels
from wim_edge.server import job_queue
from wim_edge.server.worker_protocol import serve
from wim_edge.testing import FakeModel
LoadedModels.support = SURE
judge = FakeModel(lambda prompt: "4,000 crowns")
job_queue.Runtime = lambda settings: Runtime(settings, model=FakeModel(lambda prompt: "nothing"), judge=judge)
serve(iter(sys.stdin.readline, ""), sys.stdout, Settings(save=False))
"""


def test_a_worker_killed_in_the_middle_of_a_line() -> None:
    dying = "import os,sys; sys.stdin.readline(); os.write(1, b'{\"id\": 1, \"ty'); os.kill(os.getpid(), 9)"
    with Worker(command=[sys.executable, "-c", dying]) as worker, pytest.raises(EngineError, match="signal 9"):
        list(worker.stream("a.txt", "What?"))


@pytest.mark.real
def test_a_worker_answers_as_the_runtime_does(story: Path) -> None:
    with Runtime(SMALL.with_changes(save=False), model=Slow()) as runtime:  # else the worker knows the text
        expected = list(runtime.stream(story, "Which colour?"))
    with Worker(command=COMMAND) as worker:
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


@pytest.mark.real
def test_a_worker_stops_at_the_first_sure_answer_and_passes_it_on(tmp_path: Path) -> None:
    (tmp_path / "judged.py").write_text(_JUDGED)
    days = (f"The weather of day {n} was fine, and nobody was out." for n in range(30))
    document = Document("mill.txt", "\n\n".join(["She paid 4,000 crowns for the old mill.", *days]))
    shallow = {"pattern": "wim-shallow", "prose": False, "segment_tokens": 48, "within": "all"}
    with Worker(command=[sys.executable, str(tmp_path / "judged.py"), str(ROOT)], **shallow) as worker:
        found = list(worker.stream(document, "What did Brandt pay?", settings={"first": True}))
        own = worker.ask(document, "What did Brandt pay?", settings={"judge": "self"})
    early = [event for event in found if isinstance(event, events.AnswerProvisional)]
    last = found[-1]
    assert isinstance(last, events.AnswerFinished)
    assert [one.short for one in early] == ["4,000 crowns"]
    assert last.read_segments == early[0].read_segments < last.segments == own.read_segments


@pytest.mark.real
def test_a_worker_reads_on() -> None:
    text = "".join(f"Nothing stands in part {n} that anyone would look for here.\n\n" for n in range(60))
    alone = {"pattern": "wim-shallow", "relevance": "likelihood", "margins": "verbatim", "segment_tokens": 32}
    with Worker(command=COMMAND, **alone) as worker:
        first = worker.ask(Document("d", text), "Which bicycle?")
        rest = worker.ask(Document("d", text), "Which bicycle?", read_on=True)
    assert first.read_segments < rest.read_segments == rest.segments == first.segments
    assert first.usage.prefilled_tokens > 0 < rest.usage.reused_tokens


@pytest.mark.real
def test_what_the_runtime_raises_the_worker_raises(story: Path) -> None:
    with Worker(command=COMMAND) as worker:
        with pytest.raises(DocumentError, match=r"nothing\.txt"):
            worker.ask("nothing.txt", "Which?")
        with pytest.raises(InvalidRequestError, match="empty"):
            worker.ask(story, " ")
        assert worker.ask(story, "Which?").text
    with Worker(command=COMMAND, colour="blue") as wrong, pytest.raises(InvalidRequestError, match="no such setting"):
        wrong.ask(story, "Which?")
    with Worker(command=COMMAND, answer_tokens=2) as short:
        assert short.ask(story, "Which?").finish_reason == "length"


@pytest.mark.real
def test_a_worker_is_stopped_from_another_thread(story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW", "0.02")
    with Worker(command=COMMAND) as worker:
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
        (kept,) = [one for one in ReadingStore.of(Settings()).index.readings() if one.title == "story.txt"]
        assert 0 < kept.tokens < kept.of_tokens


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_that_crashes_is_started_again(story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW", "0.02")
    with Worker(command=COMMAND) as worker:
        stream = worker.stream(story, "Which colour?")
        next(stream)
        os.kill(worker._process.pid, signal.SIGSEGV)
        with pytest.raises(EngineError, match="signal 11"):
            list(stream)
        monkeypatch.setenv("SLOW", "0")
        assert worker.ask(story, "Which colour?").text
        process = worker._process
        os.kill(process.pid, signal.SIGKILL)  # between two questions nobody notices
        process.wait()
        assert worker.ask(story, "Which colour?").text
    ends = [sys.executable, "-c", "raise SystemExit(3)"]
    with Worker(command=ends) as broken, pytest.raises(EngineError, match="exit code 3"):
        broken.ask(story, "Which?")


@pytest.mark.real
def test_a_worker_reads_ahead_and_changes_settings_for_one_question(story: Path) -> None:
    with Worker(command=COMMAND, pattern="llm") as worker:
        *_, last = worker.read(story)
        assert isinstance(last, events.ReadingFinished)
        assert last.saved_tokens == last.tokens
        assert worker.ask(story, "Which colour?").usage.reused_tokens == last.tokens
        assert worker.ask(story, "Which colour?", settings={"pattern": "wim-shallow"}).pattern == "wim-shallow"
        assert worker.ask(story, "Which colour?").pattern == "llm"


@pytest.mark.real
@pytest.mark.parametrize(("wish", "reason"), [(Decision.ANSWER, "early_exit"), (Decision.CANCEL, "cancelled")])
def test_a_workers_margins_are_judged_by_a_policy(
    story: Path, monkeypatch: pytest.MonkeyPatch, wish: Decision, reason: str
) -> None:
    monkeypatch.setenv("SLOW", "0.05")
    asked: list[int] = []

    def policy(margin: events.MarginJudged) -> Decision:
        asked.append(margin.segment)
        return wish if len(asked) == 1 else Decision.CONTINUE

    with Worker(command=COMMAND, pattern="wim") as worker:
        assert worker.ask(story, "Which colour?", on_margin=policy).finish_reason == reason
    assert asked


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_ends_with_its_parent(story: Path) -> None:
    asked = [sys.executable, "-c", _PARENT, str(story), *COMMAND]
    killed = subprocess.run(asked, env={**os.environ, "SLOW": "1"}, stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    worker = int(killed.stdout)

    def has_ended() -> bool:
        try:
            return psutil.Process(worker).status() == psutil.STATUS_ZOMBIE  # nobody waits for it
        except psutil.NoSuchProcess:
            return True

    until(has_ended)


@pytest.mark.real
def test_a_worker_that_is_closed_ends(story: Path) -> None:
    worker = Worker(command=COMMAND)
    stream = worker.stream(story, "Which colour?")
    next(stream)
    process = worker._process
    worker.close()
    assert process.poll() == 0
