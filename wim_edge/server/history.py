"""The history of questions and their events. Keeps about the latest 200 questions, each in a JSON file."""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, InstanceOf

from wim_edge.errors import LibraryError
from wim_edge.followup import Turn
from wim_edge.reading.events import AnswerStatus
from wim_edge.server.job_queue import Failed, Job, JobState
from wim_edge.settings import read_small_file
from wim_edge.system.atomic_files import write_text

_LOG = logging.getLogger(__name__)
KEPT = 200
_NOT_KEPT = ("queued", "reading.progress", "margin.delta", "answer.provisional", "answer.delta")
"""The types of events that are not stored, because nobody needs them after the answer."""


class AskedQuestion(BaseModel):
    """A question, the ids of the documents that it is about, and the job that answers it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    documents: list[int]
    text: str
    options: dict[str, Any]
    id: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern="^[0-9a-f]{32}$")
    asked: float = Field(default_factory=time.time)
    """The time of the request, in seconds since 1970."""
    judged: dict[int, bool] = Field(default_factory=dict)
    """The user's verdicts on margins, by the number of the segment. True: accepted; False: rejected."""
    asked_as: str = ""
    """The question as the model gets it: ``text``, restated if it refers to the previous question."""
    library: str | None = None
    """The name of a library whose recalled passages are read after the documents; None: no library is asked."""
    job: InstanceOf[Job] = Field(default_factory=Job, exclude=True)
    before: InstanceOf[Turn] | None = Field(default=None, exclude=True)
    """The previous question and its answer, if this question follows one."""

    def model_post_init(self, _context: Any) -> None:
        self.asked_as = self.asked_as or self.text

    @property
    def answer(self) -> dict[str, Any]:
        """The latest event `answer.finished`; {} if there is none. An event of an older version may lack fields."""
        return next((event for event in reversed(self.job.events) if event["type"] == "answer.finished"), {})

    @property
    def turn(self) -> Turn:
        """The question and its short answer (empty if none was found). From these a follow-up question is restated."""
        return Turn(self.asked_as, self.answer.get("short", "") if self.answer.get("status") != "not_found" else "")


class History:
    """The questions of a shelf, each stored as a file in ``folder``. Several threads may use a history at once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        folder.mkdir(mode=0o700, exist_ok=True)
        found = [question for path in folder.glob("*.json") if (question := _read(path))]
        self._questions = {question.id: question for question in sorted(found, key=lambda one: one.asked)}

    def all(self, document: int | None = None, library: str | None = None) -> list[AskedQuestion]:
        """Returns questions, the latest first: all, or those about a document (by id), a library (by name), or both."""
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
            raise LibraryError("there is no such question", "GET /api/questions lists them.")
        return found

    def add(self, question: AskedQuestion) -> None:
        with self._lock:
            self._questions[question.id] = question
            finished = [one for one in self._questions.values() if one.job.is_finished]
            n_over = len(self._questions) - KEPT
        for one in finished[: max(0, n_over)]:
            with suppress(LibraryError):
                self.remove(one)

    def keep(self, question: AskedQuestion) -> None:
        """Writes a question and its events to disk. If the disk fails, only the running process keeps the question."""
        try:
            with self._lock:
                if question.id in self._questions:
                    kept = [event for event in question.job.events if event["type"] not in _NOT_KEPT]
                    stored = question.model_dump() | {"ended": question.job.state, "old": kept}
                    write_text(self._path(question), json.dumps(stored))
        except OSError as error:
            _LOG.warning("a question is not kept: %s", error.strerror)

    def remove(self, question: AskedQuestion) -> None:
        """Removes a question and its file. If the file cannot be deleted, keeps both and raises LibraryError."""
        with self._lock:
            try:
                self._path(question).unlink(missing_ok=True)
            except OSError as error:
                raise LibraryError(f"the question cannot be removed: {error.strerror}", "Check the disk.") from error
            self._questions.pop(question.id, None)

    def _path(self, question: AskedQuestion) -> Path:
        return self._folder / f"{question.id}.json"


class _StoredEvent(BaseModel):
    type: str = Field(pattern=r"^[a-z]+(\.[a-z]+)*$")
    text: str = ""


class _StoredAnswer(_StoredEvent):
    text: str
    status: AnswerStatus = "answered"
    short: str = ""
    support: float | None = None


def _check_event(event: dict[str, Any]) -> dict[str, Any]:
    """Returns a stored event unchanged. Raises ValueError if a field that the API shows has the wrong type."""
    (_StoredAnswer if event.get("type") == "answer.finished" else _StoredEvent).model_validate(event)
    return event


class _StoredQuestion(AskedQuestion):
    """A question as stored on disk, with its job's state at that time (``ended``) and its job's events (``old``)."""

    ended: JobState
    old: list[Annotated[dict[str, Any], AfterValidator(_check_event)]]


def _read(path: Path) -> AskedQuestion | None:
    """Returns the question in a file; None for a damaged file. A job that had not ended gets the state failed."""
    try:
        found = _StoredQuestion.model_validate_json(read_small_file(path))
    except (OSError, ValueError, RecursionError):
        return None
    if found.id != path.stem:
        return None
    if found.ended in ("waiting", "running"):  # the server was killed
        lost = Failed("EngineError", "the server ended before it was answered", "Ask again.")
        found.ended, found.old = "failed", [*found.old, lost.to_dict()]
    own = found.model_dump(exclude={"ended", "old"})
    return AskedQuestion(**own, job=Job(state=found.ended, events=found.old))
