"""The public format and the common form of each question-answering set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.stub import write
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import Passage
from wim_edge.evaluation.tasks import questions as q

PARAGRAPHS = ("Ann", "Ann is here. So she is.", True), ("Bob", "Bob is not.", False), ("Cid", "Cid too.", True)
HOTPOT = {
    "_id": "h1", "question": "Who?", "answer": "Ann",
    "context": [["Ann", ["Ann is here.", " So she is."]], ["Bob", ["Bob is not."]], ["Cid", ["Cid too."]]],
    "supporting_facts": [["Ann", 0], ["Ann", 1], ["Cid", 0]],
}  # fmt: skip
MUSIQUE = {
    "id": "m1", "question": "Who?", "answer": "Ann", "answer_aliases": ["Annie"], "answerable": True,
    "paragraphs": [{"title": name, "paragraph_text": text, "is_supporting": is_so} for name, text, is_so in PARAGRAPHS],
}  # fmt: skip
COMMON = {
    "id": "c1", "question": "Who?", "answers": ["Ann"],
    "paragraphs": [{"title": name, "text": text, "supporting": is_so} for name, text, is_so in PARAGRAPHS],
}  # fmt: skip
TITLED: dict[str, Any] = {
    **COMMON, "answers": ["Ann"], "supporting_titles": ["Ann", "Cid"],
    "paragraphs": [{"title": p["title"], "text": p["text"]} for p in COMMON["paragraphs"]],  # type: ignore[index, attr-defined]
}  # fmt: skip
PASSAGES = tuple(Passage(*one) for one in PARAGRAPHS)


@pytest.mark.parametrize(
    ("load", "row", "answers"),
    [
        (q.load_hotpotqa, HOTPOT, ("Ann",)),
        (q.load_hotpotqa, TITLED, ("Ann",)),
        (q.load_musique, MUSIQUE, ("Ann", "Annie")),
        (q.load_musique, COMMON, ("Ann",)),
        (q.load_squad, COMMON, ("Ann",)),
    ],
)
def test_public_and_common_form_say_the_same(tmp_path: Path, load: Any, row: Any, answers: tuple[str, ...]) -> None:
    (found,) = load(write(tmp_path / "data.json", [row]))
    assert (found.question, found.answers, found.passages) == ("Who?", answers, PASSAGES)
    assert found.id == row.get("id", row.get("_id"))


def test_multidoc_in_both_forms(tmp_path: Path) -> None:
    ctxs = [{"title": "B", "text": "b", "isgold": False}, {"title": "G", "text": "g", "isgold": True},
            {"title": "C", "text": "c", "isgold": False}]  # fmt: skip
    public = {"question": "Who?", "answers": ["g"], "ctxs": ctxs}
    ours = {"id": "n", "question": "Who?", "answers": ["g"], "gold": {"title": "G", "text": "g"},
            "distractors": [{"title": "B", "text": "b"}, {"title": "C", "text": "c"}]}  # fmt: skip
    first, second = q.load_multidoc(write(tmp_path / "d.jsonl.gz", [public, ours], lines=True))
    assert first.passages == second.passages == (Passage("G", "g", True), Passage("B", "b"), Passage("C", "c"))
    assert (first.id, second.id) == ("0", "n")


def test_squad(tmp_path: Path) -> None:
    qas = [
        {"id": "s1", "question": "Who?", "answers": [{"text": "Ann"}, {"text": "Ann"}, {"text": "Anne"}]},
        {"id": "s2", "question": "Whom?", "answers": [], "is_impossible": True},
    ]
    data = {"version": "2.0", "data": [{"title": "Ann_B", "paragraphs": [{"context": "Ann is.", "qas": qas}]}]}
    (found,) = q.load_squad(write(tmp_path / "squad.json", data))
    assert (found.id, found.answers) == ("s1", ("Ann", "Anne"))
    assert found.passages == (Passage("Ann B", "Ann is.", True),)


def test_multihoprag_with_and_without_a_library(tmp_path: Path) -> None:
    evidence = [{"title": "X", "fact": "x says", "url": "u"}, {"title": "Y", "fact": "y says"},
                {"title": "X", "fact": "x says more"}]  # fmt: skip
    data = write(tmp_path / "MultiHopRAG.json", [
        {"query": "Which?", "answer": "Yes", "question_type": "comparison_query", "evidence_list": evidence},
        {"query": "None?", "answer": "Insufficient information.", "evidence_list": []},
    ])  # fmt: skip
    library = write(tmp_path / "corpus.json", [{"title": "X", "body": "x says. x says more."},
                                               {"title": "Z", "body": "z"}, {"title": "W", "body": " "}])  # fmt: skip
    (found,), articles = q.load_multihoprag(data, None)
    assert articles == []
    assert [p.text for p in found.passages] == ["x says", "y says", "x says more"]
    assert all(p.gold for p in found.passages)
    (found,), articles = q.load_multihoprag(data, library)
    assert [p.title for p in articles] == ["X", "Z"]
    assert [p.text for p in found.passages] == ["x says. x says more.", "y says"]  # Y is not in the library


def test_unanswerable_questions_and_blank_paragraphs_are_left_out(tmp_path: Path) -> None:
    blank = {**MUSIQUE, "paragraphs": [*MUSIQUE["paragraphs"],  # type: ignore[misc]
                                       {"title": "D", "paragraph_text": " ", "is_supporting": False}]}  # fmt: skip
    rows = [{**MUSIQUE, "answerable": False}, blank, MUSIQUE]
    found = q.load_musique(write(tmp_path / "m.jsonl", rows, lines=True))
    assert [one.id for one in found] == ["m1", "m1 (2)"]
    assert found[0].passages == PASSAGES


@pytest.mark.parametrize(
    "row",
    [
        {"question": "Who?"}, {"query": 1}, {**HOTPOT, "context": [["Ann"]]}, {**HOTPOT, "question": 3},
        {**HOTPOT, "answer": None}, {**HOTPOT, "answer": " "}, {**COMMON, "answers": ["Ann", ""]},
        {**HOTPOT, "answer": {"a": 1}}, {**COMMON, "answers": [True]},
        {**HOTPOT, "context": [["Ann", [3]]]}, {**HOTPOT, "context": [[3, ["x"]]]},
        {**COMMON, "paragraphs": [{"title": "Ann", "text": "Ann.", "supporting": "false"}]},
        {**COMMON, "paragraphs": [{"title": "Ann", "text": 3, "supporting": True}]},
    ],
)  # fmt: skip
def test_another_format_is_an_error_that_shows_the_right_one(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match=r"h\.json, row 2") as caught:
        q.load_hotpotqa(write(tmp_path / "h.json", [HOTPOT, row]))
    assert "supporting_facts" in caught.value.hint


def test_one_passage_alone_is_gold(tmp_path: Path) -> None:
    row = {"question": "Who?", "answers": ["Ann"], "ctxs": [{"title": "T", "text": "Ann.", "isgold": True}] * 2}
    with pytest.raises(InvalidRequestError, match=r"m\.json, row 1"):
        q.load_multidoc(write(tmp_path / "m.json", [row]))
