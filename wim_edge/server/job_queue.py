"""The queue: one thread owns the model, and requests wait in line for it.

    submit      the job is in line, or `BusyError`: the line is full
    follow      its events, from any one on, as they happen; many may follow one job
    answer_now  read no further
    cancel      leave the line, or stop within a batch

One job at a time, in the order in which they came, so that none starves. A job may go on when it is done, as long as
nobody else comes.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal

from wim_edge.errors import WimEdgeError
from wim_edge.loaded_models import MODEL_SETTINGS
from wim_edge.reading.control import Decision
from wim_edge.reading.events import Event
from wim_edge.roles import Roles
from wim_edge.runtime import Runtime
from wim_edge.settings import Settings

_LOG = logging.getLogger(__name__)
_USUAL_SECONDS = 30.0  # of a job, before one has been seen
_OF_THE_MODELS = (*MODEL_SETTINGS, "judge")  # another embedding model is loaded beside them

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


class BusyError(WimEdgeError):
    """The line is full; it may have room again ``retry_after`` seconds from now."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(f"{waiting} requests wait already", f"Try again in about {retry_after} seconds.")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Queued(Event):
    """The request is in line behind ``before`` others; the first event of every stream."""

    type = "queued"
    before: int


@dataclass(frozen=True)
class Failed(Event):
    """The request failed; the last event of its stream. ``error`` names the error's class (`wim_edge.errors`)."""

    type = "error"
    error: str
    message: str
    hint: str


_NOT_BEGUN = Failed("Cancelled", "it was cancelled before it had begun", "Ask again.")


def _nothing(_runtime: Runtime) -> Iterator[Event]:
    return iter(())


@dataclass(eq=False)
class Job:
    """A request: its work on the model, and its events so far."""

    begin: Callable[[Runtime], Iterator[Event]]
    settings: Settings
    on: Callable[[Runtime], Iterator[Event]] | None = None
    """Reads on where not all was read; is stopped when another job comes."""
    state: JobState = "waiting"
    model: str | None = None
    """The model's name, once it is loaded."""
    events: list[dict[str, Any]] = field(default_factory=list)
    """Events as JSON objects; a question that is answered again goes on after the earlier ones."""
    on_event: Callable[[dict[str, Any]], None] = lambda event: None
    """Is called with each event, in the thread that tells it."""
    on_end: Callable[[Job], None] = lambda job: None
    """Is called in the queue's thread when the job is over."""
    watched: int | None = None
    """The number of watchers of a job that goes on only while it is watched; None: nobody has begun to watch."""
    gives_way: bool = False
    """True once the job has done what was asked, and goes on only as long as nobody waits."""
    _wish: Decision = Decision.CONTINUE
    _waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def abandoned(self) -> bool:
        """Tells whether all who watched the job have gone."""
        return self.watched == 0

    @property
    def has_more(self) -> bool:
        """Tells whether the answer comes from a part of the text, so that reading on is possible."""
        last = self.events[-1]
        return last.get("unread_probability") is not None and last["read_segments"] < last["segments"]

    @property
    def is_finished(self) -> bool:
        return self.state not in ("waiting", "running")

    async def follow(self, start: int = 0) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        """Yields the events from ``start`` on, each with its number, until the last one."""
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiters.add(waiter)
        try:
            while True:
                waiter[1].clear()
                over = self.is_finished  # before looking: what came until then is told
                for number, event in enumerate(self.events[start:], start):
                    yield number, event
                    start = number + 1
                if over:
                    return
                await waiter[1].wait()
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def tell(self, event: Event) -> None:
        told = event.to_dict()
        self.events.append(told)
        self.on_event(told)
        self._wake()

    def end(self, state: JobState) -> None:
        self.state = state
        self.begin, self.on = _nothing, None  # and so are its documents
        self.on_end(self)
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            waiters = list(self._waiters)
        for loop, changed in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)


