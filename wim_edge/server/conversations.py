"""Which requests of the OpenAI-compatible API are read as documents, and which go straight to the model.

A file, and a text of more than `LONG` tokens, is a document; it is read with margins, and the rest of the last user
message is the question. Where the last message itself is long, its last paragraph is the question if it is short,
else its first one, else its last sentence. Everything else goes straight to the model, turn by turn.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from wim_edge.documents import Document, sentences, told_apart
from wim_edge.errors import InvalidRequestError
from wim_edge.server.store import Store
from wim_edge.wim.chat import Message

LONG = 1024
"""Tokens; a shorter text goes straight to the model."""
_ENOUGH = 64 * LONG  # characters, to see whether a text is long: counting all of a book would keep others waiting
_QUESTION_CHARS = 600
_PARAGRAPH = re.compile(r"\n\s*\n")
_FILE_ID = re.compile(r"(?:file-)?(\d{1,18})")


@dataclass(frozen=True)
class Part:
    """A text, or a document, of a message."""

    text: str = ""
    document: Document | None = None


@dataclass(frozen=True)
class Turn:
    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(part.text for part in self.parts if part.text)


@dataclass(frozen=True)
class Request:
    """Either messages for the model, or documents with a question."""

    messages: list[Message] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    question: str = ""
    left_out: int = 0
    """Short messages that the model does not see, because it reads."""


def file_part(store: Store, name: str, data: str | None, number: str | None) -> Part:
    """A file that came as a data URL, or by the id of a document that was given before.

    Raises InvalidRequestError, DocumentError, LibraryError.
    """
    if number is not None:
        found = _FILE_ID.fullmatch(number)
        if not found:
            raise InvalidRequestError(f"{number!r} is no file", "file-N, where N is a document's id (/api/documents).")
        return Part(document=store.document(int(found[1])).document)
    if data is None:
        raise InvalidRequestError("a file has neither file_data nor file_id", "Send one of them.")
    head, comma, body = data.partition(",")
    try:
        raw = base64.b64decode(body if comma else head, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequestError(f"{name}: its data is no base64", "data:TYPE;base64,DATA") from None
    kept, _ = store.upload(name, raw)
    return Part(document=kept.document)


def as_request(turns: Sequence[Turn], count: Callable[[str], int], *, read: bool | None) -> Request:
    """What is asked. ``count``: how many tokens a text has. ``read``: whether texts are read as documents; None: the
    long ones. Raises InvalidRequestError without a question."""
    if not turns or turns[-1].role != "user":
        raise InvalidRequestError("the last message is not the user's", "End with what you ask.")

    def is_long(text: str) -> bool:
        return count(text[:_ENOUGH]) > LONG

    documents: list[Document] = []
    short = 0
    for turn in turns[:-1]:
        for part in turn.parts:
            if part.document is not None:
                documents.append(part.document)
            elif read is not False and is_long(part.text):
                documents.append(_document(part.text, len(documents)))
            else:
                short += bool(part.text.strip())
    question: list[str] = []
    for part in turns[-1].parts:
        if part.document is not None:
            documents.append(part.document)
            continue
        text = part.text
        if text.strip() and (read or (read is None and is_long(text))):
            body, text = split_question(text)
            if body:
                documents.append(_document(body, len(documents)))
        question.append(text.strip())
    asked = "\n\n".join(filter(None, question))
    if not documents:
        return Request(messages=[(turn.role, turn.text) for turn in turns])
    if not asked:
        raise InvalidRequestError("there are documents, and no question", "Ask something beside them.")
    return Request(documents=told_apart(documents), question=asked, left_out=short)


def split_question(text: str) -> tuple[str, str]:
    """A long message as (document, question)."""
    paragraphs = [(start, end) for start, end in _paragraphs(text) if text[start:end].strip()]
    (first, first_end), (last, last_end) = paragraphs[0], paragraphs[-1]
    if len(paragraphs) > 1 and last_end - last <= _QUESTION_CHARS:
        return text[:last].strip(), text[last:last_end].strip()
    if len(paragraphs) > 1 and first_end - first <= _QUESTION_CHARS:
        return text[first_end:].strip(), text[first:first_end].strip()
    end = len(text.rstrip())
    tail = max(0, end - 2 * _QUESTION_CHARS)  # the last sentence, if it is short enough, begins in it
    start = max((tail + at for at, _ in sentences(text[tail:end])), default=0)
    if start == tail or end - start > _QUESTION_CHARS:
        start = max(text.rfind(" ", 0, end - _QUESTION_CHARS) + 1, end - _QUESTION_CHARS)
    return text[:start].strip(), text[start:end].strip()


def _paragraphs(text: str) -> list[tuple[int, int]]:
    cuts = [(0, 0), *(found.span() for found in _PARAGRAPH.finditer(text)), (len(text), len(text))]
    return [(before[1], after[0]) for before, after in pairwise(cuts)]


def _document(text: str, number: int) -> Document:
    return Document("message" if not number else f"message {number + 1}", text)
