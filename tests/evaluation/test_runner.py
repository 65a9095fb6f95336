"""What is asked, in which order, what is written down, and how a stopped run goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.stub import Reply, StubRuntime
from wim_edge import Document, Settings
from wim_edge.errors import ContextOverflowError, InvalidRequestError
from wim_edge.evaluation.conditions import parse_conditions
from wim_edge.evaluation.example import Example
from wim_edge.evaluation.records import Record, read_records
from wim_edge.evaluation.runner import evaluate
from wim_edge.evaluation.tasks import TaskOptions
from wim_edge.journal import write_json

DOCUMENTS = (Document("a", "nothing"), Document("b", "it is blue"))


def example(number: int = 0, x: int = 0, **more: Any) -> Example:
    plain = Example(f"q{number}@{x}", f"q{number}", DOCUMENTS, f"Which {number}?", ("blue",), (1,), x=x)
    return replace(plain, **more)


EXAMPLES = [example(number, x) for number in range(2) for x in (0, 1)]


def blue(documents: Sequence[Document], _question: str, _settings: Settings) -> str:
    return "it is blue" if any("blue" in document.text for document in documents) else "unknown"


def run(out: Path, patterns: str = "llm", examples: Sequence[Example] = EXAMPLES, runtime: StubRuntime | None = None,
        **options: Any) -> list[Record]:  # fmt: skip
    return evaluate(runtime or StubRuntime(blue), "multidoc", examples, parse_conditions(patterns), out,  # type: ignore[arg-type]
                    options=TaskOptions(**options))  # fmt: skip


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


def test_oracle_shows_the_gold_place_alone(tmp_path: Path) -> None:
    shown: list[str] = []

    def reply(documents: Sequence[Document], _question: str, _settings: Settings) -> str:
        shown.extend(document.text for document in documents)
        return ""

    run(tmp_path, "oracle", [example(gold_chars=(6, 10))], StubRuntime(reply))
    assert shown == ["blue"]


def test_oracle_needs_gold(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="1 of 2 examples have no gold"):
        run(tmp_path, "llm,oracle", [example(0), example(1, gold=())])
    assert not (tmp_path / "examples.jsonl").exists()


A, B = (0, (0, 7)), (1, (0, 10))
PARTS = ((1, (0, 3)), (1, (3, 6)), (1, (6, 8)), (1, (8, 10)))


@pytest.mark.parametrize(
    ("ranked", "more", "rank"),
    [
        ((B, A), {}, 1),
        ((A, B), {}, 2),
        ((A,), {}, 0),
        ((), {}, None),
        ((B, A), {"gold": ()}, None),
        (PARTS, {"gold_chars": (6, 10)}, 3),  # a segment that holds a part of the place
        (PARTS[::-1], {"gold_chars": (3, 6)}, 3),
        ((A,), {"gold_chars": (0, 7)}, 0),
    ],
)
def test_the_rank_of_gold(tmp_path: Path, ranked: Any, more: dict[str, Any], rank: int | None) -> None:
    found = run(tmp_path, "llm,wim", [example(**more)], StubRuntime(blue, ranked=ranked))
    assert [record.gold_rank for record in found] == [None, rank]


def test_seconds_leave_loading_out(tmp_path: Path) -> None:
    def slow(*_: object) -> str:
        time.sleep(0.05)
        return "blue"

    (found,) = run(tmp_path, examples=[example()], runtime=StubRuntime(slow, load=10))
    assert found.seconds is not None
    assert 0.05 <= found.seconds + 10 < 10
    assert (found.prefilled_tokens, found.decoded_tokens, found.finish_reason) == (100, 10, "stop")


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


def test_a_cancelled_reading_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, runtime=StubRuntime(blue, finish_reason="cancelled"))
    assert read_records(tmp_path) == []


def test_an_error_that_is_not_ours_is_not_swallowed(tmp_path: Path) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(tmp_path, runtime=StubRuntime(broken))


def test_examples_without_answers_are_not_asked_but_recorded(tmp_path: Path) -> None:
    runtime = StubRuntime(blue)
    found = run(tmp_path, examples=[example(answers=(), facts={"recall": 0.5})], runtime=runtime)
    assert runtime.asked == []
    assert (found[0].scores, found[0].answer) == ({"recall": 0.5}, None)


def test_what_is_written_is_what_is_returned(tmp_path: Path) -> None:
    found = run(tmp_path, "llm,wim", runtime=StubRuntime(blue, ranked=[B], quotes=[("nothing", (0, 7))]))
    assert read_records(tmp_path) == found
    identity = json.loads((tmp_path / "run.json").read_text())
    assert (identity["task"], identity["model"], identity["patterns"]) == ("multidoc", "fake", ["llm", "wim"])


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
@pytest.mark.parametrize("torn", [b"", b'{"id": "q0@1", "gro', b'{"id": "\xc3'])
def test_a_stopped_run_goes_on(tmp_path: Path, how: type[BaseException], torn: bytes) -> None:
    with pytest.raises(how):
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


def test_a_run_may_grow_by_patterns_and_limit(tmp_path: Path) -> None:
    run(tmp_path, "llm", EXAMPLES[:2], limit=1)
    runtime = StubRuntime(blue)
    assert len(run(tmp_path, "wim,llm", EXAMPLES, runtime, limit=None)) == 8  # generated: None is 50
    assert len(runtime.asked) == 6
    with pytest.raises(InvalidRequestError, match="limit is 50 there, 1 here"):
        run(tmp_path, "wim,llm", EXAMPLES[:2], limit=1)
    with pytest.raises(InvalidRequestError, match="patterns is"):
        run(tmp_path, "llm")


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (Settings(), {"seed": 1}, "seed is 0 there, 1 here"),
        (Settings(segment_tokens=99), {}, "segment_tokens is None there, 99 here"),
        (Settings(), {"documents": (5,)}, "documents is"),
        (Settings(), {"data": "other.json"}, r"data is data.json \(sha256 \w+\) there, other.json \(sha"),
    ],
)
def test_another_run_is_refused(tmp_path: Path, settings: Settings, options: dict[str, Any], message: str) -> None:
    data, other = tmp_path / "data.json", tmp_path / "other.json"
    data.write_text("1")
    other.write_text("2")
    out = tmp_path / "out"
    run(out, data=data)
    before = (out / "examples.jsonl").read_bytes(), (out / "run.json").read_bytes()
    if "data" in options:
        options["data"] = other
    with pytest.raises(InvalidRequestError, match=message) as caught:
        run(out, runtime=StubRuntime(blue, settings), **{"data": data, **options})
    assert "--out" in caught.value.hint
    assert before == ((out / "examples.jsonl").read_bytes(), (out / "run.json").read_bytes())


def test_changed_data_under_the_same_name_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text("1")
    run(tmp_path / "out", data=data)
    data.write_text("2")
    with pytest.raises(InvalidRequestError, match=r"data is data\.json"):
        run(tmp_path / "out", data=data)


def test_damage_inside_is_an_error_not_a_loss(tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "examples.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"rubbish\n", *lines[2:]]))
    with pytest.raises(InvalidRequestError, match=r"line 2 is damaged"):
        run(tmp_path)
    (tmp_path / "run.json").unlink()
    with pytest.raises(InvalidRequestError, match="unknown run"):
        run(tmp_path)


def test_a_failed_example_is_asked_again(tmp_path: Path) -> None:
    def failing(documents: Sequence[Document], question: str, _settings: Settings) -> str:
        if "1" in question:
            raise ContextOverflowError("too long")
        return blue(documents, question, _settings)

    assert [bool(record.error) for record in run(tmp_path, runtime=StubRuntime(failing))] == [False, False, True, True]
    runtime = StubRuntime(blue)
    again = run(tmp_path, runtime=runtime)
    assert [question for _, _, question in runtime.asked] == ["Which 1?"] * 2
    assert [(record.id, record.error) for record in again] == [(example.id, None) for example in EXAMPLES]
    assert read_records(tmp_path) == again


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


def test_one_process_at_a_time_writes_to_a_folder(tmp_path: Path) -> None:
    def meanwhile(documents: Sequence[Document], question: str, settings: Settings) -> str:
        with pytest.raises(InvalidRequestError, match="another run is writing"):
            run(tmp_path)
        return blue(documents, question, settings)

    assert not any(record.error for record in run(tmp_path, runtime=StubRuntime(meanwhile)))
    run(tmp_path)  # the lock is gone


@pytest.mark.parametrize(
    ("name", "value"),
    [("scores", {"accuracy": "1"}), ("scores", 1), ("id", 3), ("gold_rank", "1"), ("seconds", [1]), ("answers", 1)],
)
def test_records_of_other_types_are_damage(tmp_path: Path, name: str, value: object) -> None:
    run(tmp_path)
    path = tmp_path / "examples.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, name: value}) + "\n" for row in rows))
    with pytest.raises(InvalidRequestError, match=r"line 1 is damaged"):
        run(tmp_path)


@pytest.mark.parametrize("change", [{"settings": 1}, {"limit": "x"}, {"patterns": 5}, {"model_file": "other"}])
def test_a_changed_run_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    run(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InvalidRequestError, match=r"damaged|another run"):
        run(tmp_path)


def test_a_run_knows_its_templates(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "answer.jinja").write_text("{{ query }}")
    settings = Settings(templates=tmp_path / "t")
    run(tmp_path / "out", runtime=StubRuntime(blue, settings))
    run(tmp_path / "out", runtime=StubRuntime(blue, settings))
    (tmp_path / "t" / "answer.jinja").write_text("{{ query }}!")
    with pytest.raises(InvalidRequestError, match="templates is"):
        run(tmp_path / "out", runtime=StubRuntime(blue, settings))


def test_paths_that_are_no_utf8_are_written(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"command": "wim-edge --out o\udc80"})
    assert json.loads((tmp_path / "x.json").read_text()) == {"command": "wim-edge --out o\udc80"}


def test_the_watcher_sees_old_and_new(tmp_path: Path) -> None:
    class EvaluationWatcher:
        def begin(self, kept: Sequence[Record], total: int) -> None:
            seen.append((len(kept), total))

        def add(self, record: Record) -> None:
            seen.append(record.id)

    seen: list[object] = []
    run(tmp_path, "llm", EXAMPLES[:2], limit=1)
    evaluate(StubRuntime(blue), "multidoc", EXAMPLES, parse_conditions("llm"), tmp_path, options=TaskOptions(limit=2),  # type: ignore[arg-type]
             watcher=EvaluationWatcher())  # fmt: skip
    assert seen == [(2, 4), "q1@0", "q1@1"]


@pytest.mark.parametrize("text", ["", ",", "wim2", "llm:bm25", "oracle:bm25", "wim:", "wim:nothing", "closedbook"])
def test_no_such_pattern(text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_conditions(text)
    assert "closed-book" in caught.value.hint


def test_pattern_settings() -> None:
    patterns = parse_conditions("llm, rag:bm25,default,default:likelihood,oracle,llm")
    assert [pattern.changes for pattern in patterns] == [
        {"pattern": "llm"}, {"pattern": "rag", "relevance": "bm25"}, {}, {"relevance": "likelihood"},
        {"pattern": "llm"},
    ]  # fmt: skip
