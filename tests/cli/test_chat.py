"""`wim-edge chat` on a scripted engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.scripted import SMALL, listed, run
from wim_edge.cli import main

pytestmark = pytest.mark.usefixtures("model")


@pytest.mark.parametrize("save", ["--save", "--no-save"])
def test_chat_reads_once(save: str, story: str, tmp_path: Path) -> None:
    result = run("chat", *SMALL, save, "--json", story, stdin="Which colour?\n\nAnd what else?\n")
    assert result.exit_code == 0, result.output
    events = [json.loads(line) for line in result.stdout.splitlines()]
    first, second = (event["usage"] for event in events if event["type"] == "answer.finished")
    assert first["reused_tokens"] == second["prefilled_tokens"] == 0
    assert second["reused_tokens"] == first["prefilled_tokens"] > 0
    assert len(listed()) == (save == "--save")


def test_chat_goes_on_after_a_question_that_fails(story: str) -> None:
    result = run("chat", "--quiet", "--answer-tokens", "16", *SMALL, story, stdin="why " * 9000 + "\nWhich colour?\n")
    assert result.exit_code == 0
    assert "error: question and prompts do not fit" in result.stderr
    assert result.stdout == "the answer is blue\n"


def test_chat_completes_a_follow_up_and_shows_it(story: str) -> None:
    lines = "What was blue in 2023?\nand in 2022?\n/help\n/exit\nWhich colour?\n"
    result = run("chat", *SMALL, story, stdin=lines)
    assert result.exit_code == 0, result.output
    assert "asked as: What was blue in 2023? " in result.stdout
    assert result.stdout.count("asked as: ") == 1
    assert "/help     this" in result.stdout
    assert result.stdout.count("answer: ") == 2  # what comes after the end is not asked
    result = run("chat", *SMALL, "--json", story, stdin=lines)
    told = [json.loads(line) for line in result.stdout.splitlines()]
    (completed,) = (event for event in told if event["type"] == "question.settled")
    assert completed["question"] == "and in 2022?"
    assert completed["asked_as"].startswith("What was blue in 2023? ")
    assert "/help     this" in result.stderr
    quiet = run("chat", *SMALL, "--quiet", story, stdin=lines)
    assert "asked as: What was blue in 2023? " in quiet.stderr
    assert "asked as" not in quiet.stdout


def test_chat_says_at_a_terminal_how_to_ask_and_how_to_leave(
    story: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["/help", "Which colour?", "quit", "never asked"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    main(["chat", *SMALL, story], standalone_mode=False)
    shown = capsys.readouterr().out
    assert shown.startswith("Type a question and press Enter.")
    assert "/quit ends" in shown.splitlines()[0]
    assert shown.count("answer: ") == 1
    assert next(lines) == "never asked"


def test_chat_takes_its_questions_from_standard_input() -> None:
    result = run("chat", "-", stdin="x\n")
    assert (result.exit_code, "brings the questions" in result.stderr) == (2, True)
