"""One of several documents answers: it moves, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.stub import build, multidoc_row, write
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.tasks import TASKS


def test_multidoc_moves_gold_and_nothing_else(tmp_path: Path) -> None:
    data = write(tmp_path / "d.jsonl", [multidoc_row(1, 29)], lines=True)
    found = build("multidoc", data=data, documents=(6,), positions=(0, 2, 5))
    assert [example.x for example in found] == [0, 2, 5]
    others = []
    for example in found:
        assert example.gold == (example.x,)
        texts = [document.text for document in example.documents]
        assert texts.pop(example.x or 0) == "It is colour1 all over."
        others.append(texts)
    assert others[0] == others[1] == others[2]
    best = [f"Nothing 1 {n}." for n in range(5)]
    assert others[0] == best  # the most relevant ones, in their order
    at_random = [build("multidoc", data=data, documents=(6,), seed=seed, order="random")[0] for seed in range(5)]
    orders = {tuple(document.text for document in example.documents) for example in at_random}
    assert len(orders) > 1
    assert at_random[0] == build("multidoc", data=data, documents=(6,), order="random")[0]
    assert {frozenset(order) for order in orders} == {frozenset(d.text for d in found[0].documents)}
    for example in (found[0], at_random[0]):
        prompt = TASKS["multidoc"].source_prompt(example)
        assert ("ordered randomly" in prompt) == (example.facts["order"] == "random")


def test_multidoc_defaults_and_rows_with_few_distractors(tmp_path: Path) -> None:
    data = write(tmp_path / "d.jsonl", [multidoc_row(0), multidoc_row(1, 4)], lines=True)
    found = build("multidoc", data=data, limit=1)
    assert [example.x for example in found] == [0, 4, 9]
    last = found[-1]
    assert (len(last.documents), last.gold) == (10, (9,))
    assert last.facts == {"documents": 10, "position": 9, "order": "relevance"}
    with pytest.raises(InvalidRequestError, match=r"1 of 2 rows of d\.jsonl have fewer than 10 documents"):
        build("multidoc", data=data)
    assert len(build("multidoc", data=data, documents=(5,))) == 6
