"""The job queue: one thread owns the model and runs one job at a time, in the order of arrival.

Several clients may follow the events of one job. After its answer, a job may continue to read while no other job waits.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
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
_USUAL_SECONDS = 30.0  # of a job, before the first one has been timed
_MODEL_SETTINGS = (*MODEL_SETTINGS, "judge")  # without the embedding model: a different one is loaded beside these

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


class BusyError(WimEdgeError):
    """Raised if too many requests wait already. There may be room again in ``retry_after`` seconds."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(f"{waiting} requests wait already", f"Try again in about {retry_after} seconds.")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Queued(Event):
    """The request waits behind ``before`` others. This event begins a stream, and comes again when the queue moves."""

    type = "queued"
    before: int


@dataclass(frozen=True)
class Failed(Event):
    """The request failed; this is its stream's last event. ``error`` names the error's class (`wim_edge.errors`)."""

    type = "error"
    error: str
    message: str
    hint: str


_NOT_BEGUN = Failed("Cancelled", "it was cancelled before it had begun", "Ask again.")


@dataclass(eq=False)
class Job:
    """A request to the model: its work (``begin``, which yields events), its state, and its events so far."""

    begin: Callable[[Runtime], Iterator[Event]] = lambda runtime: iter(())
    settings: Settings = field(default_factory=Settings)
    read_on: Callable[[Runtime], Iterator[Event]] | None = None
    """Continues the reading after an answer from part of the text, and yields the events. None: the job ends there."""
    state: JobState = "waiting"
    model: str | None = None
    """The name of the model; None until the model is loaded."""
    events: list[dict[str, Any]] = field(default_factory=list)
    """The events so far, as JSON objects. For a question that is asked again, the earlier events come first."""
    on_event: Callable[[dict[str, Any]], None] = lambda event: None
    """Called with each event, in the thread that adds it."""
    on_end: Callable[[Job], object] = lambda job: None
    """Called when the job is over, in the thread that ends it."""
    yields: bool = False
    """True once the job has answered and only continues to read. It is cancelled as soon as another job arrives."""
    wish: Decision = Decision.CONTINUE
    followers: int = 0
    """The clients that follow a download. It stops without any."""
    _waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_finished(self) -> bool:
        return self.state not in ("waiting", "running")

    async def follow(self, start: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """Yields the job's events from number ``start`` on. Waits for new events until the job ends."""
        changed = asyncio.Event()
        waiter = asyncio.get_running_loop(), changed
        with self._lock:
            self._waiters.add(waiter)
        try:
            while True:
                changed.clear()
                is_last = self.is_finished  # read before the events, so that none is missed
                for event in self.events[start:]:
                    start += 1
                    yield event
                if is_last:
                    return
                await changed.wait()
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def tell(self, event: Event) -> None:
        """Appends an event to the job's events, calls ``on_event``, and wakes the clients that follow the job."""
        self.events.append(event.to_dict())
        self.on_event(self.events[-1])
        self._wake()

    def end(self, state: JobState) -> None:
        self.state = state
        self.begin, self.read_on = Job.begin, None  # frees the documents
        self.on_end(self)
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            waiters = list(self._waiters)
        for loop, changed in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)


