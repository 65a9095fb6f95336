"""`wim-edge read` on a scripted engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.scripted import SMALL, listed, run
from tests.reading.story import TEXT

pytestmark = pytest.mark.usefixtures("model")


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