class JobQueue:
    """Owns the model, and does jobs on it, one after the other, in a thread of its own.

    ``open_runtime``: opens a runtime for settings. ``most``: jobs that may wait besides the running one.
    """

    def __init__(
        self, settings: Settings, *, most: int = 8, open_runtime: Callable[[Settings], Runtime] = Runtime
    ) -> None:
        self.settings, self._most, self._open = settings, most, open_runtime
        self._line: deque[Job] = deque()
        self._running: Job | None = None
        self._usual, self._begun = _USUAL_SECONDS, time.monotonic()
        self._changed = threading.Condition()
        self._closed = False
        self._base: Runtime | None = None
        """The runtime that holds the models; no question is put to it."""
        self._roles: Roles | None = None
        """Its models, by what they usually do."""
        self._loaded: dict[str, Any] = {}
        self._asking: Runtime | None = None
        self._asking_settings = settings
        self._thread = threading.Thread(target=self._work, name="wim-edge queue", daemon=True)
        self._thread.start()

    @property
    def model(self) -> str | None:
        """The name of the model that questions were last put to."""
        roles = self._roles
        return roles.model.name if roles is not None else None

    @property
    def judge_name(self) -> str | None:
        """The name of the model that judges for it; None: it does so itself."""
        roles = self._roles
        return roles.judge.name if roles is not None and roles.judge is not None else None

    @property
    def in_memory(self) -> list[str]:
        """The names of the models that are loaded."""
        roles = self._roles
        return roles.model.in_memory if roles is not None else []

    @property
    def waiting(self) -> int:
        """The number of jobs in line, the running one included."""
        running = self._running
        return len(self._line) + (running is not None and not running.gives_way)

    def submit(self, job: Job) -> Job:
        """Puts a job in line. Raises BusyError."""
        with self._changed:
            if len(self._line) >= self._most or self._closed:
                raise BusyError(self.waiting, self._seconds_to_room())
            job.tell(Queued(self.waiting))
            self._line.append(job)
            self._changed.notify()
            running = self._running
        if running is not None and running.gives_way:
            self.cancel(running)
        return job

    def _seconds_to_room(self) -> int:
        """Returns when the running job, if it takes as long as usual, makes room for the next one in line."""
        return max(1, round(self._usual - (time.monotonic() - self._begun)))

    def answer_now(self, job: Job) -> None:
        """Has a job read no further, and answer from what has been read."""
        self._ask_for(job, Decision.ANSWER)

    def cancel(self, job: Job) -> None:
        """Takes a job out of the line, or stops it within a batch."""
        with self._changed:
            if job in self._line:
                self._line.remove(job)
                job.tell(_NOT_BEGUN)
                job.end("cancelled")
                return
        self._ask_for(job, Decision.CANCEL)

    def judge(self, job: Job, segment: int, accepted: bool | None) -> None:
        """Applies the reader's verdict on a segment, if the job is the running one."""
        with self._changed:
            if job is self._running and self._asking is not None:
                self._asking.judge(segment, accepted)

    def _ask_for(self, job: Job, decision: Decision) -> None:
        with self._changed:
            job._wish = max(job._wish, decision)
            runtime = self._asking if job is self._running else None
            if runtime is not None:
                runtime.cancel() if decision is Decision.CANCEL else runtime.answer_now()

    def close(self) -> None:
        """Cancels the running and the waiting jobs, and frees the model."""
        with self._changed:
            self._closed = True
            waiting, running = list(self._line), self._running
            self._changed.notify()
        for job in [*waiting, *([running] if running else [])]:
            self.cancel(job)
        self._thread.join()

    # In the thread

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._line or self._closed)
                if not self._line:
                    break
                job = self._running = self._line.popleft()
                job.state, self._begun = "running", time.monotonic()
            state = self._do(job)
            with self._changed:
                self._running = None
            job.end(state)
        self._free()

    def _do(self, job: Job) -> JobState:
        try:
            runtime = self._runtime(job.settings)
            job.model = self.model
            if job._wish is Decision.CANCEL:  # while the model was loaded
                job.tell(_NOT_BEGUN)
                return "cancelled"
            self._begun = time.monotonic()  # a model is not loaded for each
            self._tell(job, job.begin(runtime))
            self._usual += (time.monotonic() - self._begun - self._usual) / 4
            while job.on is not None and job.has_more and self._may_go_on(job):
                read = job.events[-1]["read_segments"]
                self._tell(job, job.on(runtime))
                if job.events[-1].get("read_segments") == read:  # there is no way on
                    break
        except WimEdgeError as error:
            job.tell(Failed(**error.to_dict()))
            return "failed"
        except Exception as error:  # noqa: BLE001 - the next one in line is still to be served
            _LOG.exception("a request failed")  # a traceback of ours, no text of documents
            job.tell(Failed(type(error).__name__, "something is wrong inside wim-edge", "See the server's log."))
            return "failed"
        cancelled = job.events[-1].get("finish_reason") == "cancelled"
        return "cancelled" if cancelled and not job.gives_way else "done"

    def _may_go_on(self, job: Job) -> bool:
        with self._changed:
            may = not (self._line or self._closed or job._wish)
            job.gives_way = job.gives_way or may
            return may

    def _tell(self, job: Job, found: Iterator[Event]) -> None:
        with closing(found):  # type: ignore[type-var]
            if job._wish:
                self._ask_for(job, job._wish)
            for event in found:
                job.tell(event)

    def _runtime(self, settings: Settings) -> Runtime:
        """Returns a runtime for these settings; where they are unchanged, it keeps what was read last."""
        wanted = _of_model(settings)
        if self._base is not None and wanted["model"] == self.model:
            wanted["model"] = self._loaded["model"]  # by its own name
        if self._base is None or self._loaded != wanted:
            self._free()
            base = self._open(self.settings.with_changes(**wanted))
            roles = base.roles()
            roles.reader.model()  # a writer beside it is loaded when its first answer is due
            self._base, self._roles, self._loaded = base, roles, wanted
        if self._asking is None or self._asking_settings != settings:
            if self._asking is not None:
                self._asking.close()
            self._asking = None
            own = {name: value for name, value in vars(settings).items() if name not in _OF_THE_MODELS}
            asking = self._base.with_changes(**own)
            with self._changed:
                self._asking, self._asking_settings = asking, settings
        return self._asking

    def _free(self) -> None:
        with self._changed:
            asking, base, self._asking, self._base = self._asking, self._base, None, None
            self._roles = None
        for runtime in (asking, base):
            if runtime is not None:
                runtime.close()


def _of_model(settings: Settings) -> dict[str, Any]:
    return {name: vars(settings)[name] for name in _OF_THE_MODELS}
