"""Questions: ask, watch the reading, stop it, judge its margins, ask again."""

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
from wim_edge.runtime import Runtime
from wim_edge.server.dependencies import BUSY, ERRORS, Served, Service, StrictModel, sse_events
from wim_edge.server.history import AskedQuestion
from wim_edge.server.job_queue import Job
from wim_edge.settings import MARGINS, PATTERNS, RELEVANCES, WITHIN_PATTERN

router = APIRouter(tags=["questions"], responses=ERRORS)
_MOST_TOKENS = 8192
_JUDGEABLE = ("segment.read", "segment.scored", "margin.judged")


class AskOptions(StrictModel):
    """Options of a question. One left out is as the server was started, or as models.toml says of the model."""

    model: str | None = Field(default=None, max_length=200, description="A model on this machine, by its name.")
    judge: str | None = Field(
        default=None, max_length=200, description="Another one that decides which passages answer; self: the model."
    )
    first: bool | None = Field(default=None, description="Read no further than to the first sure answer.")
    pattern: Literal[PATTERNS] | None = None  # type: ignore[valid-type]
    relevance: Literal[RELEVANCES] | None = None  # type: ignore[valid-type]
    margins: Literal[MARGINS] | None = None  # type: ignore[valid-type]
    within: str | None = Field(
        default=None, max_length=24, pattern=WITHIN_PATTERN,
        description="Read no more than this: auto, 20s, 5m, 10% or all.",
    )
    max_passages: int | None = Field(default=None, ge=1, le=64)
    relevance_threshold: float | None = Field(default=None, ge=0, le=1)
    segment_tokens: int | None = Field(default=None, ge=16, le=_MOST_TOKENS)
    margin_tokens: int | None = Field(default=None, ge=1, le=_MOST_TOKENS)
    answer_tokens: int | None = Field(default=None, ge=1, le=_MOST_TOKENS)
    temperature: float | None = Field(default=None, ge=0, le=10, description="0: greedy; else 0.01 or more.")
    top_p: float | None = Field(default=None, gt=0, le=1)
    min_p: float | None = Field(default=None, ge=0, lt=1)
    seed: int | None = Field(default=None, ge=0, lt=2**63)


class AskRequest(StrictModel):
    documents: list[Annotated[int, Field(ge=1, lt=2**63)]] = Field(
        max_length=64, description="Documents by their ids; none with the pattern llm, or with a library."
    )
    library: str | None = Field(
        default=None, max_length=64, description="A library whose passages are recalled first, and read after the "
                                                 "documents."
    )  # fmt: skip
    question: str = Field(max_length=20_000, pattern=r"\S")
    follows: str | None = Field(
        default=None, pattern="^[0-9a-f]{32}$",
        description="The question before, by its id: one that does not stand for itself is completed by it.",
    )  # fmt: skip
    options: AskOptions = AskOptions()
    read_on: bool | None = Field(
        default=None, description="Read on after the answer until nothing is left or another request comes, and answer "
                                  "again where better passages turn up. null: as the server was started."
    )  # fmt: skip


class ReadRequest(StrictModel):
    documents: list[Annotated[int, Field(ge=1, lt=2**63)]] = Field(min_length=1, max_length=64)
    options: AskOptions = AskOptions()


class VerdictRequest(StrictModel):
    accepted: bool | None = Field(description="true: the answer shall draw on it; false: not; null: as measured.")


class QuestionView(BaseModel):
    id: str
    documents: list[int]
    library: str | None
    question: str
    asked_as: str = Field(description="As it was put until it is asked; then restated if it refers to the one before.")
    options: dict[str, Any]
    asked: float = Field(description="Seconds since 1970.")
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    answer: str | None = Field(description="The latest, once it is whole.")
    status: Literal["answered", "unsure", "not_found"] | None = Field(
        description="Of that answer; not_found: the documents do not seem to say."
    )
    short: str = Field(description="That answer in a few words; empty where there is none.")
    support: float | None = Field(description="How likely the documents hold an answer, 0 to 1; null: not known.")
    judged: dict[int, bool] = Field(description="The reader's verdicts, by segment.")
    events: int = Field(description="How many there are so far.")


