"""What goes to a terminal: colours where they are wanted, and no escape codes in what is for programs."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.test_ask import SMALL
from tests.wim.story import TEXT, reply
from wim_edge import loaded_models
from wim_edge.cli import main
from wim_edge.cli.terminal import clean, one_line, show_error
from wim_edge.errors import ModelError
from wim_edge.testing import FakeModel

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such terminals")
ASK = ["ask", *SMALL, "--answer-tokens", "32"]
SHALLOW = [*ASK, "--pattern", "wim-shallow", "--relevance", "likelihood", "--margins", "verbatim"]


def terminal(*arguments: str, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """What a command writes on a terminal, both outputs together."""
    import pty

    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100", **environment}.items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    pieces: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(ours, 65536):
                pieces.append(piece)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    with open(theirs, "w", encoding="utf-8") as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        main(list(arguments), standalone_mode=False)
    reader.join()
    os.close(ours)
    return b"".join(pieces).decode()


def colours(text: str) -> set[int]:
    """The numbers of its colours, of letters and behind them."""
    codes = {int(code) for codes in re.findall(r"\x1b\[([\d;]*)m", text) for code in codes.split(";") if code}
    return {code for code in codes if 30 <= code <= 49 or 90 <= code <= 107}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model but a scripted one, and none of the variables that the test's own terminal has."""
    model = FakeModel(reply)
    monkeypatch.setattr(loaded_models.LoadedModels, "model", lambda self: model)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def story(tmp_path: Path) -> str:
    path = tmp_path / "story.txt"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def test_colours_unless_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch, story: str) -> None:
    coloured = terminal(*ASK, story, "Which colour?", monkeypatch=monkeypatch)
    plain = terminal(*ASK, story, "Which colour?", monkeypatch=monkeypatch, NO_COLOR="1")
    for shown in (coloured, plain):
        assert "\x1b[1A" in shown  # the line of progress, drawn again
        assert "Sources" in shown
    assert {32, 33} <= colours(coloured)  # relevant margins, warnings
    assert colours(plain) == set()


@pytest.mark.parametrize("command", [("ask", *ASK[1:], "--json", "STORY", "Which colour?"), ("read", "--json", "STORY"),
                                     ("models", "list", "--json"), ("readings", "list", "--json")])  # fmt: skip
def test_json_on_a_terminal_has_no_escape_codes(
    monkeypatch: pytest.MonkeyPatch, story: str, command: tuple[str, ...]
) -> None:
    shown = terminal(*(story if word == "STORY" else word for word in command), monkeypatch=monkeypatch)
    assert "\x1b" not in shown
    found = [json.loads(line) for line in (shown.splitlines() if command[0] in ("ask", "read") else [shown])]
    assert found


def test_quiet_on_a_terminal_is_the_answer_alone(monkeypatch: pytest.MonkeyPatch, story: str) -> None:
    assert terminal(*ASK, "--quiet", story, "Which colour?", monkeypatch=monkeypatch) == "the answer is blue\r\n"


def test_enter_reads_on_until_all_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(f"Nothing stands in part {n} that anyone would look for here.\n\n" for n in range(50)))
    asked: list[str] = []

    def enter(prompt: str = "") -> str:
        asked.append(prompt)
        return ""

    monkeypatch.setattr("wim_edge.cli.ask.is_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", enter)
    shown = terminal(*SHALLOW, "--segment-tokens", "32", "--no-save", str(path), "Which colour had the bicycle?",
                     monkeypatch=monkeypatch)  # fmt: skip
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


def test_control_characters_are_dropped() -> None:
    assert clean("a\x1b[2Jb\x07\n\tc\u202ed") == "a[2Jb\n\tcd"
    assert one_line("a\x1b[2Jb  c\n\td\u2028") == "a [2Jb  c  d"


def test_an_error_has_two_lines_whatever_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(ModelError("no model of that name: \x1b]0;x\x07\nhint: none", "See\nthe list."))
    show_error(ModelError("no hint"))
    shown = capsys.readouterr().err
    assert shown == "error: no model of that name:  ]0;x  hint: none\nhint: See the list.\nerror: no hint\n"
