"""Passages are retrieved from a library, and what of the gold was found is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.stub import build, write
from wim_edge.errors import InvalidRequestError


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
