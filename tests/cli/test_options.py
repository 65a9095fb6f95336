"""Options that all commands share: the model, and what is shown of an error."""

from __future__ import annotations

from pathlib import Path

from tests.cli.scripted import ask
from wim_edge.testing import FakeModel


def test_debug_shows_the_traceback(model: FakeModel) -> None:
    result = ask("--debug", "/no/such/file.txt", "Why?", code=3)
    assert "Traceback" in result.stderr


def test_an_unknown_model_names_the_nearest(story: str, tmp_path: Path) -> None:
    result = ask("--model", "smolm2-135m", story, "Why?")
    assert (result.exit_code, "smollm2-135m" in result.stderr) == (4, True)
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"no model" * 100)
    result = ask("--model", str(bad), story, "Why?")
    assert (result.exit_code, "not a GGUF file" in result.stderr) == (4, True)
