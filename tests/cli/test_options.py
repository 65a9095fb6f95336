"""Options that all commands share: the model, and what is shown of an error."""

from __future__ import annotations

from tests.cli.scripted import ask
from wim_edge.testing import FakeModel


def test_debug_shows_the_traceback(model: FakeModel) -> None:
    result = ask("--debug", "/no/such/file.txt", "Why?")
    assert result.exit_code == 3
    assert "Traceback" in result.stderr


def test_an_unknown_model_names_the_nearest(story: str) -> None:
    result = ask("--model", "smolm2-135m", story, "Why?")
    assert result.exit_code == 4
    assert "smollm2-135m" in result.stderr
