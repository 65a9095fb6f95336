"""Whole documents with questions of their own: what a user does, measured.

A folder holds ``documents`` and ``questions``, each ``.jsonl`` or ``.json``, perhaps with ``.gz``:

    documents   {id, title, text}, or {id, title, path}: a file beside, in any format that `ask` reads
    questions   {id, document, question, answers, unanswerable}: of the document with that id

The questions of a document are asked one after the other, and what was read is kept between them, as `ask` does.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path

from wim_edge.documents import Document, read_documents
from wim_edge.documents.rows import Row, answers_of, flag_of, parse_rows, text_of
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example
from wim_edge.evaluation.metrics import contains, exact, f1, first_line
from wim_edge.evaluation.reply import Reply
from wim_edge.evaluation.shown import has_echo, has_loop, says_not_found
from wim_edge.evaluation.split import take_part
from wim_edge.evaluation.tasks.task import Options, Task

FIRST_WORDS = 60
"""Of an answer, in which a right one is looked for: what a reader takes in."""
_SUFFIXES = (".jsonl.gz", ".jsonl", ".json.gz", ".json")


@dataclass(frozen=True)
class DocumentQuestion:
    """A question of one of the documents; ``answers`` are empty where the document does not say."""

    id: str
    document: str
    question: str
    answers: tuple[str, ...]

    @property
    def is_answerable(self) -> bool:
        return bool(self.answers)


def load_documents(folder: Path) -> dict[str, Document]:
    """Returns the documents by id, in the order of the file.

    Raises InvalidRequestError for another layout, and DocumentError for a file that cannot be read.
    """

    def parse(row: Row, number: int) -> Iterator[tuple[str, Document]]:
        key, title = str(row.get("id", number)), text_of(row.get("title") or "")
        if "path" in row:
            (document,) = read_documents([folder / text_of(row["path"])])
        else:
            document = Document(title or key, text_of(row["text"]))
        yield key, replace(document, title=title or document.title)

    rows = parse_rows(_file(folder, "documents"), parse, "{id, title, text} or {id, title, path}")
    documents = dict(rows)
    if len(documents) < len(rows):
        raise InvalidRequestError(f"{folder}: two documents have one id", "Give each an id of its own.")
    return documents


def load_questions(folder: Path) -> list[DocumentQuestion]:
    """Returns the questions, in the order of the file. Raises InvalidRequestError for another layout."""

    def parse(row: Row, number: int) -> Iterator[DocumentQuestion]:
        answers = () if flag_of(row.get("unanswerable", False)) else answers_of(row["answers"])
        yield DocumentQuestion(
            str(row.get("id", number)), str(row["document"]), text_of(row["question"]).strip(),
            tuple(answer for answer in answers if answer.strip()),
        )  # fmt: skip

    return parse_rows(_file(folder, "questions"), parse, "{id, document, question, answers, unanswerable}")


def build(options: Options, count_tokens: CountTokens) -> list[Example]:
    """Returns ``options.limit`` questions, drawn evenly over documents, answerable and not; by default all."""
    assert options.data is not None
    documents, rows = load_documents(options.data), load_questions(options.data)
    unknown = next((row for row in rows if row.document not in documents), None)
    if unknown is not None:
        raise InvalidRequestError(
            f"question {unknown.id} is of {unknown.document}, which is no document of {options.data}",
            "A question names the id of its document.",
        )
    part = set(take_part(documents, options.part or "all", key=lambda key: key))
    drawn = draw_evenly([row for row in rows if row.document in part], options.limit, options.seed)
    tokens = {key: count_tokens(documents[key].text) for key in {row.document for row in drawn}}
    return [_example(row, documents[row.document], tokens[row.document]) for row in drawn]


def draw_evenly(rows: list[DocumentQuestion], limit: int | None, seed: int) -> list[DocumentQuestion]:
    """Returns at most ``limit`` questions: from each document in turn, of each first an answerable one, then one that
    is not, and so on; those of a document together. A larger limit holds all of a smaller one's."""
    by_document: dict[str, tuple[list[DocumentQuestion], list[DocumentQuestion]]] = defaultdict(lambda: ([], []))
    for row in rows:
        by_document[row.document][not row.is_answerable].append(row)
    queues = []
    for key, kinds in by_document.items():
        for kind in kinds:
            random.Random(f"{seed} {key}").shuffle(kind)
        queues.append([row for row in chain.from_iterable(zip_longest(*kinds)) if row is not None])
    in_turn = [row for turn in zip_longest(*queues) for row in turn if row is not None]
    chosen = set(in_turn[:limit])
    return [row for queue in queues for row in queue if row in chosen]


def score(example: Example, reply: Reply | None) -> dict[str, float]:
    """Scores a reply. What only answerable questions can have (f1, exact, contains, in_quotes, in_passages) is left
    out of the others; what the reply does not have (passages of the whole context) is left out too."""
    text = reply.text if reply else ""
    echoes = has_echo(text, [document.text for document in example.documents])
    scores = {"not_found": says_not_found(text), "loops": has_loop(text), "echoes": echoes}
    if example.unanswerable:
        return scores
    line, answers = first_line(text), example.answers
    scores |= {
        "f1": f1(line, answers),
        "exact": exact(line, answers),
        "contains": contains(" ".join(text.split()[:FIRST_WORDS]), answers),
    }
    quotes, passages = (reply.quotes, reply.passages) if reply else ((), ())  # a failed one has found nothing
    for name, texts in (("in_quotes", quotes), ("in_passages", passages)):
        if texts is not None:
            scores[name] = max((contains(one, answers) for one in texts), default=0.0)
    return scores


def _example(row: DocumentQuestion, document: Document, tokens: int) -> Example:
    return Example(
        row.id, row.id, (document,), row.question, row.answers, facts={"document": row.document, "tokens": tokens},
        unanswerable=not row.is_answerable, shelf=row.document,
    )  # fmt: skip


def _file(folder: Path, name: str) -> Path:
    found = next((path for suffix in _SUFFIXES if (path := folder / f"{name}{suffix}").is_file()), None)
    if found is None:
        raise InvalidRequestError(f"{folder} holds no {name}.jsonl", "See docs/evaluation.md for the format.")
    return found


TASK = Task(
    name="documents",
    source="whole documents with questions of their own (docs/evaluation.md)",
    metric="contains",
    swept="length",
    takes=("data", "part"),
    needs=("data",),
    build=build,
    score=score,
)
