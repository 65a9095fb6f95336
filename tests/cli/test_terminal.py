"""What goes to a terminal: colours where they are wanted, and no escape codes in what is for programs."""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.cli.screen import ASK, terminal
from wim_edge.cli.terminal import clean, one_line, show_error
from wim_edge.errors import ModelError

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="no such terminals"), pytest.mark.usefixtures("plain")]


def colours(text: str) -> set[int]:
    """The numbers of its colours, of letters and behind them."""
    codes = {int(code) for codes in re.findall(r"\x1b\[([\d;]*)m", text) for code in codes.split(";") if code}
    return {code for code in codes if 30 <= code <= 49 or 90 <= code <= 107}


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


def test_control_characters_are_dropped() -> None:
    assert clean("a\x1b[2Jb\x07\n\tc\u202ed") == "a[2Jb\n\tcd"
    assert one_line("a\x1b[2Jb  c\n\td\u2028") == "a [2Jb  c  d"


def test_an_error_has_two_lines_whatever_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(ModelError("no model of that name: \x1b]0;x\x07\nhint: none", "See\nthe list."))
    show_error(ModelError("no hint"))
    shown = capsys.readouterr().err
    assert shown == "error: no model of that name:  ]0;x  hint: none\nhint: See the list.\nerror: no hint\n"
