"""Whether what the adapter is trained on is true: answers are runs of their passages, what is absent is absent."""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
ARTICLE = [
    ("Rouen lies on the Seine. Rollo became its ruler in 911. His son was William Longsword.", [
        ("On which river does Rouen lie?", ["the Seine", "Seine", "Seine"]), ("When did Rollo rule?", ["911"]),
        ("Who was Rollo's daughter?", []),
    ]),
    ("The abbey was founded by Herluin. It stood near a brook that was called Bec.", [
        ("Who founded the abbey?", ["Herluin"]), ("What was the brook called?", ["Bec"]),
        ("Who destroyed the abbey?", []),
    ]),
]  # fmt: skip


NATURAL = [
    ("The Marsh Tower", "who drew the plans of the marsh tower", "Anna Marsh"),
    ("Lake Orle", "how deep is lake orle", "212 metres"),
    ("The Tin Whistle", "who sings the tin whistle", "Nora Vey"),
    ("Port Quint", "when was port quint founded", "1702"),
    ("Reported", "what is only reported", "nothing"),
    ("Reported too", "what is reported as well", "nothing"),
]
"""Title, question and answer; the first third is there to choose on."""


def _natural(title: str, question: str, answer: str) -> dict[str, Any]:
    others = [{"title": f"Another {n}", "text": f"Another page, number {n}, says little of it. " * 3} for n in range(3)]
    text = f"{title} is known to all. For those who ask it is {answer}. More is said elsewhere."
    return {"question": question, "answers": [answer], "gold": {"title": title, "text": text}, "distractors": others}


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder as the training reads it, with a few rows a file."""
    squad = [
        {"text": text, "question": question, "answers": answers, "unanswerable": not answers,
         "source": f"squad2/{name}"}
        for name in ("Rouen", "Bec_Abbey")
        for text, asked in ARTICLE * 6
        for question, answers in asked
    ]  # fmt: skip
    policies = [
        {"text": f"We keep your {kind} for {n} days. {'Nothing else is kept. ' * 4}", "question": question,
         "answers": [f"{n} days"], "unanswerable": False, "source": f"policyqa/{kind}.example"}
        for n, (kind, question) in enumerate([("address", "How long is my address stored?"),
                                              ("photograph", "Until when do pictures remain with you?")], 20)
    ]  # fmt: skip
    pages = [
        {"title": f"The {name} Tower", "text": f"The {name} Tower is a lighthouse near the coast. It was designed by "
         f"Anna {name} and opened in {year}. It is located in Port {name}, and nobody lives in it any more."}
        for name, year in (("Ellis", 1901), ("Marsh", 1877), ("Quint", 1950))
    ]  # fmt: skip
    files = {
        "training/squad2": squad, "training/policyqa": policies, "wiki_passages": pages,
        "recall_queries_dev": [{"question": "?", "titles": ["The Quint Tower"], "answers": []}],
        "nq_multidoc_dev": [_natural(*row) for row in NATURAL],
    }  # fmt: skip
    table = "| Tower | Height |\n| --- | --- |\n| Ellis | 31 m |\n| Marsh | 44 m |\n"
    for name in ("tatqa", "wtq", "altqa", "leval_nq", "xquad_en", "xquad_de", "xquad_es", "xquad_zh", "xquad_ar"):
        files[f"outside/{name}/documents"] = [
            {"id": key, "title": f"The towers {key}", "text": f"Towers by the sea.\n\n{table}"} for key in "ab"
        ]
        files[f"outside/{name}/questions"] = [
            {"id": f"{key}{tower}", "document": key, "question": f"How high is the {tower} tower of {key}?",
             "answers": [height], "unanswerable": False}
            for key in "ab" for tower, height in (("Ellis", "31 m"), ("Marsh", "44 m"))
        ]  # fmt: skip
    for name, rows in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def _made(make: Callable[[random.Random], Any], n: int = 150) -> list[Any]:
    return [make(random.Random(f"passage {number}")) for number in range(n)]


def _check(passages: list[Any]) -> None:
    """Spans stand in their passages, nothing of a file's notation is left, and both kinds of question are asked."""
    from adapter.passages import MAX_QUESTIONS, NONE

    kinds: Counter[str] = Counter()
    for passage in passages:
        assert 1 <= len(passage.questions) <= MAX_QUESTIONS
        assert not re.search(r"\{\w|\w\}| \|\| | :: ", passage.text) or passage.source == "records", passage.text
        for question in passage.questions:
            kinds["span" if question.is_span else question.target] += 1
            assert question.text.strip()
            assert not re.search(r"\{\w|\w\}| \| ", question.text), question
            assert not question.is_span or question.target in passage.text, question
            assert question.target.strip() == question.target != ""
        answers = {one.text.lower().rstrip("? "): one.target for one in passage.questions}
        assert len(answers) == len({(one.text.lower().rstrip("? "), one.target) for one in passage.questions})
    assert kinds["span"] > 0
    assert 0.2 < kinds[NONE] / sum(kinds.values()) < 0.6


@pytest.mark.parametrize(("kind", "module", "n"), [("written", "writing", 400), ("table", "tables", 300),
                                                 ("cast", "casts", 150), ("record", "records", 150)])  # fmt: skip
def test_passages_that_are_made_up(kind: str, module: str, n: int) -> None:
    _check(_made(getattr(import_module(f"adapter.{module}"), f"{kind}_passage"), n))


def test_a_table_that_goes_on_has_its_header_above() -> None:
    from adapter.tables import table_passage

    above = [passage.heading.splitlines()[-1] for passage in _made(table_passage, 300)]
    headers = [line for line in above if line.startswith("| ")]
    assert headers
    assert not any(re.search(r"\d|---", line) for line in headers)


