"""Texts of a wanted length: a question's own paragraphs among those of other ones; BABILong's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.stub import build, words, write
from wim_edge.evaluation.example import Passage


def paragraphs(number: int, size: int) -> dict[str, Any]:
    texts = [" ".join([f"t{number}x{n}"] * (size - 1)) for n in range(6)]
    return {
        "id": f"q{number}", "question": f"which {number}", "answers": [f"t{number}x0"],
        "paragraphs": [{"title": f"T{number}-{n}", "text": text, "supporting": n < 2} for n, text in enumerate(texts)],
    }  # fmt: skip


def test_a_text_of_the_wanted_length(tmp_path: Path) -> None:
    data = write(tmp_path / "m.jsonl", [paragraphs(n, 10) for n in range(30)], lines=True)
    found = build("musique", data=data, length=(35, 100, 500), limit=4)
    assert [example.x for example in found] == [35, 100, 500] * 4
    for example in found:
        total = sum(words(f"{d.name}\n{d.text}") for d in example.documents)
        assert (example.x or 0) - 10 < total <= (example.x or 0)
        assert example.facts == {"tokens": total}
        number = example.group[1:]
        assert {example.documents[g].name for g in example.gold} == {f"T{number}-0", f"T{number}-1"}
    short, middle, long = ({d.name for d in example.documents} for example in found[:3])
    assert short < middle < long  # a longer text only adds
    assert {f"T0-{n}" for n in range(6)} < middle  # the question's own paragraphs before foreign ones
    assert found == build("musique", data=data, length=(35, 100, 500), limit=4)
    shuffled = {example.gold for example in found}
    assert len(shuffled) > 1


def test_supporting_paragraphs_are_never_dropped(tmp_path: Path) -> None:
    data = write(tmp_path / "m.jsonl", [paragraphs(n, 40) for n in range(3)], lines=True)
    found = build("musique", data=data, length=(50,))
    for example in found:
        assert len(example.documents) == 2
        assert len(example.gold) == 2
        assert example.facts == {"tokens": 80, "longer_than_asked": True}


def test_foreign_paragraphs_hold_no_answer_and_are_of_other_pages(tmp_path: Path) -> None:
    rows = [paragraphs(n, 10) for n in range(8)]
    rows[1]["paragraphs"][3]["text"] = "here is t0x0 too"
    rows[2]["paragraphs"][3]["title"] = "T0-1"
    first = build("musique", data=write(tmp_path / "m.json", rows), length=(5000,))[0]
    texts = [document.text for document in first.documents]
    assert "here is t0x0 too" not in texts
    assert rows[2]["paragraphs"][3]["text"] not in texts
    assert len(texts) == 8 * 6 - 2  # every other one, once


def test_squad_questions_come_in_random_order(tmp_path: Path) -> None:
    qas = [{"id": f"s{n}", "question": f"Who {n}?", "answers": [{"text": "ann"}]} for n in range(50)]
    data = {"data": [{"title": "T", "paragraphs": [{"context": "ann is", "qas": qas}]}]}
    path = write(tmp_path / "s.json", data)
    groups = [example.group for example in build("squad", data=path)]
    assert sorted(groups) == sorted(f"s{n}" for n in range(50)) != groups
    assert [example.group for example in build("squad", data=path, limit=5)] == groups[:5]


def test_multihoprag_fills_with_its_library(tmp_path: Path) -> None:
    row = {"query": "Which?", "answer": "Yes", "evidence_list": [{"title": "X", "fact": "x"}]}
    library = [{"title": name, "body": f"{name} " * 9} for name in "XYZ"]
    (example,) = build("multihoprag", data=write(tmp_path / "d.json", [row]),
                       library=write(tmp_path / "l.json", library), length=(25,))  # fmt: skip
    names = {document.name for document in example.documents}
    assert "X" in names
    assert len(names) == 2
    assert Passage("X", "X " * 9).text == example.documents[example.gold[0]].text


@pytest.mark.parametrize(
    "row",
    [
        {"context": "long", "query": "Where? ", "target": "garden"},
        {"input": "long", "question": "Where?", "target": "garden"},
        {"context": "long", "input": "Where?", "target": "garden"},
    ],
)
def test_babilong(tmp_path: Path, row: dict[str, str]) -> None:
    (example,) = build("babilong", data=write(tmp_path / "b.json", [row]))
    assert [d.text for d in example.documents] == ["long"]
    assert (example.question, example.answers, example.x, example.gold) == ("Where?", ("garden",), None, ())
