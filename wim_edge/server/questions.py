"""Routes for questions: ask one, follow its reading, stop it, judge its margins, ask it again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from wim_edge.errors import InvalidRequestError
from wim_edge.library.library import open_library
from wim_edge.reading import events
from wim_edge.reading.events import AnswerStatus
from wim_edge.runtime import Runtime
from wim_edge.server.dependencies import BUSY, ERRORS, ReadingChoices, Served, Service, StrictModel, sse_events
from wim_edge.server.history import AskedQuestion
from wim_edge.server.job_queue import Job, JobState
from wim_edge.settings import MARGINS

router = APIRouter(tags=["questions"], responses=ERRORS)
_MAX_TOKENS = 8192
_JUDGEABLE = ("segment.read", "segment.scored", "margin.judged")


class AskOptions(ReadingChoices):
    """The options of a question."""

    model: str | None = Field(default=None, max_length=200, description="The name of a model on this machine.")
    margins: Literal[MARGINS] | None = None  # type: ignore[valid-type]
    relevance_threshold: float | None = Field(default=None, ge=0, le=1)
    segment_tokens: int | None = Field(default=None, ge=16, le=_MAX_TOKENS)
    margin_tokens: int | None = Field(default=None, ge=1, le=_MAX_TOKENS)
    answer_tokens: int | None = Field(default=None, ge=1, le=_MAX_TOKENS)
    temperature: float | None = Field(default=None, ge=0, le=10, description="0: greedy; else 0.01 or more.")
    top_p: float | None = Field(default=None, gt=0, le=1)
    min_p: float | None = Field(default=None, ge=0, lt=1)
    seed: int | None = Field(default=None, ge=0, lt=2**63)


class AskRequest(StrictModel):
    documents: list[Annotated[int, Field(ge=1, lt=2**63)]] = Field(
        max_length=64, description="The ids of documents; none with the pattern llm, or with a library."
    )
    library: str | None = Field(
        default=None, max_length=64, description="A library: recalled passages are read after the documents."
    )
    question: str = Field(max_length=20_000, pattern=r"\S")
    follows: str | None = Field(
        default=None, pattern="^[0-9a-f]{32}$",
        description="The id of the question before, which restates one that refers to it.",
    )  # fmt: skip
    options: AskOptions = AskOptions()
    read_on: bool | None = Field(
        default=None, description="Continue to read after the answer until all is read or another request comes, and "
        "answer again if better passages turn up. null: the server's default.",
    )  # fmt: skip


class ReadRequest(StrictModel):
    documents: list[Annotated[int, Field(ge=1, lt=2**63)]] = Field(min_length=1, max_length=64)
    options: AskOptions = AskOptions()


class VerdictRequest(StrictModel):
    accepted: bool | None = Field(description="true: the answer should use it; false: not; null: as measured.")


class QuestionView(BaseModel):
    id: str
    documents: list[int]
    library: str | None
    question: str
    asked_as: str = Field(description="The question, restated when it is asked if it refers to the one before.")
    options: dict[str, Any]
    asked: float = Field(description="Seconds since 1970.")
    state: JobState
    answer: str | None = Field(description="The latest whole answer.")
    status: AnswerStatus | None = Field(description="not_found: the documents do not seem to answer.")
    short: str = Field(description="The answer in a few words, or empty.")
    support: float | None = Field(description="The probability that the documents answer, 0 to 1; null: not known.")
    has_more: bool = Field(description="True if unread segments are left.")
    judged: dict[int, bool] = Field(description="The reader's verdicts, by segment.")
    events: int = Field(description="The number of events so far.")


# Asking

def _entered(served: Served, asked: AskRequest) -> AskedQuestion:
    """Puts a question in the queue before the response begins, so that a wrong request gets an error, not a stream."""
    before = served.history.get(asked.follows).turn if asked.follows else None
    options = asked.options.model_dump(exclude_none=True)
    question = AskedQuestion(
        documents=asked.documents, text=asked.question, options=options, before=before, library=asked.library
    )
    served.history.add(question)
    return _enter(served, question, idle=served.read_on if asked.read_on is None else asked.read_on)


Entered = Annotated[AskedQuestion, Depends(_entered)]


@router.post("/ask", response_class=EventSourceResponse, responses=BUSY)
async def ask(served: Served, question: Entered) -> AsyncIterator[ServerSentEvent]:
    """Asks a question, and streams the events. If the client disconnects, the question is cancelled."""
    async for event in sse_events(served.queue.follow(question.job)):
        yield event


def _reading(served: Served, read: ReadRequest) -> Job:
    documents = [kept.document for kept in served.store.documents(read.documents)]
    settings = served.settings_for(read.options.model_dump(exclude_none=True))
    return served.queue.submit(Job(lambda runtime: runtime.read(documents), settings))


@router.post("/read", response_class=EventSourceResponse, responses=BUSY)
async def read_ahead(served: Served, job: Annotated[Job, Depends(_reading)]) -> AsyncIterator[ServerSentEvent]:
    """Reads documents ahead, and streams the events. The reading stops, and is saved, if the client disconnects."""
    async for event in sse_events(served.queue.follow(job)):
        yield event


@router.post("/questions", status_code=202, responses=BUSY)
async def ask_and_leave(question: Entered) -> QuestionView:
    """Asks a question, and returns at once. The question is answered even if no client follows its events."""
    return _view(question)


@router.get("/questions")
async def list_questions(
    served: Served, document: Annotated[int | None, Query(description="Of this document.")] = None,
    library: Annotated[str | None, Query(max_length=64, description="Of this library.")] = None,
) -> list[QuestionView]:  # fmt: skip
    """Lists the questions, the latest first: all, or those about a document or a library."""
    return [_view(question) for question in served.history.all(document, library)]


def _asked(served: Served, number: Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Its id.")]
           ) -> AskedQuestion:  # fmt: skip
    return served.history.get(number)


Asked = Annotated[AskedQuestion, Depends(_asked)]


@router.get("/questions/{number}")
async def get_question(question: Asked) -> QuestionView:
    """Returns a question with its state and its answer."""
    return _view(question)


@router.delete("/questions/{number}", status_code=204)
async def remove_question(served: Served, question: Asked) -> None:
    """Removes a question. A question that is not answered yet is cancelled first."""
    served.forget(question)


@router.get("/questions/{number}/events", response_class=EventSourceResponse)
async def follow(
    question: Asked, after: Annotated[int, Query(ge=-1, lt=2**31, description="Events after this one.")] = -1,
    last_event_id: Annotated[
        str | None, Header(pattern=r"^[0-9]{0,9}$", description="The same, as a browser sends it to reconnect.")
    ] = None,
) -> AsyncIterator[ServerSentEvent]:  # fmt: skip
    """Streams a question's events, from number ``after`` + 1 on. The question continues if the client disconnects."""
    start = max(after, int(last_event_id or -1)) + 1
    if question.job.is_finished:  # after a restart the stored events have lower numbers
        start = min(start, max(0, len(question.job.events) - 1))
    async for event in sse_events(question.job.follow(start), start):
        yield event


