"""Questions that were asked, with their events: a page that is opened again shows them.

The latest `KEPT` stand on disk, one JSON file each.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wim_edge.errors import LibraryError
from wim_edge.followup import Turn
from wim_edge.reading.events import AnswerStatus
from wim_edge.server.job_queue import Failed, Job, JobState
from wim_edge.settings import read_small_file
from wim_edge.system.atomic_files import write_text

_LOG = logging.getLogger(__name__)
KEPT = 200
_NOT_KEPT = ("queued", "reading.progress", "margin.delta", "answer.provisional", "answer.delta")
"""The events that are of no interest afterwards."""


@dataclass(eq=False)
class AskedQuestion:
    """A question, the documents that it was asked of, and its events so far."""

    documents: list[int]
    text: str
    options: dict[str, Any]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    asked: float = field(default_factory=time.time)
    """Seconds since 1970."""
    judged: dict[int, bool] = field(default_factory=dict)
    """The reader's verdicts, by segment."""
    job: Job | None = None
    """The job that answers it; None: it was asked of an earlier run of the server."""
    old: list[dict[str, Any]] = field(default_factory=list)
    """Its events in that earlier run."""
    ended: JobState = "done"
    """Its state at the end of that earlier run."""
    asked_as: str = ""
    """The question as it is asked, restated if it refers to the one before it; empty: as ``text``."""
    before: Turn | None = None
    """The question before, and its answer."""
    library: str | None = None
    """The library that passages are recalled from, beside the documents."""

    def __post_init__(self) -> None:
        self.asked_as = self.asked_as or self.text

    @property
    def state(self) -> JobState:
        return self.job.state if self.job else self.ended

    @property
    def events(self) -> list[dict[str, Any]]:
        """Returns its events so far, as JSON objects."""
        return self.job.events if self.job else self.old

    @property
    def finished(self) -> dict[str, Any] | None:
        """The event of the latest answer, once that is whole. One that an older version stored lacks some fields."""
        return next((event for event in reversed(self.events) if event["type"] == "answer.finished"), None)

    @property
    def turn(self) -> Turn:
        """The question and its short answer, for the one that follows."""
        answer = self.finished or {}
        return Turn(self.asked_as, answer.get("short", "") if answer.get("status") != "not_found" else "")


class History:
    """The questions in a folder. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._questions: dict[str, AskedQuestion] = {}
        folder.mkdir(mode=0o700, exist_ok=True)
        found = [question for path in folder.glob("*.json") if (question := _read(path))]
        for question in sorted(found, key=lambda one: one.asked):
            self._questions[question.id] = question

    def all(self, document: int | None = None, library: str | None = None) -> list[AskedQuestion]:
        """Returns the questions, the latest first; only those of this document or library, if one is given."""
        with self._lock:
            found = list(self._questions.values())
        return [
            one for one in reversed(found)
            if (document is None or document in one.documents) and library in (None, one.library)
        ]  # fmt: skip

    def get(self, number: str) -> AskedQuestion:
        with self._lock:
            found = self._questions.get(number)
        if found is None:
            raise LibraryError("there is no such question", "GET /api/questions lists those there are.")
        return found

    def add(self, question: AskedQuestion) -> AskedQuestion:
        with self._lock:
            self._questions[question.id] = question
            over = [one for one in self._questions.values() if one.job is None or one.job.is_finished]
            many = len(self._questions) - KEPT
        for one in over[: max(0, many)]:
            with suppress(LibraryError):
                self.remove(one)
        return question

    def keep(self, question: AskedQuestion) -> None:
        """Writes down a question and its events. If the disk refuses, they are forgotten with the process."""
        try:
            with self._lock:  # what is written last is what it was last
                if question.id in self._questions:
                    write_text(self._path(question), json.dumps(_as_written(question)))
        except OSError as error:
            _LOG.warning("a question is not kept: %s", error.strerror)

    def remove(self, question: AskedQuestion) -> None:
        """Removes a question. Raises LibraryError where the disk refuses: it would be there again after a restart."""
        with self._lock:
            try:
                self._path(question).unlink(missing_ok=True)
            except OSError as error:
                raise LibraryError(f"the question cannot be removed: {error.strerror}", "Check the disk.") from error
            self._questions.pop(question.id, None)

    def _path(self, question: AskedQuestion) -> Path:
        return self._folder / f"{question.id}.json"


def _as_written(question: AskedQuestion) -> dict[str, Any]:
    told = [event for event in question.events if event["type"] not in _NOT_KEPT]
    return {"id": question.id, "documents": question.documents, "text": question.text, "asked": question.asked,
            "options": question.options, "judged": dict(question.judged), "ended": question.state,
            "old": told, "asked_as": question.asked_as, "library": question.library}  # fmt: skip


class _Told(BaseModel):
    model_config = ConfigDict(extra="allow")
    type: str = Field(pattern=r"^[a-z]+(\.[a-z]+)*$")
    text: str = ""

    @model_validator(mode="after")
    def _answered(self) -> Self:
        if self.type == "answer.finished":
            if "text" not in self.model_fields_set:
                raise ValueError("an answer without its text")
            _AnswerParts.model_validate(self.model_extra or {})
        return self


class _AnswerParts(BaseModel):
    """The parts of an answer that are shown; an older version stored none."""

    status: AnswerStatus = "answered"
    short: str = ""
    support: float | None = None


class _Written(BaseModel):
    """A question as it stands on disk."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: str = Field(pattern="^[0-9a-f]{32}$")
    documents: list[int]
    text: str
    asked: float
    options: dict[str, Any]
    judged: dict[int, bool]
    ended: JobState
    old: list[_Told]
    asked_as: str = ""
    library: str | None = None


def _read(path: Path) -> AskedQuestion | None:
    """Returns a stored question; None for a damaged file, which is of no more use."""
    try:
        found = _Written.model_validate_json(read_small_file(path))
    except (OSError, ValueError, RecursionError):
        return None
    if found.id != path.stem:
        return None
    told = [event.model_dump(exclude_unset=True) for event in found.old]
    if found.ended in ("waiting", "running"):  # the server was killed
        lost = Failed("EngineError", "the server ended before it was answered", "Ask again.").to_dict()
        found.ended, told = "failed", [*told, lost]
    return AskedQuestion(
        found.documents, found.text, found.options, found.id, found.asked, found.judged, old=told, ended=found.ended,
        asked_as=found.asked_as, library=found.library,
    )  # fmt: skip
