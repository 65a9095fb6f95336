"""The shapes of the OpenAI-compatible API: the fields of its requests, and events as its chunks and answers.

Margins and progress travel in fields that clients of that API pass over: ``wim_edge`` (an event, or at the end all that
is known of the reading) and ``prompt_progress``, as llama.cpp's server names it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wim_edge.documents.place_links import page_text
from wim_edge.errors import InvalidRequestError
from wim_edge.server.dependencies import StrictModel
from wim_edge.settings import PATTERNS, RELEVANCES
from wim_edge.within import PATTERN

_UNSUPPORTED = ("tools", "functions", "logit_bias", "presence_penalty", "frequency_penalty", "audio", "modalities",
                "echo", "suffix", "best_of", "response_format", "grammar", "json_schema")  # fmt: skip
_AT_THE_END = ("status", "short", "span", "quotes", "support", "unsupported", "sources", "pattern", "finish_reason",
               "read_segments", "segments", "unread_probability", "judge")  # fmt: skip
_FORWARDED = {"reading.started": "", "margin.judged": "margins", "warning": "warnings", "question.settled": "question",
              "answer.provisional": ""}  # fmt: skip
"""The events that travel in ``wim_edge``, and where they stand in it at the end; empty: nowhere."""
_CITED = 3
"""The most quotations below an answer."""
DEFAULT = "default"
"""The name that stands for the model that the server was started with."""
DEFAULTS = ("", DEFAULT, "wim-edge")


_Stop = Annotated[str, Field(min_length=1, max_length=200)]


class FileData(StrictModel):
    filename: str = Field(default="document", max_length=500)
    file_data: str | None = Field(default=None, description="data:TYPE;base64,DATA")
    file_id: str | None = Field(default=None, max_length=100, description="file-N: document N of /api/documents.")


class ContentPart(BaseModel):
    type: Literal["text", "file"]
    text: str = ""
    file: FileData | None = None


class ChatMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[ContentPart], Field(fail_fast=True, max_length=1000)] | None = None


class JSONSchemaFormat(StrictModel):
    name: str = Field(pattern="^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = Field(default=None, max_length=2000)
    schema_: dict[str, Any] = Field(default_factory=dict, alias="schema")
    strict: bool | None = Field(default=None, description="The answer is held to the schema in any case.")


class ResponseFormat(StrictModel):
    """The form that an answer is held to while it is decoded."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JSONSchemaFormat | None = None

    def schema_of_answer(self) -> dict[str, Any] | None:
        """Returns the JSON schema that an answer is held to; None: any text. Raises InvalidRequestError."""
        if self.type == "text":
            return None
        if self.type == "json_schema" and self.json_schema is None:
            raise InvalidRequestError("response_format has no json_schema", "Send one, or json_object as its type.")
        return self.json_schema.schema_ if self.json_schema else {"type": "object"}


class ReadingOptions(StrictModel):
    """Options for reading documents; a field of wim-edge's own."""

    read: bool | None = Field(default=None, description="Whether texts are read as documents; null: the long ones.")
    question: str | None = Field(
        default=None, min_length=1, max_length=4000,
        description="The question; null: the last message's own, found by its marks and blank lines.",
    )  # fmt: skip
    pattern: Literal[PATTERNS] | None = None  # type: ignore[valid-type]
    relevance: Literal[RELEVANCES] | None = None  # type: ignore[valid-type]
    within: str | None = Field(
        default=None, max_length=24, pattern=PATTERN, description="Read no more than this: auto, 20s, 5m, 10% or all."
    )
    max_passages: int | None = Field(default=None, ge=1, le=64)
    judge: str | None = Field(default=None, max_length=200, description="A model on this disk, or self.")
    first: bool | None = Field(default=None, description="Read no further than to the first sure answer.")


