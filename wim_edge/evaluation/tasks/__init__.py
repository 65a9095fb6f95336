"""The tasks of the evaluation, by name. Each module defines one task or a family of tasks."""

from __future__ import annotations

import difflib

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.tasks import cwe, documents, middle, qa
from wim_edge.evaluation.tasks.task import GENERATED, Task, TaskOptions

_ALL = (
    documents.TASK, documents.ANSWERABLE, middle.MULTIDOC, middle.KV, middle.READER, *qa.TASKS, cwe.TASK, qa.BABILONG,
)  # fmt: skip
TASKS: dict[str, Task] = {task.name: task for task in _ALL}


def task_named(name: str) -> Task:
    """Returns the task with this name. Raises InvalidRequestError for an unknown name; the hint lists similar names."""
    if name not in TASKS:
        near = difflib.get_close_matches(name, [*TASKS, "recall"], 3, 0.4)
        raise InvalidRequestError(f"{name} is no task", f"Nearest: {', '.join(near or TASKS)}.")
    return TASKS[name]


__all__ = ["GENERATED", "TASKS", "Task", "TaskOptions", "task_named"]
