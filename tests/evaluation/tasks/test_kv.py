"""Keys and values: the wanted pair stands where it is to, and generated ones are unique."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from tests.evaluation.stub import build, write
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.tasks.kv import generate_kv


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
        assert example.gold_chars is not None
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
