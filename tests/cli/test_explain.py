"""`--explain-settings`: each setting and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.scripted import give
from wim_edge.cli import main
from wim_edge.testing import FakeModel


def test_the_command_explains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    give(monkeypatch, FakeModel(lambda prompt: ""))
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("A short text.")
    ask = ["ask", "--explain-settings", "--passages", "2", str(tmp_path / "a.txt"), "Why?"]
    lines = CliRunner().invoke(main, ask).output.splitlines()
    assert "max_passages         2                given" in lines
    assert "pattern              wim              length (a short text is read whole)" in lines
    told = json.loads(CliRunner().invoke(main, [*ask, "--json"]).output)
    assert told["max_passages"] == {"value": 2, "origin": "given"}
    assert CliRunner().invoke(main, [*ask, "--rpc", "127.0.0.1:1"]).exit_code == 2
