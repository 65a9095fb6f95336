"""What is recalled, scored, and the libraries of other sizes that it is recalled from."""

from __future__ import annotations

import pytest

from tests.recall.conftest import DOCUMENTS
from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import Query
from wim_edge.evaluation.recall import AblatedMindRef, WholeMindRef, of_size, parse_retrievers, scores
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
