"""`wim-edge eval` and `batch` on a scripted engine: outputs, folders, errors, Ctrl-C."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
from click.testing import Result

from tests.batch.scripted import MODEL, Fake
from tests.cli.scripted import give, run
from tests.evaluation.stub import multidoc_row, write
from wim_edge.errors import EngineError
from wim_edge.testing import FakeModel

FULL = "llm,wim:verdict,rag:bm25,default,oracle,closed-book"


def reply(prompt: str) -> str:
    """Knows the colour only where the house is in the prompt."""
    if "YES or NO" in prompt:
        return "YES" if "all over" in prompt.rsplit("Note:", 1)[1] else "NO"
    asked = re.search(r"what colour is house (\d)", prompt)
    known = f"It is colour{asked[1]} all over." if asked else "?"
    return known if known in prompt else "unknown"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "nq.jsonl.gz", [multidoc_row(n) for n in range(2)], lines=True)


def evaluate(*args: object, **more: Any) -> Result:
    with patch.object(sys, "argv", ["wim-edge", "eval", *map(str, args)]):
        return run("eval", *args, **more)


def test_json_summary_and_folder(model: FakeModel, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = evaluate("multidoc", "--data", data, "--documents", 3, "--pattern", FULL, "--out", out, "--json",
                      "--answer-tokens", 20, code=0)  # fmt: skip
    summary = json.loads(result.stdout)
    assert summary == json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert (summary["task"], summary["model"]) == ("multidoc", "fake")
    assert summary["command"] == (f"wim-edge eval multidoc --data {data} --documents 3 --pattern {FULL} --out {out} "
                                  "--json --answer-tokens 20")  # fmt: skip
    by_name = {found["pattern"]: found for found in summary["patterns"]}
    assert list(by_name) == FULL.split(",")
    assert {name: found["n"] for name, found in by_name.items()} == {
        "llm": 2, "wim:verdict": 2, "rag:bm25": 2, "default": 2, "oracle": 2, "closed-book": 2,
    }  # fmt: skip
    assert {name: found["examples"] for name, found in by_name.items()} == {
        "llm": 6, "wim:verdict": 6, "rag:bm25": 2, "default": 6, "oracle": 2, "closed-book": 2,
    }  # fmt: skip
    assert by_name["llm"]["accuracy"] == by_name["oracle"]["accuracy"] == 1
    assert by_name["closed-book"]["accuracy"] == 0
    assert set(by_name["llm"]["by_position"]) == {"0", "1", "2"}
    assert by_name["rag:bm25"]["gold_ranked_first"] == 1
    assert by_name["wim:verdict"]["resolved_pattern"] == "wim:verdict"
    assert by_name["default"]["resolved_pattern"] not in (None, "default")
    assert all(not found["errors"] for found in summary["patterns"])
    assert len((out / "examples.jsonl").read_text().splitlines()) == 24
    assert "24 of 24 asked" in result.stderr
    assert "accuracy llm 100.0%" in result.stderr


def test_a_table_and_nothing_kept_without_a_folder(model: FakeModel, data: Path, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = evaluate("multidoc", "--data", data, "--documents", 2, "--positions", "1", "-p", "llm", "--limit", 1)
    assert result.exit_code == 0, result.output
    assert "100.0%" in result.stdout
    assert "position 1" in result.stdout
    assert "not kept" in result.stderr
    assert list((tmp_path / "here").iterdir()) == []


def test_no_cell_of_a_table_in_a_pipe_is_cut(model: FakeModel, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    wide = [f"a figure with a long name, {number}" for number in range(20)]
    monkeypatch.setattr("wim_edge.evaluation.report.rows", lambda _summary: [wide, wide])
    result = evaluate("multidoc", "--data", data, "--documents", 2, "--positions", "1", "--limit", 1)
    assert "accuracy llm 100.0%, default " in result.stderr  # the default patterns
    assert [result.stdout.count(name) for name in (wide[0] + " ", wide[-1])] == [2, 2]


def test_ctrl_c_stops_and_the_same_command_goes_on(model: FakeModel, data: Path, tmp_path: Path) -> None:
    args = ("multidoc", "--data", data, "--documents", 3, "-p", "llm", "--out", tmp_path / "out", "--json")

    def interrupted(prompt: str) -> str:
        if "what colour is house 1" in prompt:
            raise KeyboardInterrupt
        return reply(prompt)

    model.reply = interrupted
    result = evaluate(*args, code=130)
    assert "the same command continues" in result.stderr
    assert json.loads(result.stdout)["patterns"][0]["examples"] == 3
    assert all(not context.live for context in model.contexts)
    model.reply, before = reply, len(model.contexts)
    result = evaluate(*args, code=0)
    assert json.loads(result.stdout)["patterns"][0]["examples"] == 6
    assert len(model.contexts) - before == 4  # only what was missing, and the check before


def test_every_asking_frees_its_cache(model: FakeModel, data: Path) -> None:
    evaluate("multidoc", "--data", data, "--documents", 2, "-p", "llm,wim:bm25")
    assert len(model.contexts) == 10  # two of them to see that each pattern can be asked
    assert all(context.closed for context in model.contexts)


def test_examples_that_do_not_fit_are_said(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeModel(reply, n_ctx_train=300)
    give(monkeypatch, fake)
    result = evaluate("kv", "--documents", 20, "--limit", 2, "--positions", 0, "-p", "llm", "--json", code=0)
    (found,) = json.loads(result.stdout)["patterns"]
    assert (found["n"], found["accuracy"]) == (2, 0)
    assert [error["id"] for error in found["errors"]] == ["kv-0@0", "kv-1@0"]
    assert "llm: 2 failed and count as wrong" in result.stderr


def test_report(model: FakeModel, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    evaluate("multidoc", "--data", data, "-p", "llm,oracle", "--out", tmp_path / "out", "--report", code=0)
    assert {"report.html", "by_position.png", "cost.png"} <= {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["multidocs"], "multidocs is no task"),
        (["multidoc", "--data", "/no/such.json"], "No such file"),
        (["multidoc", "--data", "DATA", "--positions", "0,x"], "not a list of whole numbers"),
        (["multidoc", "--data", "DATA", "--documents", "0"], "0 is less than 1"),
        (["multidoc", "--data", "DATA", "--report"], "--report needs a folder"),
        (["multidoc", "--data", "DATA", "--segment-tokens", "1"], "segment_tokens is 1"),
        (["cwe", "-p", "oracle", "--limit", "1"], "no gold document"),
        (["recal"], "recall"),
        (["recall", "--positions", "3"], "recall takes no --positions"),
        (["recall", "--pattern", "llm", "--length", "5"], "recall takes no --length, --pattern"),
        (["multidoc", "--retriever", "bm25"], "multidoc takes no --retriever"),
    ],
)
def test_errors(model: FakeModel, data: Path, args: list[str], message: str) -> None:
    result = evaluate(*(data if arg == "DATA" else arg for arg in args), code=2)
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


def test_ctrl_c_before_the_folder_is_known_writes_nothing(
    model: FakeModel, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    options = ("multidoc", "--data", data, "--documents", 3, "--pattern", "llm")
    assert evaluate(*options, "--out", out).exit_code == 0
    before = (out / "summary.json").read_bytes()
    monkeypatch.setattr("wim_edge.evaluation.runner._check", Mock(side_effect=KeyboardInterrupt))
    for folder in (out, tmp_path / "new"):
        assert evaluate(*options, "--seed", 9, "--out", folder).exit_code == 130
    assert (out / "summary.json").read_bytes() == before
    assert not (tmp_path / "new").exists()


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
    result = run(*asked, code=0)
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
    result = run("batch", str(tmp_path / "q.jsonl"), "--out", str(tmp_path / "out"), code=1)
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
    result = run("batch", *arguments, code=2)
    assert says in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()
