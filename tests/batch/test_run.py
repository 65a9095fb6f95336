"""A batch on the scripted engine: each row once, documents read once, failures, and going on."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.batch.scripted import MODEL, SMALL, Fake
from wim_edge.batch.rows import BatchQuestion, Result
from wim_edge.batch.run import RESULTS, run, run_local
from wim_edge.errors import EngineError, InvalidRequestError, ModelError
from wim_edge.loaded_models import Identity


def ids(results: list[Result]) -> list[str]:
    return [result.id for result in results]


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / RESULTS).read_text().splitlines()]


def test_each_row_is_answered_and_each_document_read_once(questions: list[BatchQuestion], tmp_path: Path) -> None:
    fake = Fake()
    results, stopped = run(questions, SMALL, MODEL, tmp_path / "out", fake)
    assert not stopped
    assert ids(results) == [question.id for question in questions] == [row["id"] for row in lines(tmp_path / "out")]
    assert fake.asked == [f"Which {n} {part}?" for n in range(3) for part in range(2)]  # document by document
    for first, second in zip(results[:3], results[3:], strict=True):
        assert first.usage
        assert second.usage
        assert first.usage["reused_tokens"] == second.usage["prefilled_tokens"] == 0
        assert second.usage["reused_tokens"] == first.usage["prefilled_tokens"] > 0
    assert all(result.answer == "a stone" and result.error is None for result in results)
    assert all(result.margins and result.sources and result.model == "fake" for result in results)
    assert {(result.status, result.short) for result in results} == {("answered", "Sentence")}
    assert all(result.quotes and 0 < (result.support or 0) < 1 for result in results)


def test_a_row_that_fails_stops_no_other_and_is_asked_again_last(
    questions: list[BatchQuestion], tmp_path: Path
) -> None:
    (tmp_path / "1.txt").rename(tmp_path / "away")
    broken, missing = "EngineError: it broke", "DocumentError: 1.txt: no such file"
    fails = {"Which 0 0?": EngineError("it broke")}
    results, _ = run(questions, SMALL, MODEL, tmp_path / "out", Fake(fails=fails))
    assert [result.error for result in results] == [broken, missing, None, None, missing, None]
    (tmp_path / "away").rename(tmp_path / "1.txt")
    fake = Fake(stop_after=2)
    run(questions, SMALL, MODEL, tmp_path / "out", fake)
    assert fake.asked == ["Which 0 0?", "Which 1 0?"]
    fake = Fake()
    results, _ = run(questions, SMALL, MODEL, tmp_path / "out", fake)
    assert fake.asked == ["Which 1 1?"]
    assert not any(result.error for result in results)
    assert len(lines(tmp_path / "out")) == 6


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_stopped_run_continues(questions: list[BatchQuestion], tmp_path: Path, after: int) -> None:
    results, stopped = run(questions, SMALL, MODEL, tmp_path / "out", Fake(stop_after=after))
    assert (stopped, len(results)) == (True, after)
    fake = Fake()
    results, stopped = run(questions, SMALL, MODEL, tmp_path / "out", fake)
    assert (stopped, len(fake.asked)) == (False, 6 - after)
    assert ids(results) == [question.id for question in questions]


def test_a_new_question_is_asked_and_ids_may_shift(questions: list[BatchQuestion], tmp_path: Path) -> None:
    run(questions, SMALL, MODEL, tmp_path / "out", Fake())
    fake = Fake()
    rest = (replace(question, id=f"{n}") for n, question in enumerate(questions[1:], 1))
    shifted = [replace(questions[0], id="0", question="Whose?"), *rest]
    results, _ = run(shifted, SMALL, MODEL, tmp_path / "out", fake)
    assert fake.asked == ["Whose?"]
    rows = lines(tmp_path / "out")
    assert ids(results) == [str(row["id"]) for row in rows[:6]] == [f"{n}" for n in range(6)]
    assert rows[6]["question"] == "Which 0 0?"  # what is no longer asked comes last


def test_what_is_asked_twice_is_answered_once(questions: list[BatchQuestion], tmp_path: Path) -> None:
    fake = Fake()
    results, _ = run([*questions, replace(questions[0], id="again")], SMALL, MODEL, tmp_path / "out", fake)
    assert len(fake.asked) == 6
    assert ids(results) == [*(question.id for question in questions), "again"]
    assert replace(results[6], id=results[0].id) == results[0]


def test_what_fails_alike_everywhere_ends_it(tmp_path: Path) -> None:
    asked = []
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text("A text.")
        asked.append(BatchQuestion(str(number), f"{number}.txt", f"Which {number}?", tmp_path / f"{number}.txt"))
    broken = Fake(fails={question.question: EngineError("it broke") for question in asked})
    with pytest.raises(EngineError, match="5 documents in a row failed alike: EngineError: it broke"):
        run(asked, SMALL, MODEL, tmp_path / "out", broken)
    assert len(lines(tmp_path / "out")) == 5
    for question in asked:
        question.path.unlink()
    results, _ = run(asked, SMALL, MODEL, tmp_path / "out", Fake())  # each has a fault of its own
    assert len(results) == 8


@pytest.mark.parametrize("running", [True, False])
def test_what_is_wrong_with_all_is_looked_for_where_the_process_ended(
    questions: list[BatchQuestion], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, running: bool
) -> None:
    class InProcess(Fake):
        def __init__(self, **_: object) -> None:
            super().__init__(fails={"Which 0 1?": EngineError("it broke")})
            self.running = running

        def __enter__(self) -> InProcess:
            return self

        def __exit__(self, *_: object) -> None:
            self.runtime.close()

    gone = Mock(side_effect=EngineError("no machine is there"))
    monkeypatch.setattr("wim_edge.batch.run.Worker", InProcess)
    if running:  # a fault of this row
        results, _ = run(questions, SMALL, MODEL, tmp_path / "out", partial(run_local, SMALL, gone))
        assert [result.error for result in results if result.error] == ["EngineError: it broke"]
        assert len(results) == 6
        return
    with pytest.raises(EngineError, match="no machine is there"):
        run(questions, SMALL, MODEL, tmp_path / "out", partial(run_local, SMALL, gone))
    assert len(lines(tmp_path / "out")) == 1


ROW = {"id": "1", "document": "a", "question": "b", "answer": "c"}


@pytest.mark.parametrize("line", ["rubbish", "[]", '{"answer": "a"}', "[" * 100_000, *map(json.dumps, (
    ROW | {"margins": [7]}, ROW | {"usage": {"prefilled_tokens": "x"}}, ROW | {"more": 2}))])  # fmt: skip
def test_damaged_results_are_told(questions: list[BatchQuestion], tmp_path: Path, line: str) -> None:
    run(questions, SMALL, MODEL, tmp_path / "out", Fake())
    with (tmp_path / "out" / RESULTS).open("a") as file:
        file.write(f"\n{line}\n")
    for _ in range(2):  # the first failure has released the lock
        with pytest.raises(InvalidRequestError, match="line 8 is damaged"):
            run(questions, SMALL, MODEL, tmp_path / "out", Fake())


def test_a_folder_never_mixes_two_batches(questions: list[BatchQuestion], tmp_path: Path) -> None:
    run(questions, SMALL, MODEL, tmp_path / "out", Fake(stop_after=2))
    moved = [replace(question, folder=tmp_path / "other") for question in questions]
    changed = [SMALL.with_changes(**one) for one in ({"margins": "free"}, {"pattern": "llm"}, {"answer_tokens": 9})]
    others = [(questions, one, MODEL) for one in changed]
    others += [(questions, SMALL, Identity("fake", "2")), (moved, SMALL, MODEL)]
    for asked, settings, model in others:
        with pytest.raises(InvalidRequestError, match="another run"):
            run(asked, settings, model, tmp_path / "out", Fake())
    elsewhere = SMALL.with_changes(n_threads=3, n_gpu_layers=-1, save=False)  # the same batch on another machine
    assert len(run(questions, elsewhere, MODEL, tmp_path / "out", Fake())[0]) == 6


def test_what_is_wrong_with_all_ends_it(questions: list[BatchQuestion], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model"):
        run(questions, SMALL, MODEL, tmp_path / "out", Fake(fails={"Which 0 1?": ModelError("no such model")}))
    assert ids([Result(**row) for row in lines(tmp_path / "out")]) == ["0/0"]  # type: ignore[arg-type]


def test_a_path_that_is_no_file_is_not_waited_for(questions: list[BatchQuestion], tmp_path: Path) -> None:
    (tmp_path / "0.txt").unlink()
    os.mkfifo(tmp_path / "0.txt")
    long = BatchQuestion("1", "x" * 300, "Who?", tmp_path / ("x" * 300), questions[0].folder)
    results, _ = run([questions[0], long], SMALL, MODEL, tmp_path / "out", Fake())
    assert results[0].error == "DocumentError: 0.txt: not a file"
    assert (results[1].error or "").startswith("DocumentError")
