"""Makes sets of questions for docs/results.md, in the format of `wim-edge eval documents`.

    python scripts/make_questions.py squad dev-v2.0.json data/outside/squad2_dev Normans Huguenot
    python scripts/make_questions.py foreign data/outside/xquad_en own/foreign
    python scripts/make_questions.py nq data/nq_multidoc_dev.jsonl.gz own/nq

squad      whole articles of a file in SQuAD's or XQuAD's format: all, or those with the given titles or numbers
foreign    each question is asked of its document, and of the one half the set further on, which does not answer it
nq         each question is asked of ten passages, the fifth of which answers it, and of ten that do not answer it
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path

from wim_edge.evaluation.tasks.documents import DocumentQuestion, load_documents, load_questions
from wim_edge.evaluation.tasks.questions import load_multidoc

Row = dict[str, object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("squad", "foreign", "nq"))
    parser.add_argument("data", type=Path, help="a folder, or a file of SQuAD's")
    parser.add_argument("out", type=Path, help="the folder that is made")
    parser.add_argument("articles", nargs="*", help="titles, spaces as underscores, or numbers from 0")
    given = parser.parse_args()
    if given.what == "squad":
        documents, made = squad(given.data, given.articles)
    elif given.what == "nq":
        documents, made = without_gold(given.data)
    else:
        texts, questions = load_documents(given.data), load_questions(given.data)
        documents = [{"id": key, "title": one.title, "text": one.text} for key, one in texts.items()]
        made = foreign(list(texts), questions)
    given.out.mkdir(parents=True, exist_ok=True)
    write(given.out, "documents", documents)
    write(given.out, "questions", made)
    print(f"{given.out}: {len(documents)} documents, {len(made)} questions")


def squad(file: Path, wanted: list[str]) -> tuple[list[Row], list[Row]]:
    """Returns (documents, questions): the wanted articles, with paragraphs joined by blank lines."""
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    keys = [article["title"].replace(" ", "_") for article in articles]
    if unknown := set(wanted) - {*keys, *map(str, range(len(keys)))}:
        raise SystemExit(f"no article {', '.join(sorted(unknown))} in {file}; there are {', '.join(keys)}")
    documents: list[Row] = []
    questions: list[Row] = []
    for number, (key, article) in enumerate(zip(keys, articles, strict=True)):
        if wanted and key not in wanted and str(number) not in wanted:
            continue
        text = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
        documents.append({"id": f"{key}-{number}", "title": key.replace("_", " "), "text": text})
        for one in (one for paragraph in article["paragraphs"] for one in paragraph["qas"]):
            answers = list(dict.fromkeys(answer["text"] for answer in one["answers"]))
            questions.append(_row(one["id"], f"{key}-{number}", one["question"], answers))
    return documents, questions


def foreign(documents: list[str], questions: list[DocumentQuestion]) -> list[Row]:
    other = {key: documents[(at + len(documents) // 2) % len(documents)] for at, key in enumerate(documents)}
    made: list[Row] = []
    for one in questions:
        made.append(_row(one.id, one.document, one.question, one.answers))
        made.append(_row(f"{one.id}-absent", other[one.document], one.question))
    return made


def without_gold(file: Path) -> tuple[list[Row], list[Row]]:
    documents: list[Row] = []
    questions: list[Row] = []
    for one in load_multidoc(file):
        gold, *others = one.passages
        for key, passages in ((one.id, [*others[:4], gold, *others[4:9]]), (f"{one.id}-absent", others[:10])):
            text = "\n\n".join(f"{passage.title}\n\n{passage.text}" for passage in passages)
            documents.append({"id": key, "title": "", "text": text})
            questions.append(_row(key, key, one.question, one.answers if gold in passages else ()))
    return documents, questions


def _row(key: str, document: str, question: str, answers: Collection[str] = ()) -> Row:
    return {"id": key, "document": document, "question": question, "answers": [*answers], "unanswerable": not answers}


def write(folder: Path, name: str, rows: list[Row]) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
