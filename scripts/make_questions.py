"""Make two sets of questions of docs/results.md from others in the format of `wim-edge eval documents`.

    python scripts/make_questions.py foreign data/outside/xquad_en own/xquad_en_foreign
    python scripts/make_questions.py reworded data/outside/squad2_dev own/reworded

foreign    each question is asked of the document half the set further on, which does not answer it
reworded   the questions of docs/results/reworded-questions.tsv, in its words, with the answers of the data
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

from wim_edge.evaluation.tasks.documents import DocumentQuestion, load_documents, load_questions

REWORDED = Path(__file__).resolve().parent.parent / "docs" / "results" / "reworded-questions.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("foreign", "reworded"))
    parser.add_argument("data", type=Path, metavar="DIR")
    parser.add_argument("out", type=Path, metavar="OUT")
    given = parser.parse_args()
    documents, questions = load_documents(given.data), load_questions(given.data)
    made = foreign(list(documents), questions) if given.what == "foreign" else reworded(questions)
    given.out.mkdir(parents=True, exist_ok=True)
    write(given.out, "documents", [{"id": key, "title": one.title, "text": one.text} for key, one in documents.items()])
    write(given.out, "questions", made)
    print(f"{given.out}: {len(documents)} documents, {len(made)} questions")


def foreign(documents: list[str], questions: list[DocumentQuestion]) -> list[dict[str, object]]:
    asked = {key: documents[(at + len(documents) // 2) % len(documents)] for at, key in enumerate(documents)}
    return [{"id": one.id, "document": asked[one.document], "question": one.question, "answers": [],
             "unanswerable": True} for one in questions]  # fmt: skip


def reworded(questions: list[DocumentQuestion]) -> list[dict[str, object]]:
    by_id = {one.id: one for one in questions}
    with REWORDED.open(encoding="utf-8", newline="") as file:
        asked = [(by_id[row["id"]], row["question"]) for row in csv.DictReader(file, delimiter="\t")]
    return [{"id": one.id, "document": one.document, "question": question, "answers": list(one.answers)}
            for one, question in asked]  # fmt: skip


def write(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
