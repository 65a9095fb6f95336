"""A model that shows its prompts, and what asks it under each condition."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wim_edge import Runtime, Settings
from wim_edge.evaluation.conditions import ConditionAsker
from wim_edge.evaluation.tasks import TASKS
from wim_edge.testing import FakeModel


@pytest.fixture
def model() -> FakeModel:
    model = FakeModel(lambda prompt: prompts.append(prompt) or "It is colour1.")  # type: ignore[func-returns-value]
    prompts: list[str] = []
    model.prompts = prompts  # type: ignore[attr-defined]
    return model


@pytest.fixture
def asker(model: FakeModel) -> Iterator[ConditionAsker]:
    with Runtime(Settings(), model=model) as runtime, ConditionAsker(runtime, TASKS["multidoc"]) as asker:
        yield asker