class CompletionRequest(BaseModel):
    """The fields that both kinds of completions take. Other fields are passed over, unless they would change the
    answer."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(default="default", max_length=200, examples=["smollm2-135m"])
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    temperature: float | None = Field(default=None, ge=0, le=2, description="Greedy where it is left out.")
    top_p: float | None = Field(default=None, gt=0, le=1)
    min_p: float | None = Field(default=None, ge=0, lt=1)
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    stop: str | Annotated[list[_Stop], Field(fail_fast=True)] | None = Field(default=None, max_length=200)
    n: Literal[1] | None = None
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    return_progress: bool = Field(default=False, description="Chunks with `prompt_progress`, as of llama.cpp.")

    def options(self) -> dict[str, Any]:
        """Returns the request's fields as those of `Settings`. Raises InvalidRequestError for what cannot be done."""
        for name in _UNSUPPORTED:
            if (self.model_extra or {}).get(name):
                raise InvalidRequestError(f"{name} is not supported here", "Leave it out.")
        found: dict[str, Any] = {
            "model": None if self.model in DEFAULTS else self.model, "answer_tokens": self.max_tokens,
            "temperature": self.temperature, "top_p": self.top_p, "min_p": self.min_p, "seed": self.seed,
        }  # fmt: skip
        if self.stop:
            found["stop"] = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
        return {name: value for name, value in found.items() if value is not None}

    @property
    def with_usage(self) -> bool:
        return bool((self.stream_options or {}).get("include_usage"))


class ChatRequest(CompletionRequest):
    messages: list[ChatMessage] = Field(min_length=1, max_length=1000, fail_fast=True)
    max_completion_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    response_format: ResponseFormat | None = None
    wim_edge: ReadingOptions = ReadingOptions()

    def options(self) -> dict[str, Any]:
        found = super().options() | self.wim_edge.model_dump(exclude_none=True, exclude={"read"})
        return found | ({"answer_tokens": self.max_completion_tokens} if self.max_completion_tokens else {})

    @property
    def top(self) -> int | None:
        return (self.top_logprobs or 0) if self.logprobs else None


class TextRequest(CompletionRequest):
    prompt: str | Annotated[list[str], Field(min_length=1, max_length=64, fail_fast=True)] = Field()
    logprobs: bool | Annotated[int, Field(ge=0, le=5)] | None = None

    @property
    def top(self) -> int | None:
        return int(self.logprobs) if self.logprobs is not None and self.logprobs is not False else None

    @property
    def texts(self) -> list[str]:
        return [self.prompt] if isinstance(self.prompt, str) else self.prompt