Number = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The question's id.")]


# Asking

def _entered(served: Served, asked: AskRequest) -> AskedQuestion:
    """Puts a question in line before the response begins, so that a wrong request is an error, not a stream."""
    before = served.history.get(asked.follows).turn if asked.follows else None
    question = served.history.add(
        AskedQuestion(asked.documents, asked.question, _given(asked.options), before=before, library=asked.library)
    )
    return _enter(served, question, idle=served.read_on if asked.read_on is None else asked.read_on)


@router.post("/ask", response_class=EventSourceResponse, responses=BUSY)
async def ask(served: Served, question: Annotated[AskedQuestion, Depends(_entered)]) -> AsyncIterator[ServerSentEvent]:
    """Asks, and streams the events in the response. A client that goes away cancels the question."""
    assert question.job is not None
    try:
        async for event in sse_events(question.job):
            yield event
    finally:
        served.queue.cancel(question.job)


def _reading(served: Served, read: ReadRequest) -> Job:
    documents = [kept.document for kept in served.store.documents(read.documents)]
    return served.queue.submit(Job(lambda runtime: runtime.read(documents), served.settings_for(_given(read.options))))


@router.post("/read", response_class=EventSourceResponse, responses=BUSY)
async def read_ahead(served: Served, job: Annotated[Job, Depends(_reading)]) -> AsyncIterator[ServerSentEvent]:
    """Reads documents ahead, and streams the events. A client that goes away stops it; what was read is kept."""
    try:
        async for event in sse_events(job):
            yield event
    finally:
        served.queue.cancel(job)


@router.post("/questions", status_code=202, responses=BUSY)
async def ask_and_leave(question: Annotated[AskedQuestion, Depends(_entered)]) -> QuestionView:
    """Asks a question, which is answered whether anybody watches or not."""
    return _shown(question)


@router.get("/questions")
async def list_questions(
    served: Served, document: Annotated[int | None, Query(description="Those of this document.")] = None,
    library: Annotated[str | None, Query(max_length=64, description="Those of this library.")] = None,
) -> list[QuestionView]:  # fmt: skip
    """Lists the questions, the latest first."""
    return [_shown(question) for question in served.history.all(document, library)]


@router.get("/questions/{number}")
async def get_question(served: Served, number: Number) -> QuestionView:
    """Returns a question with its state and its answer."""
    return _shown(served.history.get(number))


@router.delete("/questions/{number}", status_code=204)
async def remove_question(served: Served, number: Number) -> None:
    """Removes a question; one under way is cancelled."""
    question = served.history.get(number)
    if question.job is not None:
        served.queue.cancel(question.job)
    served.history.remove(question)


def _followed(served: Served, number: Number) -> AskedQuestion:
    return served.history.get(number)


