"""A scripted engine in every runtime that a command opens, and a story to ask it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.scripted import give
from tests.reading.story import TEXT, reply
from wim_edge.testing import FakeModel


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model but a scripted one, and none of the variables that the test's own terminal has."""
    model = FakeModel(reply)
    give(monkeypatch, model)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> FakeModel:
    """Every runtime opened by a command gets this model, which says what the test file's own `reply` says."""
    fake = FakeModel(getattr(request.module, "reply", reply))
    give(monkeypatch, fake)
    return fake


@pytest.fixture
def story(tmp_path: Path) -> str:
    path = tmp_path / "story.txt"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)
