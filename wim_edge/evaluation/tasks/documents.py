"""Questions about whole documents, as in the main use of `wim-edge ask`.

The data is a folder with two files, ``documents`` and ``questions``, each ``.jsonl`` or ``.json``, gzipped or not:

    documents   {id, title, text}, or {id, title, path}: a file in the folder, in any format that `ask` reads
    questions   {id, document, question, answers, unanswerable}: about the document with the id ``document``

All questions on a document are asked one after the other. They share its saved reading, as with `ask`.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path

from wim_edge.documents import Document, read_documents
from wim_edge.documents.data_files import Row, parse_rows, read_rows, text_of
from wim_edge.documents.plain import plain
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.example import CountTokens, Example, answers_of, flag_of, take_part
from wim_edge.evaluation.metrics import contains, exact, f1, first_line, has_echo, has_loop, says_not_found, words_of
from wim_edge.evaluation.records import Reply
from wim_edge.evaluation.tasks.task import Task, TaskOptions

FIRST_WORDS = 60
"""A right answer must be in this number of words at a reply's beginning: as many as a person reads at a glance."""
_SUFFIXES = (".jsonl.gz", ".jsonl", ".json.gz", ".json")


@dataclass(frozen=True)
class DocumentQuestion:
    """A question on the document with the id ``document``. ``answers``: empty if the document does not answer."""

    id: str
    document: str
    question: str
    answers: tuple[str, ...]


def load_documents(folder: Path) -> dict[str, Document]:
    """Returns the folder's documents by id, in the order of the file.

    Raises InvalidRequestError for rows in another format, and DocumentError for a document that cannot be read.
    """

    def parse(row: Row, number: int) -> Iterator[tuple[str, Document]]:
        key, title = _id(row, number), text_of(row.get("title") or "")
        if "path" in row:
            (document,) = read_documents([_beside(folder, row)])
        else:
            document = plain(title or key, text_of(row["text"]))
        yield key, replace(document, title=title or document.title)

    rows = parse_rows(_file(folder, "documents"), parse, "{id, title, text} or {id, title, path}")
    documents = dict(rows)
    if len(documents) < len(rows):
        raise InvalidRequestError(f"{folder}: two documents have one id", "Give each an id of its own.")
    return documents


def load_questions(folder: Path) -> list[DocumentQuestion]:
    """Returns the folder's questions, in the file's order. Raises InvalidRequestError for rows of another format."""

    def parse(row: Row, number: int) -> Iterator[DocumentQuestion]:
        absent = flag_of(row.get("unanswerable", False))
        answers = () if absent and "answers" not in row else answers_of(row["answers"])
        question = text_of(row["question"]).strip()
        if not question:
            raise ValueError("the question is empty")
        if absent == bool(answers):
            raise ValueError("it has answers and is unanswerable" if absent else "no answer, and not unanswerable")
        yield DocumentQuestion(_id(row, number), str(row["document"]), question, answers)

    questions = parse_rows(_file(folder, "questions"), parse, "{id, document, question, answers, unanswerable}")
    twice = [key for key, n in Counter(question.id for question in questions).items() if n > 1]
    if twice:
        raise InvalidRequestError(f"{folder}: two questions have the id {twice[0]}", "Give each an id of its own.")
    return questions


def data_files(folder: Path) -> list[Path]:
    """Returns the paths of the files ``documents`` and ``questions``, and of the files that ``documents`` names."""
    rows = [_file(folder, name) for name in ("documents", "questions")]
    return [*rows, *(_beside(folder, row) for row in read_rows(rows[0]) if "path" in row)]


def build(options: TaskOptions, count_tokens: CountTokens) -> list[Example]:
    """Builds an example for each of ``options.limit`` questions (None: all), which `draw_evenly` chooses."""
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
    if not drawn:
        raise InvalidRequestError(f"{options.data} has no question on the part to {options.part}", "Leave --part away.")
    tokens = {key: count_tokens(documents[key].text) for key in {row.document for row in drawn}}
    return [
        Example(
            row.id, row.id, (documents[row.document],), row.question, row.answers, unanswerable=not row.answers,
            facts={"document": row.document, "tokens": tokens[row.document]}, shelf=row.document,
        )
        for row in drawn
    ]  # fmt: skip


