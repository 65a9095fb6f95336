"""`wim-edge read`, `chat` and `library` on a scripted engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.wim.test_reading import TEXT, reply
from wim_edge import loaded_models
from wim_edge.cli import main
from wim_edge.testing import FakeModel

SMALL = ("--pattern", "wim", "--relevance", "verdict", "--margins", "free", "--segment-tokens", "160")


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    fake = FakeModel(reply)
    monkeypatch.setattr(loaded_models.LoadedModels, "model", lambda self: fake)
    return fake


@pytest.fixture
def story(tmp_path: Path) -> str:
    path = tmp_path / "story.txt"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def listed() -> list[dict[str, object]]:
    return json.loads(run("readings", "list", "--json").stdout)  # type: ignore[no-any-return]


def test_read_ahead_then_ask(story: str) -> None:
    result = run("read", *SMALL, story)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[-1].startswith("all of ")
    result = run("ask", *SMALL, story, "Which colour?")
    assert "tokens known · 0 tokens read" in result.stderr
    events = [json.loads(line) for line in run("read", *SMALL, "--json", story).stdout.splitlines()]
    assert events[-1]["type"] == "reading.finished"
    assert events[-1]["usage"]["prefilled_tokens"] == 0


def test_each_document_alone_or_all_together(story: str, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(TEXT[:400])
    run("read", *SMALL, story, str(other))
    assert sorted(str(row["title"]) for row in listed()) == ["other.txt", "story.txt"]
    run("read", *SMALL, "--together", story, str(other))
    assert "story.txt, other.txt" in {row["title"] for row in listed()}


def test_ask_without_saving(story: str) -> None:
    assert run("ask", *SMALL, "--no-save", story, "Which colour?").exit_code == 0
    assert listed() == []


def test_list_info_remove_clear_path(story: str) -> None:
    assert run("readings", "list").stdout.startswith("0 readings, 0 MB of at most ")
    run("read", *SMALL, story)
    run("read", *SMALL, "--pattern", "wim-shallow", story)
    first, second = listed()
    assert {first["shape"], second["shape"]} == {"deep", "shallow"}
    table = run("readings", "list").stdout
    assert "story.txt" in table
    assert "2 readings" in table
    shown = run("readings", "info", str(first["id"])).stdout
    assert story in shown
    assert json.loads(run("readings", "info", str(first["id"]), "--json").stdout) == first
    missing = run("readings", "remove", "99", str(first["id"]))
    assert (missing.exit_code, "there is no reading 99" in missing.stderr) == (8, True)
    assert len(listed()) == 2
    assert run("readings", "remove", str(first["id"])).exit_code == 0
    assert listed() == [second]
    folder = Path(run("readings", "path").stdout.strip())
    assert list(folder.glob("*.reading"))
    assert run("readings", "clear", stdin="n\n").exit_code == 1
    assert run("readings", "clear", "--yes").exit_code == 0
    assert not list(folder.glob("*.reading"))


def test_a_library_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: str) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("WIM_EDGE_READINGS", str(tmp_path / "file"))
    for command in (("readings", "list"), ("read", story)):
        result = run(*command)
        assert result.exit_code == 8
        assert "readings cannot be saved" in result.stderr
        assert "hint: " in result.stderr


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
    assert "asked as: What was blue in 2022?" in result.stdout
    assert result.stdout.count("asked as: ") == 1
    assert "/help     this" in result.stdout
    assert result.stdout.count("answer: ") == 2  # what comes after the end is not asked
    result = run("chat", *SMALL, "--json", story, stdin=lines)
    told = [json.loads(line) for line in result.stdout.splitlines()]
    (completed,) = (event for event in told if event["type"] == "question.settled")
    assert (completed["question"], completed["asked_as"]) == ("and in 2022?", "What was blue in 2022?")
    assert "/help     this" in result.stderr
    quiet = run("chat", *SMALL, "--quiet", story, stdin=lines)
    assert "asked as: What was blue in 2022?" in quiet.stderr
    assert "asked as" not in quiet.stdout


def test_chat_says_at_a_terminal_how_to_ask_and_how_to_leave(
    story: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["/help", "Which colour?", "/quit", "never asked"])
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
