"""LlamaIndex components: a query engine that reads documents and cites them, and a retriever of passages.

    WimEdgeQueryEngine("contract.pdf").query("Who may end it?").source_nodes[0].metadata["opens"]
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import AsyncStreamingResponse, Response, StreamingResponse
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from wim_edge.documents.readers import Documents
from wim_edge.integrations.document_reader import CitedPassage, DocumentReader, ReadingRequest, answer_facts
from wim_edge.reading import events
from wim_edge.runtime import Runtime
from wim_edge.settings import Settings

_SHOWN = ("document", "page", "section", "line")
"""The fields of a passage's metadata that a language model sees beside the text."""


class WimEdgeQueryEngine(BaseQueryEngine):
    """A query engine that answers from documents or a library (see `DocumentReader`).

    A response's ``source_nodes`` are the passages that the answer draws on, with the fields of
    `document_reader.citation`. Its ``metadata`` has the fields of `document_reader.answer_facts`. ``streaming``: True
    to stream the answer's text; the response gets its nodes and metadata at the end of the stream.
    """

    def __init__(
        self, documents: Documents = (), library: str | None = None, *,
        settings: Settings | None = None, runtime: Runtime | None = None, streaming: bool = False,
        callback_manager: CallbackManager | None = None,
    ) -> None:  # fmt: skip
        super().__init__(callback_manager)
        self._reader, self._streaming = DocumentReader(documents, library, settings, runtime), streaming

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Response | StreamingResponse:
        response = StreamingResponse(iter(()), [], {})
        response.response_gen = self._asked(query_bundle, response).stream()
        return response if self._streaming else response.get_response()

    async def _aquery(self, query_bundle: QueryBundle) -> Response | AsyncStreamingResponse:
        response = AsyncStreamingResponse(None, [], {})
        response.response_gen = self._asked(query_bundle, response).astream()
        return response if self._streaming else await response.get_response()

    def _asked(self, query: QueryBundle, response: StreamingResponse | AsyncStreamingResponse) -> ReadingRequest:
        return self._reader.ask(query.query_str, partial(_texts, response))

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Returns the passages that an answer to the question would draw on, the best first."""
        return _nodes(self._reader.rank(query_bundle.query_str).finish())


class WimEdgeNodeRetriever(BaseRetriever):
    """Retrieves passages for a question: ranked by the model if there are documents, else recalled from the library.
    ``similarity_top_k``: the most passages; None: only those that an answer would draw on."""

    def __init__(
        self, documents: Documents = (), library: str | None = None, *,
        settings: Settings | None = None, runtime: Runtime | None = None, similarity_top_k: int | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:  # fmt: skip
        super().__init__(callback_manager)
        self._reader, self._most = DocumentReader(documents, library, settings, runtime), similarity_top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._reader.rank(query_bundle.query_str).finish(), self._most)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._reader.rank(query_bundle.query_str).afinish(), self._most)


def _nodes(asked: ReadingRequest, most: int | None = None) -> list[NodeWithScore]:
    return [_node(one) for one in asked.passages(most)]


def _texts(
    response: StreamingResponse | AsyncStreamingResponse, asked: ReadingRequest, event: events.Event
) -> Iterator[str]:
    """Yields an event's new text, if any. The last event sets the response's metadata and nodes."""
    if isinstance(event, events.AnswerDelta):
        yield event.text
    elif isinstance(event, events.Warning):
        response.metadata.setdefault("warnings", []).append(event.text)
    elif isinstance(event, events.AnswerFinished):
        response.metadata.update(answer_facts(event))
        response.source_nodes += _nodes(asked)


def _node(one: CitedPassage) -> NodeWithScore:
    start, end = one.metadata["chars"]
    place = f"{one.metadata.get('path') or one.metadata['document']} {start} {end}"
    node = TextNode(
        id_=hashlib.blake2b(place.encode(), digest_size=16).hexdigest(), text=one.text, metadata=one.metadata,
        start_char_idx=start, end_char_idx=end,
        excluded_llm_metadata_keys=[name for name in one.metadata if name not in _SHOWN],
        excluded_embed_metadata_keys=list(one.metadata),
    )  # fmt: skip
    return NodeWithScore(node=node, score=one.score)
