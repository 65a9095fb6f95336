"""Options that all commands share: the model, and what is shown of an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.scripted import ask, give
from wim_edge.cli import main
from wim_edge.testing import FakeModel


def test_debug_shows_the_traceback(model: FakeModel) -> None:
    result = ask("--debug", "/no/such/file.txt", "Why?")
    assert result.exit_code == 3
    assert "Traceback" in result.stderr


def test_an_unknown_model_names_the_nearest(story: str, tmp_path: Path) -> None:
    result = ask("--model", "smolm2-135m", story, "Why?")
    assert (result.exit_code, "smollm2-135m" in result.stderr) == (4, True)
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"no model" * 100)
    result = ask("--model", str(bad), story, "Why?")
    assert (result.exit_code, "not a GGUF file" in result.stderr) == (4, True)


def test_the_command_explains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    give(monkeypatch, FakeModel(lambda prompt: ""))
    (tmp_path / "a.txt").write_text("A short text.")
    ask = ["ask", "--explain-settings", "--passages", "2", str(tmp_path / "a.txt"), "Why?"]
    lines = CliRunner().invoke(main, ask).output.splitlines()
    assert "max_passages         2                given" in lines
    assert "pattern              wim              length (a short text is read whole)" in lines
    told = json.loads(CliRunner().invoke(main, [*ask, "--json"]).output)
    assert told["max_passages"] == {"value": 2, "origin": "given"}
    assert CliRunner().invoke(main, [*ask, "--rpc", "127.0.0.1:1"]).exit_code == 2
