"""What is asked, in which order, what is written down, and how a stopped run goes on."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.evaluation.stub import Reply, StubRuntime, blue, example, run
from wim_edge import Settings
from wim_edge.errors import ContextOverflowError, InvalidRequestError
from wim_edge.evaluation.records import read_records


def test_patterns_by_example_and_controls_once_a_question(tmp_path: Path) -> None:
    runtime = StubRuntime(blue)
    found = run(tmp_path, "llm,wim:verdict,default,oracle,closed-book", runtime=runtime)
    assert [(record.id, record.pattern) for record in found[:8]] == [
        ("q0@0", "llm"), ("q0@0", "wim:verdict"), ("q0@0", "default"), ("q0@0", "oracle"), ("q0@0", "closed-book"),
        ("q0@1", "llm"), ("q0@1", "wim:verdict"), ("q0@1", "default"),
    ]  # fmt: skip
    assert len(found) == 16
    assert runtime.asked[:5] == [
        ("llm", ("a", "b"), "Which 0?"), ("wim", ("a", "b"), "Which 0?"), (None, ("a", "b"), "Which 0?"),
        ("llm", ("b",), "Which 0?"), ("llm", (), "Which 0?"),
    ]  # fmt: skip
    by_pattern = {record.pattern: record for record in found[:5]}
    assert by_pattern["wim:verdict"].resolved_pattern == "wim:verdict"
    assert by_pattern["default"].resolved_pattern == "wim:cascade"
    assert by_pattern["oracle"].resolved_pattern == "llm"
    assert [record.x for record in found[:5]] == [0, 0, 0, None, None]
    assert by_pattern["closed-book"].scores["accuracy"] == 0.0
    assert by_pattern["oracle"].scores["accuracy"] == 1.0


def test_oracle_needs_gold(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="1 of 2 examples have no gold"):
        run(tmp_path, "llm,oracle", [example(0), example(1, gold=())])
    assert not (tmp_path / "examples.jsonl").exists()


def test_a_failed_example_is_recorded_and_counts_as_wrong(tmp_path: Path) -> None:
    def fails(_documents: object, question: str, settings: Settings) -> str:
        if question == "Which 0?" and settings.pattern == "llm":
            raise ContextOverflowError("9 tokens of 5")
        return "blue"

    found = run(tmp_path, "llm,wim", runtime=StubRuntime(fails))
    failed = [record for record in found if record.error]
    assert [(record.id, record.error) for record in failed] == [
        ("q0@0", "ContextOverflowError: 9 tokens of 5"), ("q0@1", "ContextOverflowError: 9 tokens of 5"),
    ]  # fmt: skip
    assert all((r.answer, r.seconds) == (None, None) and set(r.scores.values()) == {0.0} for r in failed)
    assert len(found) == 8


def test_an_error_that_is_not_ours_is_not_swallowed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run(tmp_path, runtime=StubRuntime(Mock(side_effect=ZeroDivisionError)))


def test_examples_without_answers_are_not_asked_but_recorded(tmp_path: Path) -> None:
    runtime = StubRuntime(blue)
    found = run(tmp_path, examples=[example(answers=(), facts={"recall": 0.5})], runtime=runtime)
    assert runtime.asked == []
    assert (found[0].scores, found[0].answer) == ({"recall": 0.5}, None)


class Killed(BaseException):
    pass


def dying(after: int, how: type[BaseException]) -> Reply:
    asked = 0

    def reply(*_: object) -> str:
        nonlocal asked
        asked += 1
        if asked > after:
            raise how
        return "blue"

    return reply


@pytest.mark.parametrize("how", [KeyboardInterrupt, Killed])
@pytest.mark.parametrize("torn", [b"", b'{"id": "\xc3'])
def test_a_stopped_run_goes_on(tmp_path: Path, how: type[BaseException], torn: bytes) -> None:
    with suppress(Killed):  # Ctrl-C ends a run without an error
        run(tmp_path, "llm,wim", runtime=StubRuntime(dying(3, how)))
    with (tmp_path / "examples.jsonl").open("ab") as file:
        file.write(torn)
    assert len(read_records(tmp_path)) == 3
    runtime = StubRuntime(blue)
    found = run(tmp_path, "llm,wim", runtime=runtime)
    assert len(runtime.asked) == 5
    assert len({record.key for record in found}) == len(found) == 8
    assert [json.loads(line)["id"] for line in (tmp_path / "examples.jsonl").read_text().splitlines()] == [
        "q0@0", "q0@0", "q0@1", "q0@1", "q1@0", "q1@0", "q1@1", "q1@1",
    ]  # fmt: skip
    run(tmp_path, "llm,wim", runtime=runtime)
    assert len(runtime.asked) == 5  # nothing is asked twice


def test_what_no_example_could_be_asked_is_said_before_anything_is(tmp_path: Path) -> None:
    class Refusing(StubRuntime):
        def with_changes(self, **changes: object) -> StubRuntime:
            if changes["pattern"] == "wim":
                raise InvalidRequestError("segments do not fit")
            return super().with_changes(**changes)

    runtime = Refusing(blue)
    with pytest.raises(InvalidRequestError, match="segments do not fit"):
        run(tmp_path / "out", "llm,wim", runtime=runtime)
    assert not runtime.asked
    assert not (tmp_path / "out").exists()