# During the reading

@router.post("/questions/{number}/answer-now")
async def answer_now(served: Served, question: Asked) -> QuestionView:
    """Stops the reading, and answers from the segments that have been read."""
    if question.job.state == "waiting":
        raise InvalidRequestError("nothing has been read yet", "Wait, or cancel it.")
    served.queue.answer_now(question.job)
    return _view(question)


@router.post("/questions/{number}/cancel")
async def cancel(served: Served, question: Asked) -> QuestionView:
    """Cancels a question: stops its reading, or the writing of its answer."""
    served.queue.cancel(question.job)
    return _view(question)


@router.put("/questions/{number}/margins/{segment}")
async def judge_margin(
    served: Served, question: Asked, segment: Annotated[int, Path(ge=0, lt=2**31)], verdict: VerdictRequest
) -> QuestionView:
    """Accepts or rejects a segment's margin, for the answer being written and for later answers to the question."""
    if not any(event["type"] in _JUDGEABLE and event["segment"] == segment for event in question.job.events):
        raise InvalidRequestError(f"segment {segment} has not been read", "The events name the segments.")
    if verdict.accepted is None:
        question.judged.pop(segment, None)
    else:
        question.judged[segment] = verdict.accepted
    served.queue.judge(question.job, segment, verdict.accepted)
    if question.job.is_finished:
        await run_in_threadpool(served.history.keep, question)
    return _view(question)