@router.get("/questions/{number}/events", response_class=EventSourceResponse)
async def watch(
    question: Annotated[AskedQuestion, Depends(_followed)],
    after: Annotated[int, Query(ge=-1, lt=2**31, description="Events after this one.")] = -1,
    last_event_id: Annotated[str | None, Header(pattern=r"^[0-9]{0,9}$", description="The same, as browsers say it "
                                                                                   "when they come again.")] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Streams all events of a question, from the first one on or after the last one that was seen. A client that goes
    away changes nothing."""
    start = max(after, int(last_event_id or -1)) + 1
    if question.job is None or question.job.is_finished:  # one that was watched before a restart has other numbers now
        start = min(start, max(0, len(question.events) - 1))
    if question.job is not None:
        async for event in sse_events(question.job, start):
            yield event
        return
    for at, told in enumerate(question.old[start:], start):
        yield ServerSentEvent(data=told, event=told["type"], id=str(at))


# While it goes on

@router.post("/questions/{number}/answer-now")
async def answer_now(served: Served, number: Number) -> QuestionView:
    """Reads no further, and answers from what has been read."""
    question = served.history.get(number)
    if question.job is not None and question.job.state == "waiting":
        raise InvalidRequestError("nothing has been read yet", "Wait, or cancel it.")
    if question.job is not None:
        served.queue.answer_now(question.job)
    return _shown(question)


@router.post("/questions/{number}/cancel")
async def cancel(served: Served, number: Number) -> QuestionView:
    """Stops reading or answering."""
    question = served.history.get(number)
    if question.job is not None:
        served.queue.cancel(question.job)
    return _shown(question)


@router.put("/questions/{number}/margins/{segment}")
async def judge_margin(
    served: Served, number: Number, segment: Annotated[int, Path(ge=0, lt=2**31)], verdict: VerdictRequest
) -> QuestionView:
    """Accepts or rejects the margin of a segment, from now on: for the answer, and when the question is asked again."""
    question = served.history.get(number)
    if not any(told["type"] in _JUDGEABLE and told["segment"] == segment for told in question.events):
        raise InvalidRequestError(f"segment {segment} has not been read", "The events name the segments.")
    if verdict.accepted is None:
        question.judged.pop(segment, None)
    else:
        question.judged[segment] = verdict.accepted
    if question.job is not None:
        served.queue.judge(question.job, segment, verdict.accepted)
    if question.job is None or question.job.is_finished:
        await run_in_threadpool(served.history.keep, question)
    return _shown(question)


def _again(served: Served, number: Number, read_on: bool = False, to_the_end: bool = False) -> AskedQuestion:
    with served.lock:  # of several at once the first one is it
        question = served.history.get(number)
        if question.job is not None and not question.job.is_finished:
            raise InvalidRequestError("it is still being answered", "Wait for its answer, or cancel it.")
        return _enter(served, question, read_on, to_the_end)


@router.post("/questions/{number}/again", status_code=202, responses=BUSY)
async def ask_again(question: Annotated[AskedQuestion, Depends(_again)]) -> QuestionView:
    """Answers once more, as the margins are judged now; with `read_on` only after reading on until another segment is
    the best or all is read; with `to_the_end` it goes on from there as long as nobody waits. Nothing is read again if
    it was the last question; its events go on after the earlier ones."""
    return _shown(question)


# Parts

def _enter(served: Service, question: AskedQuestion, read_on: bool = False, idle: bool = False) -> AskedQuestion:
    """Puts a question in line; with ``idle`` it is read on once it is answered and nobody waits. A question that cannot
    be put in line is not kept, unless it was asked before."""
    try:
        documents = [kept.document for kept in served.store.documents(question.documents)]
        is_first = not question.events

        def begin(runtime: Runtime, on: bool = read_on) -> Iterator[events.Event]:
            after = question.before if is_first and not on else None
            for event in runtime.stream(
                documents, question.asked_as, library=question.library, after=after, verdicts=question.judged,
                read_on=on,
            ):  # fmt: skip
                if isinstance(event, events.QuestionSettled):
                    question.asked_as = event.asked_as
                yield event

        settings = served.settings_for(question.options)
        if question.library is not None:
            open_library(question.library)
        elif not documents and settings.pattern != "llm":
            raise InvalidRequestError("no document is named", "POST /api/documents gives one; or use the pattern llm.")
        on = partial(begin, on=True) if idle else None
        job = Job(begin, settings, on, events=list(question.events))
        job.on_end = lambda _: served.history.keep(question)
        served.queue.submit(job)
    except BaseException:
        if question.job is None and not question.old:
            served.history.remove(question)
        raise
    question.job = job
    served.history.keep(question)  # so that a server that is killed does not lose it
    return question


def _given(options: AskOptions) -> dict[str, Any]:
    return options.model_dump(exclude_none=True)


def _shown(question: AskedQuestion) -> QuestionView:
    answer = question.finished or {}
    return QuestionView(
        id=question.id, documents=question.documents, library=question.library, question=question.text,
        asked_as=question.asked_as, options=question.options, asked=question.asked,
        state=question.state, answer=answer.get("text"), status=answer.get("status"), short=answer.get("short", ""),
        support=answer.get("support"), judged=dict(question.judged), events=len(question.events),
    )  # fmt: skip
