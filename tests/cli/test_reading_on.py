"""After an answer from a part of a text: Enter reads on, and the end of the input does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.screen import SHALLOW, terminal

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="no such terminals"), pytest.mark.usefixtures("plain")]


def test_enter_reads_on_until_all_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(f"Nothing stands in part {n} that anyone would look for here.\n\n" for n in range(50)))
    asked: list[str] = []

    def enter(prompt: str = "") -> str:
        asked.append(prompt)
        return ""

    monkeypatch.setattr("wim_edge.cli.ask.is_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", enter)
    options = ("--segment-tokens", "32", "--no-save", "--answer", "list")
    shown = terminal(*SHALLOW, *options, str(path), "What stands in a part?", monkeypatch=monkeypatch)
    assert "32 of " in shown
    assert "likely that another one answers better" in shown
    assert "--within all reads the rest" in " ".join(shown.split())
    assert "reading on after 32 of " in shown
    assert len(asked) == 1


def test_the_end_of_the_input_ends_it(monkeypatch: pytest.MonkeyPatch, story: str) -> None:
    def end(prompt: str = "") -> str:
        raise EOFError

    monkeypatch.setattr("wim_edge.cli.ask.is_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", end)
    shown = terminal(*SHALLOW, story, "Which colour has the lighthouse?", monkeypatch=monkeypatch)
    assert "reading on" not in shown