@dataclass
class CompletionReply:
    """Turns events into chunks as they come, and into one answer at the end. ``chat``: False for a text completion,
    which may be one of several: each ends with its last event."""

    chat: bool
    model: str
    progress: bool = False
    id: str = ""
    created: int = 0
    text: str = ""
    choices: list[dict[str, Any]] = field(default_factory=list)
    """The choices that are complete."""
    usage: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    finish_reason: str = "stop"
    error: dict[str, Any] | None = None
    _logprobs: list[dict[str, Any]] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)
    _cached: int | None = None

    def __post_init__(self) -> None:
        self.id = ("chatcmpl-" if self.chat else "cmpl-") + uuid.uuid4().hex
        self.created = int(time.time())

    def chunks(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the chunks that an event makes, perhaps none."""
        kind = event["type"]
        if kind == "reading.progress":
            return self._progress(event)
        if kind in ("completion.delta", "answer.delta"):
            self.text += event["text"]
            found = event.get("logprobs") or []
            self._logprobs += found
            return [self._chunk(event["text"], logprobs=found)]
        if kind in ("completion.finished", "answer.finished"):
            below = self._finish(event)
            last = {**self._chunk(None, finish=self.finish_reason), **self._extra()}
            chunks = [self._chunk(below), last] if below else [last]
            self._end_choice()
            return chunks
        if kind == "error":
            self.error = event
            return [{"error": _error(event)}]
        if kind in _FORWARDED:
            if kind == "reading.started":
                self.model = event["model"]
            elif kind == "question.settled":
                self.reading[_FORWARDED[kind]] = event
            elif _FORWARDED[kind]:
                self.reading.setdefault(_FORWARDED[kind], []).append(event)
            return [{**self._chunk(None), "wim_edge": event}]
        return []

    def whole(self) -> dict[str, Any]:
        """Returns the answer as a whole, where it is not streamed."""
        kind = "chat.completion" if self.chat else "text_completion"
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": self.choices,
                "usage": self.usage, **self._extra()}  # fmt: skip

    def _end_choice(self) -> None:
        """Completes a choice; the next event is of the one after it."""
        choice = self._choice(self.finish_reason, self._logprobs)
        if self.chat:
            choice["message"] = {"role": "assistant", "content": self.text, "refusal": None}
        else:
            choice["text"] = self.text
        self.choices.append(choice)
        self._logprobs, self._cached = [], None

    def _choice(self, finish: str | None, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
        return {"index": len(self.choices), "finish_reason": finish, "logprobs": self._shown(logprobs)}

    def usage_chunk(self) -> dict[str, Any]:
        return {**self._chunk(None), "choices": [], "usage": self.usage}

    def _chunk(self, text: str | None, finish: str | None = None, logprobs: list[dict[str, Any]] | None = None
               ) -> dict[str, Any]:  # fmt: skip
        choice = self._choice(finish, logprobs or [])
        if self.chat:
            choice["delta"] = {} if text is None else {"role": "assistant", "content": text}
        else:
            choice["text"] = text or ""
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": [choice]}

    def _progress(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        if self._cached is None:
            self._cached = 0 if self.reading or self.model == "" else event["tokens"]
        if not self.progress:
            return []
        milliseconds = round(1000 * (time.monotonic() - self._begun))
        told = {"total": event["of"], "cache": self._cached, "processed": event["tokens"], "time_ms": milliseconds}
        return [{**self._chunk(None), "prompt_progress": told}]

    def _finish(self, event: dict[str, Any]) -> str:
        """Takes the last event; returns the lines below the answer's text, for clients that show nothing else."""
        below = _below(event, self.reading.get("question")) if event["type"] == "answer.finished" else ""
        self.text, self.model = event["text"] + below, event["model"]
        is_cut = ("length", "repeated") if event["type"] == "completion.finished" else ("length",)
        self.finish_reason = "length" if event["finish_reason"] in is_cut else "stop"
        if event["type"] == "completion.finished":
            read, cached, decoded = event["prompt_tokens"], event["cached_tokens"], event["completion_tokens"]
        else:
            usage = event["usage"]
            cached, decoded = usage["reused_tokens"], usage["decoded_tokens"]
            read = usage["prefilled_tokens"] + cached
            self.reading |= {name: event[name] for name in _AT_THE_END}
        for name, n in (("prompt_tokens", read), ("completion_tokens", decoded), ("total_tokens", read + decoded)):
            self.usage[name] = self.usage.get(name, 0) + n
        details = self.usage.setdefault("prompt_tokens_details", {"cached_tokens": 0})
        details["cached_tokens"] += cached
        return below

    def _extra(self) -> dict[str, Any]:
        return {"wim_edge": self.reading} if self.reading else {}

    def _shown(self, logprobs: list[dict[str, Any]]) -> dict[str, Any] | None:
        if not logprobs:
            return None
        if not self.chat:
            return {
                "tokens": [one["text"] for one in logprobs], "token_logprobs": [one["logprob"] for one in logprobs],
                "top_logprobs": [{text: logprob for text, _, logprob in one["top"]} for one in logprobs],
            }  # fmt: skip
        return {
            "content": [
                {**_logprob(one["text"], one["bytes"], one["logprob"]),
                 "top_logprobs": [_logprob(*other) for other in one["top"]]}
                for one in logprobs
            ],
            "refusal": None,
        }


def _below(event: dict[str, Any], settled: dict[str, Any] | None) -> str:
    """Returns quotations that the text lacks, values that stand in no passage, and how the question was understood."""
    if event["finish_reason"] == "cancelled":
        return ""
    shown, lines = " ".join(event["text"].split()), []
    quotes = [(quote, " ".join(quote["text"].split())) for quote in event["quotes"]]
    if not any(f"“{text}”" in shown for _, text in quotes):
        lines += [f"[{n}] {_place(quote)}: “{text}”" for n, (quote, text) in enumerate(quotes[:_CITED], 1)]
    if event["unsupported"]:
        lines.append(f"(In no passage: {', '.join(event['unsupported'])})")
    if settled is not None:
        lines.append(f"(Asked as: “{' '.join(settled['asked_as'].split())}”; {settled['why']})")
    return "".join(f"\n\n{line}" if n == 0 else f"\n{line}" for n, line in enumerate(lines))


def _place(quote: dict[str, Any]) -> str:
    where = quote["section"] if quote["page"] is None else page_text(quote["page"], quote["page_label"])
    return ", ".join(dict.fromkeys(filter(None, [quote["document"], where])))


def _logprob(text: str, piece: Sequence[int], logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(piece)}


def _error(event: dict[str, Any]) -> dict[str, Any]:
    return {"type": event["error"], "message": f"{event['message']}. {event['hint']}".strip(), "hint": event["hint"]}