def draw_evenly(rows: list[DocumentQuestion], limit: int | None, seed: int) -> list[DocumentQuestion]:
    """Returns at most ``limit`` random questions, evenly from all documents, grouped by document. A document's
    answerable and unanswerable ones alternate. With the same seed, a larger limit only adds questions."""
    by_document: dict[str, tuple[list[DocumentQuestion], list[DocumentQuestion]]] = defaultdict(lambda: ([], []))
    for row in rows:
        by_document[row.document][not row.answers].append(row)
    keys = list(by_document)
    random.Random(str(seed)).shuffle(keys)
    queues = {}
    for turn, key in enumerate(keys):
        kinds = by_document[key]
        for kind in kinds:
            random.Random(f"{seed} {key}").shuffle(kind)
        in_turn = zip_longest(*(kinds if turn % 2 == 0 else kinds[::-1]))
        queues[key] = [row for row in chain.from_iterable(in_turn) if row is not None]
    drawn = [row for rows in zip_longest(*queues.values()) for row in rows if row is not None]
    chosen = {row.id for row in drawn[:limit]}
    return [row for key in by_document for row in queues[key] if row.id in chosen]


def score(example: Example, reply: Reply | None) -> dict[str, float]:
    """Returns a reply's scores by name; for None (the question failed), those of a wrong answer. f1, exact and contains
    are for answerable questions only. So are in_quotes and in_passages, if the reply has quotations or passages."""
    if reply is None:
        return {"not_found": 0.0} if example.unanswerable else dict.fromkeys(("f1", "exact", "contains"), 0.0)
    text = reply.text
    echoes = has_echo(text, [document.text for document in example.documents])
    silent = says_not_found(text) if reply.status is None else float(reply.status == "not_found")
    guess = float(reply.status == "unsure")
    scores = {"not_found": silent, "guess": guess, "loops": has_loop(text), "echoes": echoes}
    if example.unanswerable:
        return scores
    line, answers = reply.short or first_line(text), example.answers
    scores |= {
        "f1": f1(line, answers),
        "exact": exact(line, answers),
        "contains": contains(_beginning(text), answers),
    }
    for name, texts in (("in_quotes", reply.quotes), ("in_passages", reply.passages)):
        if texts is not None:
            scores[name] = max((contains(one, answers) for one in texts), default=0.0)
    return scores


def _beginning(text: str) -> str:
    """Returns the text up to the end of its first `FIRST_WORDS` words."""
    words = words_of(text)
    if len(words) <= FIRST_WORDS:
        return text
    end = 0
    for word in words[:FIRST_WORDS]:
        end = text.index(word, end) + len(word)
    return text[:end]


def _id(row: Row, number: int) -> str:
    return str(number if row.get("id") is None else row["id"])


def _beside(folder: Path, row: Row) -> Path:
    """Returns the path of the file that a row names. Raises InvalidRequestError for a path outside the folder."""
    path = folder / text_of(row["path"])
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # circular links
        is_inside = False
    if not is_inside:
        raise InvalidRequestError(f"{row['path']} is outside of {folder}", "Documents must be in the folder.")
    return path


def _file(folder: Path, name: str) -> Path:
    found = next((path for suffix in _SUFFIXES if (path := folder / f"{name}{suffix}").is_file()), None)
    if found is None:
        what = f"holds no {name}.jsonl (or .json, or those with .gz)" if folder.is_dir() else "is no folder"
        raise InvalidRequestError(f"{folder} {what}", "See docs/evaluation.md for the format.")
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
ANSWERABLE = replace(TASK, name="answerable", source="the same, to fit weights for absent answers (wim_edge.support)")
