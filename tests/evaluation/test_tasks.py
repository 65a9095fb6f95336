"""The examples of each task: where gold stands, what stands around it, how long it is."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.stub import multidoc_row, words, write
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import Example, Passage
from wim_edge.evaluation.reply import Reply
from wim_edge.evaluation.tasks import TASKS, TaskOptions, task_named
from wim_edge.evaluation.tasks.cwe import made_up_words
from wim_edge.evaluation.tasks.kv import generate_kv


def build(task: str, **options: Any) -> list[Example]:
    return TASKS[task].examples(TaskOptions(**options), words)


def test_ids_and_names_are_unique_and_the_registry_names_its_tasks(tmp_path: Path) -> None:
    assert {name: task.name for name, task in TASKS.items()} == {name: name for name in TASKS}
    data = write(tmp_path / "d.jsonl", [multidoc_row(n) for n in range(3)], lines=True)
    found = build("multidoc", data=data)
    assert len({example.id for example in found}) == len(found) == 9
    assert {example.group for example in found} == {"q0", "q1", "q2"}
    for example in found:
        assert len({document.name for document in example.documents}) == 10


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


@pytest.mark.parametrize("task", ["multidoc", "kv"])
def test_a_position_outside_is_an_error(tmp_path: Path, task: str) -> None:
    data = write(tmp_path / "d.jsonl", [multidoc_row(0)], lines=True) if task == "multidoc" else None
    with pytest.raises(InvalidRequestError, match="position 10 among 10") as caught:
        build(task, data=data, documents=(10,), positions=(0, 10))
    assert "0 to 9" in caught.value.hint
    with pytest.raises(InvalidRequestError, match="several numbers for --documents"):
        build(task, data=data, documents=(10, 20))


def test_options_that_a_task_does_not_take_or_misses(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="multidoc needs --data"):
        build("multidoc")
    with pytest.raises(InvalidRequestError, match="cwe takes no --positions") as caught:
        build("cwe", positions=(1,))
    assert "--length" in caught.value.hint
    with pytest.raises(InvalidRequestError, match="hotpot is no task") as caught:
        task_named("hotpot")
    assert "hotpotqa" in caught.value.hint


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


@pytest.mark.parametrize(("length", "frequencies"), [(3000, (30, 3)), (320, (6, 1)), (100, (3, 1))])
def test_cwe_counts(length: int, frequencies: tuple[int, int]) -> None:
    example, other = build("cwe", length=(length,), limit=2)
    text = example.documents[0].text
    assert length - 2 * 3 * frequencies[1] < words(text) == example.facts["tokens"] <= length
    numbers, listed = text.split()[::2], text.split()[1::2]
    assert numbers == [f"{n}." for n in range(1, len(listed) + 1)]
    counts = Counter(listed)
    assert [count for _, count in counts.most_common(10)] == [frequencies[0]] * 10
    assert {word for word, _ in counts.most_common(10)} == set(example.answers)
    assert set(counts.values()) == set(frequencies)
    assert len(counts) == 10 + example.facts["other_words"] >= 20
    assert not set(listed[: 10 * frequencies[0]]) <= set(example.answers)  # shuffled
    assert not set(example.answers) & set(other.answers)
    task = TASKS["cwe"]
    assert task.score(example, Reply(text=", ".join(example.answers), pattern="llm")) == {"accuracy": 1.0, "f1": 1.0}
    half = task.score(example, Reply(text=" ".join(example.answers[:5]), pattern="llm"))
    assert half == {"accuracy": 0.5, "f1": pytest.approx(2 * 5 / 15)}


def test_cwe_too_short_and_words_one_can_say() -> None:
    with pytest.raises(InvalidRequestError, match="fits 60 tokens"):
        build("cwe", length=(60,))
    made = made_up_words(random.Random(1))
    found = [next(made) for _ in range(3000)]
    assert len(set(found)) == 3000
    assert all(len(word) in (4, 6) and set(word[1::2]) <= set("aeiou") for word in found)


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


def test_multihoprag_fills_with_its_library(tmp_path: Path) -> None:
    row = {"query": "Which?", "answer": "Yes", "evidence_list": [{"title": "X", "fact": "x"}]}
    library = [{"title": name, "body": f"{name} " * 9} for name in "XYZ"]
    (example,) = build("multihoprag", data=write(tmp_path / "d.json", [row]),
                       library=write(tmp_path / "l.json", library), length=(25,))  # fmt: skip
    names = {document.name for document in example.documents}
    assert "X" in names
    assert len(names) == 2
    assert Passage("X", "X " * 9).text == example.documents[example.gold[0]].text
