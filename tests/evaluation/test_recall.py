"""What is recalled, scored, and the libraries of other sizes that it is recalled from; `wim-edge eval recall`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.cli.scripted import give, run
from tests.evaluation.stub import write
from tests.recall.conftest import DOCUMENTS, writes
from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import Query
from wim_edge.evaluation.recall import KNOWN, AblatedMindRef, WholeMindRef, of_size, parse_retrievers, scores
from wim_edge.library.library import Library
from wim_edge.reading.prompts import Prompts
from wim_edge.recall.index import LONGEST, TokenIndex, load_or_build_index
from wim_edge.recall.mindref import PASSAGE, MindRef
from wim_edge.settings import Settings
from wim_edge.testing import FakeModel


def test_figures() -> None:
    query = Query("q", (frozenset("AB"),), ("1904",))
    found = scores(["C", "B", "D", "A"], ["x", "built in 1904"], query)
    assert found == {"recall_at_1": 0.0, "recall_at_5": 1.0, "r_precision": 0.5, "answer_in_context": 1.0}
    assert scores(["A", "C", "D", "E", "F"], [], query)["recall_at_5"] == 0.0  # half of the evidence is none
    assert scores(["B", "A"], [], query)["recall_at_1"] == 1.0  # the pages of one set count as one entry
    either = Query("q", (frozenset("A"), frozenset("BC")), ())
    assert scores(["B", "C", "A"], [], either) == {"recall_at_1": 0.5, "recall_at_5": 1.0, "r_precision": 1.0}
    assert scores([], [], query) == {
        "recall_at_1": 0.0, "recall_at_5": 0.0, "r_precision": 0.0, "answer_in_context": 0.0,
    }  # fmt: skip
    assert "answer_in_context" not in scores(["A"], ["x"], Query("q", (frozenset("A"),), ()))
    assert scores(["A"], ["x"] * 5 + ["1904"], query)["answer_in_context"] == 0.0


def test_retrievers() -> None:
    assert parse_retrievers("bm25, recall:flat,bm25") == ["bm25", "recall:flat"]
    for text in ("", "bm25:flat", "x"):
        with pytest.raises(InvalidRequestError):
            parse_retrievers(text)


def test_libraries_of_other_sizes() -> None:
    passages = [(f"T{n}", Document(f"T{n}", f"One {n}. Two {n}. Three {n}.")) for n in range(50)]
    queries = [Query("q", (frozenset({"T7", "T9"}),), ())]
    small = of_size(passages, queries, 10, 0)
    assert len(small) == 10
    assert {"T7", "T9"} <= {title for title, _ in small}
    assert small == of_size(passages, queries, 10, 0)
    large = of_size(passages, queries, 80, 0)
    assert large[:50] == passages
    assert len(large) == 80
    assert len({title for title, _ in large}) > 60
    assert of_size(passages, queries, None, 0) == passages
    with pytest.raises(InvalidRequestError):
        of_size(passages, queries, 1, 0)


PROMPTS = Prompts(Settings.templates, chat=True)


@pytest.fixture
def index() -> TokenIndex:
    made = Library("port", create=True)
    made.put("rows", [(title, Document(title, text)) for title, text in DOCUMENTS])
    return load_or_build_index(made, FakeModel())


def test_passages_without_titles_are_of_all_documents_and_leave_no_sequence(index: TokenIndex) -> None:
    model = FakeModel()
    mindref = AblatedMindRef(model, PROMPTS, index)
    context = model.context(mindref.cells("Who?") + 500, n_sequences=mindref.n_sequences)
    found = mindref.find_without_titles(context, "Who?", 5)
    assert found
    assert all(0 <= one.document < len(DOCUMENTS) for one in found)
    assert mindref.decoded_tokens > 0
    assert len(context.live) == 1  # the examples'


def test_a_free_title_that_no_document_has_brings_none(index: TokenIndex) -> None:
    model = FakeModel(lambda prompt: "It is called that.")
    mindref = AblatedMindRef(model, PROMPTS, index)
    context = model.context(mindref.cells("Who?") + 500, n_sequences=mindref.n_sequences)
    title = mindref.write_free_title(context, "Who?")
    assert (len(title.tokens), title.documents) == (LONGEST - 1, ())
    assert mindref.decoded_tokens == len(title.tokens)


def test_whole_passages_take_more_room(index: TokenIndex) -> None:
    model = FakeModel()
    short, whole = MindRef(model, PROMPTS, index), WholeMindRef(model, PROMPTS, index)
    assert whole.positions("Who?") - short.positions("Who?") == PASSAGE - 16
    assert whole.cells("Who?") > short.cells("Who?")


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


evaluate = partial(run, "eval", "recall")


def test_every_retriever_and_variant(files: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = (*files, "--retriever", ",".join(KNOWN), "--out", str(out), "--json")
    result = evaluate(*options, code=0)
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
    evaluate(*files, "--retriever", "bm25,recall", "--out", str(tmp_path / "out"), "--report", code=0)
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
    result = evaluate(*files[2:], "--data", str(data), "--retriever", "hybrid", code=0)
    assert "the library lacks a gold title of 1 of 4 queries" in result.stderr
    assert "hybrid: 1 failed and count as wrong" in result.stderr
    assert "3: InvalidRequestError" in result.stderr


def test_a_folder_never_mixes_two_samples(files: tuple[str, ...], tmp_path: Path) -> None:
    options = (*files, "--retriever", "bm25", "--size", "40", "--out", str(tmp_path / "out"))
    assert evaluate(*options).exit_code == 0
    assert evaluate(*options).exit_code == 0
    assert "passages is" in evaluate(*options, code=2, WIM_EDGE_SEED="7").stderr