def test_natural_questions(data: Path) -> None:
    """Only those that are there to choose on are asked; who is asked of another page's passage gets none."""
    from adapter import natural
    from adapter.passages import NONE

    rows = natural.rows(data)
    assert [row["question"] for row in rows] == [question for _, question, _ in NATURAL[:2]]
    assert [row["question"] for row in natural.rows(data, "report")] == [question for _, question, _ in NATURAL[2:]]
    passages = _made(lambda rng: natural.natural_passage(rng, rows))
    for passage in passages:
        for question in passage.questions:
            assert (question.target == NONE) == (question.target not in passage.text)


@pytest.mark.parametrize(
    ("question", "typed"),
    [("What is the parking space number?", "parking space number"), ("By when must the cellar be empty?",
     "cellar empty"), ("Who was mayor before Ada Quill?", "mayor before ada quill"), ("Why does the tower lean?", "")],
)
def test_questions_as_keywords(question: str, typed: str) -> None:
    from adapter.passages import keywords

    assert keywords(question) == typed


def test_every_kind_of_document_can_be_written() -> None:
    from adapter.writing import Writer, kinds

    assert {kind.language for kind in kinds()} == {"en", "de", "fr", "es", "it"}
    for kind in kinds():
        assert kind.absent
        for seed in range(5):
            writer = Writer(random.Random(seed), kind)
            for block in writer.blocks():
                answers = [question.target for question in block.questions if question.is_span]
                # A line in other words has its answer in other words too, and the question's other line is not asked
                assert not answers or any(answer in block.text for answer in answers), block


def test_what_is_absent_stands_in_no_line() -> None:
    """A question without an answer is none of the questions that the passage's lines answer."""
    from adapter.passages import NONE
    from adapter.writing import Writer, cut, kinds

    for number, kind in enumerate(kinds()):
        rng = random.Random(number)
        writer = Writer(rng, kind)
        blocks = writer.blocks()
        passage = cut(rng, "written", blocks, writer.absent, "")
        answered = {one.text.lower().rstrip("?. ") for block in blocks if block.text in passage.text
                    for one in block.questions}  # fmt: skip
        absent = {one.text.lower().rstrip("?. ") for one in passage.questions if one.target == NONE}
        assert not answered & absent


def test_segments_of_articles(data: Path) -> None:
    from adapter import squad
    from adapter.passages import NONE, contains

    articles = list(squad.articles(data / "training" / "squad2.jsonl.gz").values())
    passages = _made(lambda rng: squad.squad_passage(rng, articles))
    _check([passage for passage in passages if len(passage.questions) > 1])
    seen: dict[str, set[bool]] = {}
    for passage in passages:
        for question in passage.questions:
            seen.setdefault(question.text.lower().rstrip("? "), set()).add(question.is_span)
            if question.text == "Who founded the abbey?" and question.target == NONE:
                assert not contains(passage.text, "Herluin")
    assert seen["who destroyed the abbey"] == {False}
    assert True in seen["on which river does rouen lie"]


def test_rules_on_wikipedia(data: Path) -> None:
    from adapter import wiki

    found = wiki.pages(data)
    assert [page.title for page in found] == ["The Ellis Tower"]  # the others are what the evaluation asks for
    answers = {one.text: one.target for one in found[0].questions}
    assert answers["When was The Ellis Tower opened?"] == "1901"
    assert answers["Who designed The Ellis Tower?"] == "Anna Ellis"
    assert answers["What is The Ellis Tower?"] == "a lighthouse near the coast"
    assert answers["Where is The Ellis Tower located?"] == "Port Ellis"


@pytest.fixture
def mixtures(data: Path) -> Callable[..., Any]:
    from adapter import mixture

    more = {"policyqa": 20, "reports": 10, "lookups": 10, "pages": 10, "articles de": 10}
    shares = {name: share for name, share in {**mixture.SHARES, **more}.items() if name != "wiki"}  # it asks nothing
    return lambda seed, *hold_out: mixture.load(data, seed, list(hold_out), shares)


def test_the_mixture_is_a_function_of_the_seed(mixtures: Callable[..., Any]) -> None:
    first, again, other = (mixtures(seed) for seed in (1, 1, 2))
    assert [first.passage(n) for n in range(30)] == [again.passage(n) for n in range(30)]
    assert [first.passage(n) for n in range(30)] != [other.passage(n) for n in range(30)]
    seen = [first.passage(n) for n in range(400)]
    assert {one.source for one in seen} == first.shares.keys()
    texts = " ".join(question.text for one in seen for question in one.questions)
    assert "tower of a?" in texts
    assert "tower of b?" not in texts  # it is there to report on


def test_articles_are_held_out(mixtures: Callable[..., Any]) -> None:
    of_squad = [one for one in map(mixtures(1, "Rouen").passage, range(120)) if one.source == "squad2"]
    assert {one.heading for one in of_squad} == {"Document:\n", 'Document "Bec Abbey":\n'}
    with pytest.raises(SystemExit, match="no such article: Nowhere"):
        mixtures(1, "Nowhere")


def test_the_prompt_is_the_products() -> None:
    """What stands above a passage is what the templates write."""
    from adapter.passages import heading
    from wim_edge.reading.prompts import Prompts

    prompts = Prompts()
    assert heading() == prompts.document("name", several=False)
    assert heading("A title") == prompts.document("name", title="A title", several=False)
    text = (SCRIPTS / "adapter" / "tokenizer.py").read_text(encoding="utf-8")
    assert prompts.system(margins=False) in text
    assert "adapter.tokenizer" not in sys.modules  # it needs llama.cpp; the data does not
