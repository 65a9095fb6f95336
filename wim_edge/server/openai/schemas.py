"""The schemas of the OpenAI-compatible API: the fields of requests, and the chunks and answers made from events.

Two fields extend OpenAI's format; other clients ignore them. ``wim_edge`` holds an event of the reading, and in the
last chunk a summary of the reading. ``prompt_progress`` is the progress in the format of llama.cpp's server.
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
from wim_edge.server.dependencies import ReadingChoices, StrictModel

_UNSUPPORTED = ("tools", "functions", "logit_bias", "presence_penalty", "frequency_penalty", "audio", "modalities",
                "echo", "suffix", "best_of", "response_format", "grammar", "json_schema")  # fmt: skip
_NEUTRAL = {"modalities": ["text"], "best_of": 1, "response_format": {"type": "text"}}
"""Accepted values of unsupported fields: they change nothing. Besides these, 0 and empty values are accepted."""
_SWITCHES = {"tools": "tool_choice", "functions": "function_call"}
"""Unsupported fields, each with the field that switches it off: with the value "none", the first field is ignored."""
_AT_THE_END = ("status", "short", "span", "quotes", "support", "confidence", "unsupported", "sources", "pattern",
               "finish_reason", "read_segments", "segments", "unread_probability", "judge")  # fmt: skip
_FORWARDED = {"reading.started": "", "margin.judged": "margins", "warning": "warnings", "question.settled": "question",
              "answer.provisional": ""}  # fmt: skip
"""The types of events that chunks carry in ``wim_edge``: {type: the last chunk's field that keeps them, or empty}."""
_MAX_CITED = 3
"""The most quotations below an answer."""
DEFAULT = "default"
"""The name of the model that the server was started with."""
DEFAULTS = ("", DEFAULT, "wim-edge")

_Stop = Annotated[str, Field(min_length=1, max_length=200)]


class FileData(StrictModel):
    filename: str = Field(default="document", max_length=500)
    file_data: str | None = Field(default=None, description="data:TYPE;base64,DATA")
    file_id: str | None = Field(default=None, max_length=100, description="file-N: document N of /api/documents.")


class ContentPart(BaseModel):
    type: str = Field(max_length=100, description="text or file; others are refused.")
    text: str = ""
    refusal: str = ""
    file: FileData | None = None


class FunctionCall(BaseModel):
    name: str = Field(max_length=200)
    arguments: str = ""


class ToolCall(BaseModel):
    function: FunctionCall | None = None


class ChatMessage(BaseModel):
    """A message of a conversation. The client runs the tools; the model sees tool calls and their results as text."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[list[ContentPart], Field(fail_fast=True, max_length=1000)] | None = None
    tool_calls: Annotated[list[ToolCall], Field(fail_fast=True, max_length=100)] | None = None
    function_call: FunctionCall | None = None

    @property
    def parts(self) -> list[ContentPart]:
        """Returns the message's parts, with its tool calls as text."""
        content = self.content or []
        calls = [*(call.function for call in self.tool_calls or ()), self.function_call]
        texts = [content] if isinstance(content, str) else []
        texts += [f"{call.name}({call.arguments})" for call in calls if call is not None]
        own = content if isinstance(content, list) else []
        return [*own, *(ContentPart(type="text", text=text) for text in texts)]


class JSONSchemaFormat(StrictModel):
    name: str = Field(pattern="^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = Field(default=None, max_length=2000)
    schema_: dict[str, Any] = Field(default_factory=dict, alias="schema")
    strict: bool | None = Field(default=None, description="The schema always holds.")


class ResponseFormat(StrictModel):
    """The format that an answer must have: any text, any JSON object, or JSON that follows a schema."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JSONSchemaFormat | None = None

    def schema_of_answer(self) -> dict[str, Any] | None:
        """Returns the answer's JSON Schema; None: any text. Raises InvalidRequestError if the schema is missing."""
        if self.type == "text":
            return None
        if self.type == "json_schema" and self.json_schema is None:
            raise InvalidRequestError("response_format has no json_schema", "Send one, or json_object as its type.")
        return self.json_schema.schema_ if self.json_schema else {"type": "object"}


class ReadingOptions(ReadingChoices):
    """The options for reading documents, which extend OpenAI's format."""

    read: bool | None = Field(default=None, description="True to read texts as documents; null: long ones.")
    question: str | None = Field(
        default=None, min_length=1, max_length=4000,
        description="The question; null: found in the last message by its marks and blank lines.",
    )  # fmt: skip


class CompletionRequest(BaseModel):
    """The fields of chat and text completions. Other fields are ignored, or refused if they would change the answer."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(default="default", max_length=200, examples=["smollm2-135m"])
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    temperature: float | None = Field(default=None, ge=0, le=2, description="Greedy by default.")
    top_p: float | None = Field(default=None, gt=0, le=1)
    min_p: float | None = Field(default=None, ge=0, lt=1)
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    stop: str | Annotated[list[_Stop], Field(fail_fast=True)] | None = Field(default=None, max_length=200)
    n: Literal[1] | None = None
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    return_progress: bool = Field(default=False, description="Chunks with `prompt_progress`, as of llama.cpp.")

    def options(self) -> dict[str, Any]:
        """Returns the given fields as changes of `Settings`. Raises InvalidRequestError for an unsupported field."""
        extra = self.model_extra or {}
        for name in _UNSUPPORTED:
            is_off = extra.get(_SWITCHES.get(name, "")) == "none"
            if extra.get(name) and extra[name] != _NEUTRAL.get(name) and not is_off:
                raise InvalidRequestError(f"{name} is not supported here", "Leave it out.")
        found: dict[str, Any] = {
            "model": None if self.model in DEFAULTS else self.model, "answer_tokens": self.max_tokens,
            "temperature": self.temperature, "top_p": self.top_p, "min_p": self.min_p, "seed": self.seed,
        }  # fmt: skip
        if self.stop:
            found["stop"] = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
        return {name: value for name, value in found.items() if value is not None}


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


@dataclass
class CompletionReply:
    """The reply to a completion request, built from events: in chunks as they arrive, and whole at the end. ``chat``:
    False for a text completion, which has a choice for each prompt; a `completion.finished` event ends each choice."""

    chat: bool
    model: str
    progress: bool = False
    text: str = ""
    choices: list[dict[str, Any]] = field(default_factory=list)
    """The finished choices, in OpenAI's format."""
    usage: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    """The summary of the reading, for the last chunk's ``wim_edge``."""
    finish_reason: str = "stop"
    error: dict[str, Any] | None = None
    created: int = field(default_factory=lambda: int(time.time()))
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _logprobs: list[dict[str, Any]] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)
    _cached: int | None = None

    def chunks(self, event: dict[str, Any], model: str | None = None) -> list[dict[str, Any]]:
        """Converts an event to chunks, possibly none. ``model``: the name of the loaded model; None: not loaded yet."""
        kind, self.model = event["type"], model or self.model
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
            message = f"{event['message']}. {event['hint']}".strip()
            return [{"error": {"type": event["error"], "message": message, "hint": event["hint"]}}]
        if kind not in _FORWARDED:
            return []
        if kind == "question.settled":
            self.reading[_FORWARDED[kind]] = event
        elif _FORWARDED[kind]:
            self.reading.setdefault(_FORWARDED[kind], []).append(event)
        return [{**self._chunk(None), "wim_edge": event}]

    def whole(self) -> dict[str, Any]:
        """Returns the complete answer, for a request without a stream."""
        return {**self._head("chat.completion"), "choices": self.choices, "usage": self.usage, **self._extra()}

    def usage_chunk(self) -> dict[str, Any]:
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage}

    def _head(self, kind: str) -> dict[str, Any]:
        prefix, kind = ("chatcmpl-", kind) if self.chat else ("cmpl-", "text_completion")
        return {"id": prefix + self.id, "object": kind, "created": self.created, "model": self.model}

    def _choice(self, text: str, finish: str | None, logprobs: list[dict[str, Any]], said: dict[str, Any]
                ) -> dict[str, Any]:  # fmt: skip
        """Returns a choice. ``said``: its ``message`` or ``delta``, which a chat has in place of ``text``."""
        shown = (_chat_logprobs if self.chat else _text_logprobs)(logprobs) if logprobs else None
        choice = {"index": len(self.choices), "finish_reason": finish, "logprobs": shown}
        return choice | (said if self.chat else {"text": text})

    def _end_choice(self) -> None:
        """Appends the current choice to ``choices``. The next event then belongs to the next choice."""
        said = {"message": {"role": "assistant", "content": self.text, "refusal": None}}
        self.choices.append(self._choice(self.text, self.finish_reason, self._logprobs, said))
        self._logprobs, self._cached = [], None

    def _chunk(self, text: str | None, finish: str | None = None, logprobs: list[dict[str, Any]] | None = None
               ) -> dict[str, Any]:  # fmt: skip
        said = {"delta": {} if text is None else {"role": "assistant", "content": text}}
        choice = self._choice(text or "", finish, logprobs or [], said)
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _progress(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        if self._cached is None:
            self._cached = 0 if self.reading else event["tokens"]
        if not self.progress:
            return []
        milliseconds = round(1000 * (time.monotonic() - self._begun))
        progress = {"total": event["of"], "cache": self._cached, "processed": event["tokens"], "time_ms": milliseconds}
        return [{**self._chunk(None), "prompt_progress": progress}]

    def _finish(self, event: dict[str, Any]) -> str:
        """Records a choice's last event. Returns the lines to add below its text, for clients that show only text."""
        below = ""
        if event["type"] == "completion.finished":
            read, cached, decoded = event["prompt_tokens"], event["cached_tokens"], event["completion_tokens"]
            is_cut = event["finish_reason"] in ("length", "repeated")
        else:
            below = _below(event, self.reading.get("question"))
            usage = event["usage"]
            cached, decoded = usage["reused_tokens"], usage["decoded_tokens"]
            read = usage["prefilled_tokens"] + cached
            is_cut = event["finish_reason"] == "length"
            self.reading |= {name: event[name] for name in _AT_THE_END}
        self.text, self.finish_reason = event["text"] + below, "length" if is_cut else "stop"
        for name, n in (("prompt_tokens", read), ("completion_tokens", decoded), ("total_tokens", read + decoded)):
            self.usage[name] = self.usage.get(name, 0) + n
        details = self.usage.setdefault("prompt_tokens_details", {"cached_tokens": 0})
        details["cached_tokens"] += cached
        return below

    def _extra(self) -> dict[str, Any]:
        return {"wim_edge": self.reading} if self.reading else {}


def _text_logprobs(logprobs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "tokens": [one["text"] for one in logprobs], "token_logprobs": [one["logprob"] for one in logprobs],
        "top_logprobs": [{text: logprob for text, _, logprob in one["top"]} for one in logprobs],
    }  # fmt: skip


def _chat_logprobs(logprobs: list[dict[str, Any]]) -> dict[str, Any]:
    def shown(text: str, piece: Sequence[int], logprob: float) -> dict[str, Any]:
        return {"token": text, "logprob": logprob, "bytes": list(piece)}

    content = [
        {**shown(one["text"], one["bytes"], one["logprob"]), "top_logprobs": [shown(*other) for other in one["top"]]}
        for one in logprobs
    ]
    return {"content": content, "refusal": None}


def _below(event: dict[str, Any], settled: dict[str, Any] | None) -> str:
    """Returns lines below an answer: quotations if its text has none, unsupported values, the question as asked."""
    if event["finish_reason"] == "cancelled":
        return ""
    shown, lines = " ".join(event["text"].split()), []
    quotes = [(quote, " ".join(quote["text"].split())) for quote in event["quotes"]]
    if not any(f"“{text}”" in shown for _, text in quotes):
        lines += [f"[{n}] {_place(quote)}: “{text}”" for n, (quote, text) in enumerate(quotes[:_MAX_CITED], 1)]
    if event["unsupported"]:
        lines.append(f"(In no passage: {', '.join(event['unsupported'])})")
    if settled is not None:
        lines.append(f"(Asked as: “{' '.join(settled['asked_as'].split())}”; {settled['why']})")
    return "\n\n" + "\n".join(lines) if lines else ""


def _place(quote: dict[str, Any]) -> str:
    where = quote["section"] if quote["page"] is None else page_text(quote["page"], quote["page_label"])
    return ", ".join(dict.fromkeys(filter(None, [quote["document"], where])))