class JobQueue:
    """Owns the model, and runs jobs on it in its own thread. ``most``: jobs that may wait besides the running one."""

    def __init__(self, settings: Settings, *, most: int = 8) -> None:
        self.settings, self._most = settings, most
        self._line: deque[Job] = deque()
        self._running: Job | None = None
        self._usual, self._begun = _USUAL_SECONDS, time.monotonic()
        self._changed = threading.Condition()
        self._closed = False
        self._base: Runtime | None = None
        """The runtime that holds the models; it answers no question itself."""
        self.roles: Roles | None = None
        """The models of the last question; None if no model is loaded."""
        self._loaded: dict[str, Any] = {}
        self._asking: Runtime | None = None
        self._asking_settings = settings
        self._thread = threading.Thread(target=self._work, name="wim-edge queue", daemon=True)
        self._thread.start()

    @property
    def model(self) -> str | None:
        """The name of the model of the last question; None if no model is loaded."""
        return None if (roles := self.roles) is None else roles.model.name

    @property
    def waiting(self) -> int:
        """The number of jobs that wait, plus the running job unless it only reads on after its answer."""
        running = self._running
        return len(self._line) + (running is not None and not running.yields)

    def submit(self, job: Job) -> Job:
        """Queues a job and returns it. Cancels a running job that only reads on. Raises BusyError if too many wait."""
        with self._changed:
            if len(self._line) >= self._most or self._closed:
                left = self._usual - (time.monotonic() - self._begun)  # if the running job takes as long as usual
                raise BusyError(self.waiting, max(1, round(left)))
            job.tell(Queued(self.waiting))
            self._line.append(job)
            self._changed.notify()
            running = self._running
        if running is not None and running.yields:
            self.cancel(running)
        return job

    def answer_now(self, job: Job) -> None:
        """Makes a job stop reading, and answer from the segments that it has read."""
        self._ask_for(job, Decision.ANSWER)

    def cancel(self, job: Job) -> None:
        """Removes a waiting job, or stops the running job after its current batch of tokens. Ignores a finished job."""
        with self._changed:
            if job in self._line:
                self._line.remove(job)
                job.tell(_NOT_BEGUN)
                job.end("cancelled")
                return
        self._ask_for(job, Decision.CANCEL)

    async def follow(self, job: Job) -> AsyncGenerator[dict[str, Any]]:
        """Yields a job's events. Cancels the job when its follower leaves: when the iterator is closed."""
        try:
            async for event in job.follow():
                yield event
        finally:
            self.cancel(job)

    def judge(self, job: Job, segment: int, accepted: bool | None) -> None:
        """Tells a running job the user's verdict on a segment (its number). None withdraws the verdict."""
        with self._changed:
            if job is self._running and self._asking is not None:
                self._asking.judge(segment, accepted)

    def _ask_for(self, job: Job, decision: Decision) -> None:
        with self._changed:
            job.wish = max(job.wish, decision)
            runtime = self._asking if job is self._running else None
            if runtime is not None:
                runtime.cancel() if decision is Decision.CANCEL else runtime.answer_now()

    def close(self) -> None:
        """Cancels all jobs, waits for the queue's thread to end, and frees the model."""
        with self._changed:
            self._closed = True
            jobs = [*self._line, *filter(None, [self._running])]
            self._changed.notify()
        for job in jobs:
            self.cancel(job)
        self._thread.join()

    # In the queue's thread

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._line or self._closed)
                if not self._line:
                    break
                job = self._running = self._line.popleft()
                job.state, self._begun = "running", time.monotonic()
                for before, one in enumerate((job, *self._line)):
                    if one.events[-1].get("before", before) != before:
                        one.tell(Queued(before))
            state = self._do(job)
            with self._changed:
                self._running = None
            job.end(state)
        self._free()

    def _do(self, job: Job) -> JobState:
        try:
            runtime = self._runtime(job.settings)
            job.model = self.model
            if job.wish is Decision.CANCEL:  # a client cancelled while the model was loaded
                job.tell(_NOT_BEGUN)
                return "cancelled"
            self._begun = time.monotonic()  # without the time to load the model
            self._tell(job, job.begin(runtime))
            self._usual += (time.monotonic() - self._begun - self._usual) / 4
            while job.read_on is not None and job.events[-1].get("has_more") and self._may_read_on(job):
                read = job.events[-1]["read_segments"]
                self._tell(job, job.read_on(runtime))
                if job.events[-1].get("read_segments") == read:  # no progress
                    break
        except WimEdgeError as error:
            job.tell(Failed(**error.to_dict()))
            return "failed"
        except Exception as error:  # noqa: BLE001 - the next job must still be served
            _LOG.exception("a request failed")  # the traceback contains no text of documents
            job.tell(Failed(type(error).__name__, "something is wrong inside wim-edge", "See the server's log."))
            return "failed"
        cancelled = job.events[-1].get("finish_reason") == "cancelled"
        return "cancelled" if cancelled and not job.yields else "done"

    def _may_read_on(self, job: Job) -> bool:
        with self._changed:
            may = not (self._line or self._closed or job.wish)
            job.yields = job.yields or may
            return may

    def _tell(self, job: Job, found: Iterator[Event]) -> None:
        with closing(found):  # type: ignore[type-var]
            if job.wish:
                self._ask_for(job, job.wish)
            for event in found:
                job.tell(event)

    def _runtime(self, settings: Settings) -> Runtime:
        """Returns a runtime with these settings. If they have not changed, it is the last job's, with its reading."""
        wanted = {name: getattr(settings, name) for name in _MODEL_SETTINGS}
        if self._base is not None and wanted["model"] == self.model:
            wanted["model"] = self._loaded["model"]  # the loaded model by its resolved name
        if self._base is None or self._loaded != wanted:
            self._free()
            base = Runtime(self.settings.with_changes(**wanted))
            roles = base.roles()
            roles.reader.model()  # a writer is loaded with its first answer
            self._base, self.roles, self._loaded = base, roles, wanted
        if self._asking is None or self._asking_settings != settings:
            if self._asking is not None:
                self._asking.close()
            self._asking = None
            own = {name: value for name, value in vars(settings).items() if name not in _MODEL_SETTINGS}
            asking = self._base.with_changes(**own)
            with self._changed:
                self._asking, self._asking_settings = asking, settings
        return self._asking

    def _free(self) -> None:
        with self._changed:
            runtimes = self._asking, self._base
            self._asking = self._base = self.roles = None
        for runtime in runtimes:
            if runtime is not None:
                runtime.close()
