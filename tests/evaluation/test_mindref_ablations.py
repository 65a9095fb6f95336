"""Recall with a part of it left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recall.conftest import DOCUMENTS
from wim_edge.documents import Document
from wim_edge.evaluation.mindref_ablations import AblatedMindRef, WholeMindRef
from wim_edge.library.library import Library
from wim_edge.reading.prompts import Prompts
from wim_edge.recall.index import TokenIndex, load_or_build_index
from wim_edge.recall.mindref import PASSAGE, MindRef
from wim_edge.recall.suffix_array import LONGEST
from wim_edge.settings import Settings
from wim_edge.testing import FakeModel

PROMPTS = Prompts(Settings.templates, chat=True)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenIndex:
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path))
    made = Library("port", create=True)
    made.put("rows", 0, 0, [(title, Document(title, text)) for title, text in DOCUMENTS])
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
