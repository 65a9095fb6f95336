"""`wim-edge eval recall` on a scripted engine: figures, formats, folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cli.scripted import give
from tests.evaluation.stub import write
from tests.recall.conftest import DOCUMENTS, writes
from wim_edge.cli.eval import eval_command
from wim_edge.cli.main import CommandGroup
from wim_edge.evaluation.recall import KNOWN
from wim_edge.testing import FakeModel

ROWS = [{"title": title, "text": text} for title, text in DOCUMENTS]
QUERIES = [
    {"question": "when was the lighthouse built", "titles": ["Lighthouse"], "answers": ["1904"]},
    {"question": "when does the ferry sail", "titles": ["Ferry", "Almanac"], "answers": []},
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    fake = FakeModel(writes("Lighthouse", "The lighthouse was built"))
    give(monkeypatch, fake)
    data = write(tmp_path / "queries.jsonl", QUERIES, lines=True)
    return "--data", str(data), "--library", str(write(tmp_path / "rows.jsonl.gz", ROWS, lines=True))


def evaluate(*args: str) -> Result:
    return CliRunner().invoke(CommandGroup("wim-edge", commands=[eval_command]), ["eval", "recall", *args])


def test_every_retriever_and_variant(files: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = (*files, "--retriever", ",".join(KNOWN), "--out", str(out), "--json")
    result = evaluate(*options)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary == json.loads((out / "summary.json").read_text())
    by_name = {found["retriever"]: found for found in summary["retrievers"]}
    assert list(by_name) == list(KNOWN)
    for name, found in by_name.items():
        assert found["n"] == 2
        assert found["errors"] == []
        is_decoded = name in ("recall:titles", "recall:free")
        assert (found["titles_exist"] is not None) == is_decoded, name
        assert found["seconds_per_query"] >= 0
    assert by_name["bm25"]["recall_at_1"] == 1.0
    assert by_name["bm25"]["decoded_tokens"] == 0
    assert by_name["recall:titles"]["recall_at_1"] == 0.5
    assert by_name["recall:titles"]["titles_exist"] == 1
    assert set(by_name["bm25"]["by_gold_pages"]) == {"1", "2"}
    assert by_name["recall"]["answer_in_context"] == 1.0
    assert by_name["bm25:read"]["prefilled_tokens"] > 0 == by_name["hybrid:unread"]["prefilled_tokens"]
    assert by_name["recall:whole"]["decoded_tokens"] > by_name["recall"]["decoded_tokens"]
    lines = (out / "examples.jsonl").read_text()
    assert json.loads(evaluate(*options).stdout) == summary  # nothing is asked again
    assert (out / "examples.jsonl").read_text() == lines
    assert evaluate(*files, "--retriever", "bm25,recall", "--prefix", "4", "--out", str(out)).exit_code == 2


def test_the_report(files: tuple[str, ...], tmp_path: Path) -> None:
    result = evaluate(*files, "--retriever", "bm25,recall", "--out", str(tmp_path / "out"), "--report")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert "data:image/png" in page
    assert "<td>recall</td>" in page
    assert (tmp_path / "out" / "recall.png").stat().st_size > 1000
    assert evaluate(*files, "--report").exit_code == 2


def test_the_table_fits_a_terminal(files: tuple[str, ...]) -> None:
    result = evaluate(*files, "--retriever", "bm25,recall:titles")
    assert "recall:titles" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_wrong_requests(files: tuple[str, ...]) -> None:
    assert evaluate(*files, "--retriever", "best").exit_code == 2
    assert evaluate(*files[:2]).exit_code == 2
    assert evaluate(*files, "--size", "1", "--retriever", "bm25").exit_code == 2


def test_queries_that_cannot_be_answered_are_told(files: tuple[str, ...], tmp_path: Path) -> None:
    rows = [*QUERIES, {"question": "what of it", "titles": ["No such title"]}, {"question": "word " * 9000, "titles":
            ["Ferry"]}]  # fmt: skip
    data = write(tmp_path / "other.jsonl", rows, lines=True)
    result = evaluate(*files[2:], "--data", str(data), "--retriever", "hybrid")
    assert result.exit_code == 0, result.output
    assert "the library lacks a gold title of 1 of 4 queries" in result.stderr
    assert "hybrid: 1 failed and count as wrong" in result.stderr
    assert "3: InvalidRequestError" in result.stderr


def test_a_folder_never_mixes_two_samples(files: tuple[str, ...], tmp_path: Path) -> None:
    options = (*files, "--retriever", "bm25", "--size", "40", "--out", str(tmp_path / "out"))
    assert evaluate(*options).exit_code == 0
    assert evaluate(*options).exit_code == 0
    result = CliRunner(env={"WIM_EDGE_SEED": "7"}).invoke(
        CommandGroup("wim-edge", commands=[eval_command]), ["eval", "recall", *options]
    )
    assert result.exit_code == 2, result.output
    assert "passages is" in result.stderr
