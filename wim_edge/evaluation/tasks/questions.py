"""Loads question-answering data sets, each in its public format or in one common format.

In the common format, a row has ``question``, ``answers`` (or ``answer``) and ``paragraphs`` of ``title`` and ``text``.
A paragraph's ``supporting``, or the row's ``supporting_titles``, marks the gold paragraphs. Questions without a gold
passage (unanswerable ones of SQuAD and MuSiQue, null queries of MultiHop-RAG) are left out: they test abstention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wim_edge.documents import deduplicate
from wim_edge.documents.data_files import Row, parse_rows, text_of
from wim_edge.evaluation.example import Passage, answers_of, flag_of

COMMON = "{question, answers, paragraphs: [{title, text, supporting}]}"


@dataclass(frozen=True)
class QAExample:
    """A question, its right answers, and its passages."""

    id: str
    question: str
    answers: tuple[str, ...]
    passages: tuple[Passage, ...]

    def __post_init__(self) -> None:
        text_of(self.question)


def load_multidoc(path: Path) -> list[QAExample]:
    """Returns questions of NaturalQuestions. A row is that of "Lost in the Middle" (``ctxs``, one of them ``isgold``),
    or {question, answers, gold, distractors}. The gold passage comes first; the other passages keep their order."""
    return _load(path, _multidoc, "{question, answers, ctxs: [{title, text, isgold}]}")


def load_hotpotqa(path: Path) -> list[QAExample]:
    """Returns the questions of HotpotQA (Yang et al. 2018)."""
    return _load(path, _hotpotqa, "{question, answer, context: [[title, [sentences]]], supporting_facts}")


def load_musique(path: Path) -> list[QAExample]:
    """Returns the answerable questions of MuSiQue (Trivedi et al. 2022)."""
    layout = "{question, answer, answer_aliases, paragraphs: [{title, paragraph_text, is_supporting}], answerable}"
    return _load(path, _musique, layout)


def load_squad(path: Path) -> list[QAExample]:
    """Returns the answerable questions of SQuAD 1.1 or 2.0 (Rajpurkar et al. 2016), each with its paragraph."""
    return _load(path, _squad, "{data: [{title, paragraphs: [{context, qas: [{question, answers: [{text}]}]}]}]}")


def load_multihoprag(path: Path, library: Path | None) -> tuple[list[QAExample], list[Passage]]:
    """Returns the questions of MultiHop-RAG (Tang and Yang 2024), and the passages of ``library`` (corpus.json).

    The gold passages of a question are the whole articles that its evidence names. Without a library, or for an article
    that is not in the library, the gold passage is the fact that the evidence quotes.
    """
    articles = load_passages(library) if library else []
    by_title = {article.title: article.text for article in articles}

    def parse(row: Row, number: int) -> Iterator[QAExample]:
        if "evidence_list" not in row:
            yield from _common(row, number)
            return
        texts = {(e["title"], by_title.get(e["title"], e["fact"])): None for e in row["evidence_list"]}
        passages = tuple(Passage(title, text, gold=True) for title, text in texts)
        yield QAExample(str(number), row["query"], answers_of(row["answer"]), passages)

    return _load(path, parse, "{query, answer, evidence_list: [{title, fact}]}"), articles


def load_passages(path: Path) -> list[Passage]:
    """Returns the passages in a file with rows of {title, text} or {title, body}. Leaves out blank passages."""

    def parse(row: Row, _number: int) -> Iterator[Passage]:
        passage = Passage(row["title"], row["text"] if "text" in row else row["body"])
        if passage.text.strip():
            yield passage

    return parse_rows(path, parse, "{title, text} or {title, body}")


def _load(path: Path, parse: Callable[[Row, int], Iterable[QAExample]], layout: str) -> list[QAExample]:
    found = parse_rows(path, lambda row, number: filter(_usable, parse(row, number)), f"{layout} or {COMMON}")
    ids = deduplicate(question.id for question in found)
    return [
        QAExample(i, q.question.strip(), q.answers, tuple(p for p in q.passages if p.text.strip()))
        for i, q in zip(ids, found, strict=True)
    ]


def _usable(question: QAExample) -> bool:
    return bool(question.question.strip()) and any(p.gold and p.text.strip() for p in question.passages)


def _multidoc(row: Row, number: int) -> Iterator[QAExample]:
    if "ctxs" in row:
        passages = [Passage(c["title"], c["text"], flag_of(c["isgold"])) for c in row["ctxs"]]
    else:
        passages = [Passage(row["gold"]["title"], row["gold"]["text"], True)]
        passages += [Passage(d["title"], d["text"]) for d in row["distractors"]]
    passages.sort(key=lambda passage: not passage.gold)
    if sum(passage.gold for passage in passages) > 1:
        raise ValueError("more than one passage is gold")
    yield QAExample(_id(row, number), row["question"], answers_of(row["answers"]), tuple(passages))


def _hotpotqa(row: Row, number: int) -> Iterator[QAExample]:
    if "context" not in row:
        yield from _common(row, number)
        return
    supporting = {title for title, _sentence in row["supporting_facts"]}
    passages = tuple(Passage(title, "".join(sentences), title in supporting) for title, sentences in row["context"])
    yield QAExample(_id(row, number), row["question"], answers_of(row["answer"]), passages)


def _musique(row: Row, number: int) -> Iterator[QAExample]:
    if "answer_aliases" not in row:
        yield from _common(row, number)
    elif row.get("answerable", True):
        answers = answers_of([row["answer"], *row["answer_aliases"]])
        passages = tuple(
            Passage(p["title"], p["paragraph_text"], flag_of(p["is_supporting"])) for p in row["paragraphs"]
        )
        yield QAExample(_id(row, number), row["question"], answers, passages)


def _squad(row: Row, number: int) -> Iterator[QAExample]:
    if "question" in row:
        yield from _common(row, number)
        return
    for paragraph in row["paragraphs"]:
        passages = (Passage(row["title"].replace("_", " "), paragraph["context"], gold=True),)
        for qa in paragraph["qas"]:
            answers = tuple(dict.fromkeys(answers_of([answer["text"] for answer in qa["answers"]])))
            if answers and not qa.get("is_impossible"):
                yield QAExample(_id(qa, number), qa["question"], answers, passages)


def _common(row: Row, number: int) -> Iterator[QAExample]:
    supporting = set(row.get("supporting_titles", ()))
    passages = tuple(
        Passage(p["title"], p["text"], flag_of(p.get("supporting", p["title"] in supporting)))
        for p in row["paragraphs"]
    )
    answers = answers_of(row["answers"] if "answers" in row else row["answer"])
    yield QAExample(_id(row, number), row["question"], answers, passages)


def _id(row: Row, number: int) -> str:
    return str(row.get("id", row.get("_id", number)))
