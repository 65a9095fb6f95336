"""The tasks of "Lost in the Middle": what answers moves, and nothing else does; what is retrieved, and its recall."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.evaluation.stub import build, multidoc_row, write
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.tasks import TASKS
from wim_edge.evaluation.tasks.middle import generate_kv


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


def test_kv_places_the_wanted_pair(tmp_path: Path) -> None:
    pairs = [[f"k{n}", f"v{n}"] for n in range(8)]
    row = {"ordered_kv_records": pairs, "key": "k3", "value": "v3"}
    data = write(tmp_path / "kv.jsonl.gz", [row], lines=True)
    for example in build("kv", data=data, positions=(0, 5, 7)):
        (document,) = example.documents
        assert document.name == "data.json"
        records = list(json.loads(document.text).items())
        assert records[example.x or 0] == ("k3", "v3")
        assert sorted(map(list, records)) == pairs
        assert example.gold == (0,)
        assert document.text[slice(*example.gold_chars)] == '"k3": "v3"'
        assert (example.question, example.answers) == ('What is the value of the key "k3"?', ("v3",))
    fewer = build("kv", data=data, documents=(4,))
    assert [example.x for example in fewer] == [0, 1, 3]
    assert {len(json.loads(example.documents[0].text)) for example in fewer} == {4}
    with pytest.raises(InvalidRequestError, match="less than 9 pairs"):
        build("kv", data=data, documents=(9,))
    with pytest.raises(InvalidRequestError, match="not among the records"):
        build("kv", data=write(tmp_path / "bad.json", [{**row, "key": "k99"}]))


def test_kv_generates_unique_uuids_whatever_the_limit() -> None:
    found = build("kv", documents=(140,), limit=2, positions=(3,))
    assert [example.documents for example in build("kv", documents=(140,), limit=1, positions=(3,))] == [
        found[0].documents
    ]
    records = json.loads(found[0].documents[0].text)
    assert len({*records, *records.values()}) == 280
    assert {uuid.UUID(key).version for key in records} == {4}
    assert generate_kv(3, 1, 0) != generate_kv(3, 1, 1)
    assert len(build("kv")) == 150


def test_reader_retrieves_and_reports_recall(tmp_path: Path) -> None:
    library = [{"title": f"Page {n}", "text": f"filler{n} words here and there"} for n in range(20)]
    library += [{"title": "Zebra", "text": "zebra stripes"}, {"title": "Zebra", "text": "zebra zebra zebra grass"},
                {"title": "Okapi", "text": "the okapi resembles something with stripes in the forest"}]  # fmt: skip
    queries = [
        {"question": "zebra okapi grass", "titles": ["Zebra", "Okapi"], "answers": ["stripes"]},
        {"question": "what has stripes", "titles": ["Page 3"]},
    ]
    found = build("reader", data=write(tmp_path / "q.jsonl", queries, lines=True),
                  library=write(tmp_path / "l.jsonl", library, lines=True), documents=(1, 3))  # fmt: skip
    one, three, none, _ = found
    assert [example.x for example in found] == [1, 3, 1, 3]
    assert [document.text for document in one.documents] == ["zebra zebra zebra grass"]
    assert (one.gold, one.facts["recall"]) == ((0,), 0.5)
    assert three.documents[0].name == "Zebra"
    assert {d.name for d in three.documents} == {"Zebra", "Zebra (2)", "Okapi"}
    assert (three.gold, three.facts["recall"]) == ((0, 1, 2), 1.0)
    assert (none.answers, none.gold, none.facts["recall"]) == ((), (), 0.0)
    with pytest.raises(InvalidRequestError, match="library of 23 passages"):
        build("reader", data=tmp_path / "q.jsonl", library=tmp_path / "l.jsonl", documents=(24,))
