"""Puts the questions of a document to it, one after the other; the document is read for the first of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from wim_edge.batch.questions import BatchQuestion, DocumentGroup
from wim_edge.batch.result import Result, failed, observed
from wim_edge.documents import Document, document_of
from wim_edge.documents.readers import bytes_of
from wim_edge.errors import DocumentError, ModelError, WimEdgeError
from wim_edge.reading import events
from wim_edge.settings import Limits


class BatchAsker(Protocol):
    """A `wim_edge.Runtime` or, in a process of its own, a `wim_edge.worker.Worker`."""

    def stream(self, documents: Sequence[Document], question: str) -> Iterator[events.Event]: ...


@dataclass(frozen=True)
class FetchedDocument:
    """A document's bytes and the questions of it, as they go to the machine that reads it."""

    group: DocumentGroup
    data: bytes = b""
    error: DocumentError | None = None


def fetch(group: DocumentGroup, limits: Limits) -> FetchedDocument:
    """Returns the group with its document's bytes, or with the error that its file gave."""
    try:
        if os.path.exists(group.path) and not os.path.isfile(group.path):  # a pipe could be waited for for ever
            raise DocumentError(f"{group.path.name}: not a file", "Name a file.")
        return FetchedDocument(group, bytes_of(group.path, limits))
    except DocumentError as error:
        return FetchedDocument(group, error=error)


def answers(asker: BatchAsker, given: FetchedDocument, limits: Limits, worker: str) -> Iterator[Result]:
    """Yields the results of a document's questions. An error of one of them is its result; raises ModelError, which
    concerns all."""
    try:
        if given.error is not None:
            raise given.error
        document = document_of(given.group.path, given.data, limits)
    except DocumentError as error:
        for question in given.group.questions:
            yield failed(question, error, worker)
        return
    for question in given.group.questions:
        yield _answer(asker, document, question, worker)


def _answer(asker: BatchAsker, document: Document, question: BatchQuestion, worker: str) -> Result:
    try:
        return observed(question, asker.stream([document], question.question), worker)
    except ModelError:
        raise
    except WimEdgeError as error:
        return failed(question, error, worker)
