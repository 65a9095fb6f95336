"""`wim-edge batch` on a scripted engine: what is told at the end, and what is no batch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.batch.scripted import MODEL, Fake
from tests.cli.scripted import run
from wim_edge.errors import EngineError


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Every batch is executed by it."""
    fake = Fake()
    monkeypatch.setattr("wim_edge.batch.run.run_local", lambda settings, check, groups: fake(groups))
    monkeypatch.setattr("wim_edge.loaded_models.model_identity", lambda settings: MODEL)
    monkeypatch.setattr("wim_edge.loaded_models.portable_settings", lambda settings: settings)
    return fake


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "walls"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}.txt").write_text(f"The wall of village {number} has many stones. " * 20)
    return folder


def test_each_document_is_asked_and_the_figures_are_told(fake: Fake, documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    questions = ("--question", "Which?", "--question", "Whose?")
    asked = ("batch", "--each-document", str(documents), *questions, "--out", str(out))
    result = run(*asked)
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert first == f"4 of 4 answered, 0 failed: {out / 'results.jsonl'}"
    assert second.startswith("2 documents, ")
    assert "4 of 4 asked, 0 s left; 0 failed" in result.stderr
    assert len((out / "results.jsonl").read_text().splitlines()) == 4
    again = run(*asked)
    assert (again.exit_code, len(fake.asked)) == (0, 4)  # nothing is asked again
    assert "4 of 4 asked before" in again.stderr


def test_what_failed_is_an_exit_code_and_a_line_each(fake: Fake, documents: Path, tmp_path: Path) -> None:
    rows = [{"document": str(documents / "0.txt"), "question": f"Which {n}?", "id": f"q{n}"} for n in range(14)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fake.fails = {f"Which {n}?": EngineError(f"it broke\n{n}") for n in range(1, 14)}
    result = run("batch", str(tmp_path / "q.jsonl"), "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert result.stdout.startswith("1 of 14 answered, 13 failed: ")
    failed = [line for line in result.stderr.splitlines() if line.startswith("failed: ")]
    assert failed[0].startswith("failed: q1, ")
    assert failed[0].endswith("0.txt: EngineError: it broke 1")
    assert f"and {13 - len(failed)} more; the same command asks them again" in result.stderr


def test_a_batch_that_is_stopped_says_how_it_goes_on(fake: Fake, documents: Path, tmp_path: Path) -> None:
    fake.stop_after = 1
    result = run("batch", "--each-document", str(documents), "--question", "Which?", "--out", str(tmp_path / "out"))
    assert result.exit_code == 130
    assert result.stdout.startswith("1 of 2 answered")
    assert "stopped; the same command continues" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--out", "out"], "a batch is a file of questions, or a folder"),
     (["q.jsonl", "--each-document", ".", "--question", "a?", "--out", "out"], "a batch is a file of questions"),
     (["--each-document", ".", "--out", "out"], "a batch is a file of questions"),
     (["q.jsonl", "--question", "a?", "--out", "out"], "a batch is a file of questions"),
     (["q.jsonl", "--out", ""], "--out names no folder"), (["q.jsonl"], "--out")],
)  # fmt: skip
def test_what_is_no_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.jsonl").write_text(json.dumps({"document": "a.txt", "question": "a?"}))
    result = run("batch", *arguments)
    assert result.exit_code == 2, result.output
    assert says in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()
