"""LangChain components: a retriever of passages with their places, and a chat model that answers from documents.

    WimEdgeRetriever(documents="report.pdf").invoke("What were the costs?")[0].metadata["opens"]
    ChatWimEdge(documents="contract.pdf").invoke("Who may end it?").response_metadata["sources"]
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, PrivateAttr

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.integrations import document_reader
from wim_edge.integrations.document_reader import CitedPassage, DocumentReader, ReadingRequest
from wim_edge.reading import events
from wim_edge.runtime import Runtime
from wim_edge.server.openai.routing import MessageTurn, as_request
from wim_edge.settings import Settings

_ROLES = {"human": "user", "ai": "assistant", "system": "system"}


class _ReadsDocuments(BaseModel):
    """The common fields of retriever and chat model: the documents or library to read, and the settings or runtime."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    documents: Any = ()
    """One or several documents: paths of files or folders, or texts (`wim_edge.Document`)."""
    library: str | None = None
    settings: InstanceOf[Settings] | None = None
    runtime: InstanceOf[Runtime] | None = Field(default=None, exclude=True)
    _reader: DocumentReader = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        self._reader = DocumentReader(self.documents, self.library, self.settings, self.runtime)


class WimEdgeRetriever(_ReadsDocuments, BaseRetriever):
    """Retrieves passages for a question, the best first. The model ranks passages of the documents. Without documents,
    they are recalled from the library. Metadata: ``source``, and the fields of `document_reader.citation`."""

    k: int | None = None
    """The most passages, unless a call passes its own ``k``; None: only passages that an answer would draw on."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any, k: int | None = None) -> list[LangChainDocument]:
        return [_passage(one) for one in self._reader.rank(query).finish().passages(k or self.k)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None
    ) -> list[LangChainDocument]:
        return [_passage(one) for one in (await self._reader.rank(query).afinish()).passages(k or self.k)]


class ChatWimEdge(_ReadsDocuments, BaseChatModel):
    """A chat model that answers from its documents, its library, and the files and long texts in the messages. If there
    are none of these, the messages go straight to the model.

    The question is the last message; earlier messages complete a follow-up question. Settings in a call
    (``invoke("Who?", temperature=0.5)``) apply to this call alone. ``response_metadata`` has the fields of
    `document_reader.answer_facts`. Input tokens in ``usage_metadata`` include tokens reused from the cache.
    """

    read: bool | None = None
    """The texts to read as documents, besides files. True: all of the last message; False: none; None: long texts."""

    @property
    def _llm_type(self) -> str:
        return "wim-edge"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        documents = [str(one) for one in self._reader.documents]
        return {"settings": str(self._reader.runtime.settings), "documents": documents, "library": self.library}

    def _request(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, changes: dict[str, Any]
    ) -> ReadingRequest:
        turns = [_turn(message) for message in messages]
        if stop:
            changes = {**changes, "stop": tuple(stop)}

        def begin(request: ReadingRequest, runtime: Runtime) -> Iterator[events.Event]:
            with runtime.with_changes(**changes) if changes else nullcontext(runtime) as request.runtime:
                yield from self._answer(request, turns)

        return ReadingRequest(self._reader, begin, shown=_MessageChunks())

    def _answer(self, request: ReadingRequest, turns: Sequence[MessageTurn]) -> Iterator[events.Event]:
        runtime, library, given = request.runtime, self.library, self._reader.load()
        own = [MessageTurn("user", tuple(given))] if given else []
        tokenize = runtime.roles().reader.model().tokenize  # not the writer's, which may not be needed
        routed = as_request(
            [*own, *turns], lambda text: len(tokenize(text)), read=self.read, asks_library=library is not None
        )
        if routed.messages:
            yield from runtime.complete(routed.messages)
            return
        request.documents, asked = routed.documents, routed.asked
        if asked.why:
            yield events.QuestionSettled(asked.question, asked.question, asked.why)
        yield from runtime.stream(routed.documents, asked.question, library=library, after=routed.after)

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **changes: Any
    ) -> Iterator[ChatGenerationChunk]:
        return self._request(messages, stop, changes).stream()

    def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **changes: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        return self._request(messages, stop, changes).astream()

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **changes: Any
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, **changes))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **changes: Any
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, **changes))


class _MessageChunks:
    def __init__(self) -> None:
        self._metadata: dict[str, Any] = {}

    def __call__(self, _request: ReadingRequest, event: events.Event) -> Iterator[ChatGenerationChunk]:
        if isinstance(event, events.AnswerDelta | events.CompletionDelta):
            yield ChatGenerationChunk(message=AIMessageChunk(content=event.text))
        elif isinstance(event, events.QuestionSettled):
            self._metadata["asked_as"] = event.asked_as
        elif isinstance(event, events.Warning):
            self._metadata.setdefault("warnings", []).append(event.text)
        elif isinstance(event, events.AnswerFinished):
            read, kept = event.usage.prefilled_tokens, event.usage.reused_tokens
            yield self._last(document_reader.answer_facts(event), read + kept, kept, event.usage.decoded_tokens)
        elif isinstance(event, events.CompletionFinished):
            facts = {"finish_reason": event.finish_reason, "model": event.model}
            yield self._last(facts, event.prompt_tokens, event.cached_tokens, event.completion_tokens)

    def _last(self, facts: dict[str, Any], n_input: int, n_cached: int, n_output: int) -> ChatGenerationChunk:
        usage = {"input_tokens": n_input, "output_tokens": n_output, "total_tokens": n_input + n_output,
                 "input_token_details": {"cache_read": n_cached}}  # fmt: skip
        metadata = {**facts, **self._metadata, "model_name": facts["model"]}
        return ChatGenerationChunk(message=AIMessageChunk(
            content="", usage_metadata=usage, response_metadata=metadata, chunk_position="last"
        ))  # fmt: skip


def _passage(one: CitedPassage) -> LangChainDocument:
    source = one.metadata.get("path") or one.metadata["document"]
    return LangChainDocument(one.text, metadata={"source": source, **one.metadata})


def _turn(message: BaseMessage) -> MessageTurn:
    """Converts a LangChain message and its files to a turn. Raises InvalidRequestError, DocumentError."""
    if message.type not in _ROLES:
        raise InvalidRequestError(f"a message of type {message.type} is not supported", "Leave it out.")
    if message.type != "human":
        return MessageTurn(_ROLES[message.type], (str(message.text),))
    return MessageTurn("user", tuple(_part(dict(block)) for block in message.content_blocks))


def _part(block: dict[str, Any]) -> str | Document:
    if block["type"] == "text":
        return str(block["text"])
    name = block.get("title") or (block.get("extras") or {}).get("filename") or block.get("filename") or "attachment"
    if block["type"] == "text-plain" and "text" in block:
        return Document(Path(name).name, block["text"])
    if "base64" in block:
        return document_reader.document_from(Path(name).name, base64.b64decode(block["base64"]))
    raise InvalidRequestError(f"a part of type {block['type']} holds no file", "Send its bytes, in base64.")
