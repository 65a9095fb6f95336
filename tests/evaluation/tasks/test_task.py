"""What is alike in all tasks: names, positions, and the options that one takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.stub import build, example, multidoc_row, write
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.records import Reply
from wim_edge.evaluation.tasks import TASKS, task_named
from wim_edge.evaluation.tasks.task import score_answer


def test_ids_and_names_are_unique_and_the_registry_names_its_tasks(tmp_path: Path) -> None:
    assert {name: task.name for name, task in TASKS.items()} == {name: name for name in TASKS}
    data = write(tmp_path / "d.jsonl", [multidoc_row(n) for n in range(3)], lines=True)
    found = build("multidoc", data=data)
    assert len({one.id for one in found}) == len(found) == 9
    assert {one.group for one in found} == {"q0", "q1", "q2"}
    for one in found:
        assert len({document.name for document in one.documents}) == 10


@pytest.mark.parametrize("task", ["multidoc", "kv"])
def test_a_position_outside_is_an_error(tmp_path: Path, task: str) -> None:
    data = write(tmp_path / "d.jsonl", [multidoc_row(0)], lines=True) if task == "multidoc" else None
    with pytest.raises(InvalidRequestError, match="position 10 among 10") as caught:
        build(task, data=data, documents=(10,), positions=(0, 10))
    assert "0 to 9" in caught.value.hint
    with pytest.raises(InvalidRequestError, match="several numbers for --documents"):
        build(task, data=data, documents=(10, 20))


def test_options_that_a_task_does_not_take_or_misses(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="multidoc needs --data"):
        build("multidoc")
    with pytest.raises(InvalidRequestError, match="cwe takes no --positions") as caught:
        build("cwe", positions=(1,))
    assert "--length" in caught.value.hint
    with pytest.raises(InvalidRequestError, match="hotpot is no task") as caught:
        task_named("hotpot")
    assert "hotpotqa" in caught.value.hint


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        (None, (0.0, 0.0, 0.0)),
        (Reply(text="blue", pattern="llm"), (1.0, 1.0, 1.0)),
        (Reply(text="It is\nblue", pattern="llm"), (0.0, 1.0, 0.0)),  # accuracy and f1 are of the first line
        (Reply(text="Quite blue, as it says", short="blue", pattern="llm"), (1.0, 1.0, 1.0)),  # f1 is of the short one
        (Reply(text="red", pattern="llm"), (0.0, 0.0, 0.0)),
    ],
)
def test_what_a_short_answer_scores(reply: Reply | None, scores: tuple[float, float, float]) -> None:
    assert score_answer(example(), reply) == dict(zip(("accuracy", "contains", "f1"), scores, strict=True))