def _again(served: Served, question: Asked, read_on: bool = False, to_the_end: bool = False) -> AskedQuestion:
    with served.lock:  # of several simultaneous requests the first one wins
        if not question.job.is_finished:
            raise InvalidRequestError("it is still being answered", "Wait for its answer, or cancel it.")
        return _enter(served, question, read_on, to_the_end)


@router.post("/questions/{number}/again", status_code=202, responses=BUSY)
async def ask_again(question: Annotated[AskedQuestion, Depends(_again)]) -> QuestionView:
    """Answers a question again, with the current verdicts on margins. `read_on`: first reads on until another segment
    is the best, or all is read. `to_the_end`: reads on after the answer while no other request waits. Does not read the
    text again if this was the latest question. New events follow the earlier ones."""
    return _view(question)


# The work

def _enter(served: Service, question: AskedQuestion, read_on: bool = False, idle: bool = False) -> AskedQuestion:
    """Puts a question in the queue. ``read_on``: True to read on before the answer. ``idle``: True to read on after the
    answer, while no other request waits. A new question that the queue refuses is removed from the history."""
    is_first = not question.job.events
    try:
        documents = [kept.document for kept in served.store.documents(question.documents)]

        def ask(runtime: Runtime, on: bool) -> Iterator[events.Event]:
            after = question.before if is_first and not on else None
            for event in runtime.stream(
                documents, question.asked_as, library=question.library, after=after, verdicts=question.judged,
                read_on=on,
            ):  # fmt: skip
                if isinstance(event, events.QuestionSettled):
                    question.asked_as = event.asked_as
                yield event

        def begin(runtime: Runtime, on: bool = read_on) -> Iterator[events.Event]:
            is_anew, last = False, None
            for last in ask(runtime, on):
                is_anew = is_anew or (isinstance(last, events.ReadingStarted) and not last.read_segments)
                yield last
            is_stopped = isinstance(last, events.AnswerFinished) and last.finish_reason in ("early_exit", "cancelled")
            if on and is_anew and not is_stopped:  # another question came between: the text was read again, so read on
                yield from ask(runtime, on)

        settings = served.settings_for(question.options)
        if question.library is not None:
            open_library(question.library)
        elif not documents and settings.pattern != "llm":
            raise InvalidRequestError("no document is named", "POST /api/documents adds one; or use the pattern llm.")
        job = Job(begin, settings, partial(begin, on=True) if idle else None, events=list(question.job.events))
        job.on_end = lambda _: served.history.keep(question)
        served.queue.submit(job)
    except BaseException:
        if is_first:
            served.history.remove(question)
        raise
    question.job = job
    served.history.keep(question)  # so that a killed server does not lose it
    return question


def _view(question: AskedQuestion) -> QuestionView:
    answer, job = question.answer, question.job
    own = {name: value for name, value in vars(question).items() if name in QuestionView.model_fields}
    return QuestionView(
        **own, question=question.text, state=job.state, answer=answer.get("text"), status=answer.get("status"),
        short=answer.get("short", ""), support=answer.get("support"), has_more=answer.get("has_more", False),
        events=len(job.events),
    )  # fmt: skip
