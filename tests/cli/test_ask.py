"""`wim-edge ask` on a scripted engine: output forms, exit codes, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.scripted import ask
from tests.reading.story import TEXT
from wim_edge.testing import FakeModel


def test_plain_lines(model: FakeModel, story: str) -> None:
    result = ask(story, "Which colour?")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("margin 1/")
    assert "answer: the answer is blue" in lines
    assert any(line.startswith("source: line ") for line in lines)
    assert "read segment 1 of" in result.stderr
    assert "tokens read" in result.stderr
    assert "\x1b" not in result.output


def test_json_is_one_event_a_line_and_nothing_else(model: FakeModel, story: str) -> None:
    result = ask("--json", story, "Which colour?")
    types = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert types[0] == "reading.started"
    assert types[-1] == "answer.finished"
    assert {"segment.read", "margin.judged", "answer.delta"} <= set(types)
    assert result.stderr == ""


def test_the_answer_alone_or_without_margins(model: FakeModel, story: str) -> None:
    result = ask("--quiet", story, "Which colour?")
    assert (result.stdout, result.stderr) == ("the answer is blue\n", "")
    result = ask("--no-margins", story, "Which colour?")
    assert "margin " not in result.stdout
    assert "answer: the answer is blue" in result.stdout


def test_standard_input(model: FakeModel) -> None:
    result = ask("-", "Which colour?", stdin=TEXT)
    assert "answer: the answer is blue" in result.stdout
    assert "standard input" in result.stderr


def test_several_documents_are_named(model: FakeModel, story: str, tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text("# Red\n\nRed is another colour.", encoding="utf-8")
    result = ask(story, str(other), "Which colour?")
    assert "[story.txt, line" in result.stdout
    assert "[other.md, Red, line 1, " in result.stdout


def test_control_characters_do_not_reach_the_terminal(model: FakeModel, story: str) -> None:
    model.reply = lambda prompt: "a\x1b[mred\x07 note"
    shown = ask(story, "Which colour?").output
    assert "answer: a[mred note" in shown
    assert not {"\x1b", "\x07"} & set(shown)


def test_stopping_early_by_option_is_a_success(model: FakeModel, story: str) -> None:
    result = ask("--json", "--stop-after", "1", story, "Which colour?")
    assert json.loads(result.stdout.splitlines()[-1])["finish_reason"] == "early_exit"
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("args", "code", "message", "hint"),
    [
        (["/no/such/file.txt", "Why?"], 3, "no such file", ""),
        (["STORY", "  "], 2, "the question is empty", "last argument"),
        (["STORY", "STORY"], 2, "the question is missing", "last argument"),
        (["--segment-tokens", "9000", "STORY", "Why?"], 2, "segments of 9,000 tokens do not fit", "--segment-tokens"),
        (["--ctx", "10", "STORY", "Why?"], 2, "n_ctx is 10", "at least 256"),
        (["--temperature", "-1", "STORY", "Why?"], 2, "temperature is -1", "0 (greedy)"),
        (["--templates", "/no/such/dir", "STORY", "Why?"], 2, "/no/such/dir", "final_answer.jinja"),
        (["--json", "--quiet", "STORY", "Why?"], 2, "exclude each other", "one of them"),
        (["-p", "llm", "--ctx", "600", "STORY", "Why?"], 5, "the context holds 600", "--pattern wim"),
    ],
)  # fmt: skip
def test_errors_are_two_lines_and_a_code(
    model: FakeModel, story: str, args: list[str], code: int, message: str, hint: str
) -> None:
    result = ask(*[story if arg == "STORY" else arg for arg in args])
    assert result.exit_code == code, result.output
    error, *rest = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert len(rest) <= 1
    assert hint in "".join(rest)
    assert "Traceback" not in result.output


def test_a_very_long_question(model: FakeModel, story: str) -> None:
    assert ask("--quiet", story, "why " * 300).exit_code == 0
