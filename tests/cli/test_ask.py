"""`wim-edge ask` and `chat` on a scripted engine: output forms, exit codes, errors, follow-ups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.scripted import SMALL, ask, listed, run
from tests.reading.story import TEXT
from wim_edge.cli import main
from wim_edge.testing import FakeModel

pytestmark = pytest.mark.usefixtures("model")


def test_plain_lines(story: str) -> None:
    result = ask(story, "Which colour?", code=0)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("margin 1/")
    assert "answer: the answer is blue" in lines
    assert any(line.startswith("source: line ") for line in lines)
    assert "read segment 1 of" in result.stderr
    assert "tokens read" in result.stderr
    assert "\x1b" not in result.output


def test_json_is_one_event_a_line_and_nothing_else(story: str) -> None:
    result = ask("--json", story, "Which colour?")
    types = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert types[0] == "reading.started"
    assert types[-1] == "answer.finished"
    assert {"segment.read", "margin.judged", "answer.delta"} <= set(types)
    assert result.stderr == ""


def test_the_answer_alone(story: str) -> None:
    result = ask("--quiet", story, "Which colour?")
    assert (result.stdout, result.stderr) == ("the answer is blue\n", "")


def test_standard_input() -> None:
    result = ask("-", "Which colour?", stdin=TEXT)
    assert "answer: the answer is blue" in result.stdout
    assert "standard input" in result.stderr


def test_several_documents_are_named(story: str, tmp_path: Path) -> None:
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


def test_stopping_early_by_option_is_a_success(story: str) -> None:
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
def test_errors_are_two_lines_and_a_code(story: str, args: list[str], code: int, message: str, hint: str) -> None:
    result = ask(*[story if arg == "STORY" else arg for arg in args])
    assert result.exit_code == code, result.output
    error, *rest = result.stderr.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert len(rest) <= 1
    assert hint in "".join(rest)
    assert "Traceback" not in result.output


def test_a_very_long_question(story: str) -> None:
    assert ask("--quiet", story, "why " * 300).exit_code == 0


@pytest.mark.parametrize("save", ["--save", "--no-save"])
def test_chat_reads_once(save: str, story: str, tmp_path: Path) -> None:
    result = run("chat", *SMALL, save, "--json", story, stdin="Which colour?\n\nAnd what else?\n", code=0)
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
    result = run("chat", *SMALL, story, stdin=lines, code=0)
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
