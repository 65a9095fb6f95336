"""The query engine and the retriever, used as LlamaIndex uses any."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.reading.story import SMALL, reply
from wim_edge import Runtime
from wim_edge.testing import FakeModel

QUESTION = "Which colour?"


@pytest.fixture(scope="module")
def llama_index() -> Any:
    """The module; importing it takes seconds, which not every process that collects tests should spend."""
    from wim_edge.integrations import llama_index

    return llama_index


def cites(nodes: Any, story: Path) -> bool:
    """Tells whether nodes have the texts that stand where they say."""
    text = story.read_text()
    for one in nodes:
        assert one.text == text[one.node.start_char_idx : one.node.end_char_idx]
        assert one.metadata["opens"] == f"{story}:3"
    return bool(nodes)


def test_an_engine_answers_with_nodes_that_cite(llama_index: Any, runtime: Runtime, story: Path) -> None:
    from llama_index.core.schema import MetadataMode

    response = llama_index.WimEdgeQueryEngine(story, runtime=runtime).query(QUESTION)
    assert str(response) == "the answer is blue"
    assert cites(response.source_nodes, story)
    assert response.source_nodes[0].score == response.source_nodes[0].metadata["relevance"] > 0
    assert (response.metadata["status"], response.metadata["model"]) == ("answered", "fake")
    assert "section: The wall" in response.source_nodes[0].get_content(MetadataMode.LLM)
    assert "relevance" not in response.source_nodes[0].get_content(MetadataMode.LLM)


def test_what_is_streamed_is_the_same(llama_index: Any, runtime: Runtime, story: Path) -> None:
    whole = llama_index.WimEdgeQueryEngine(story, runtime=runtime).query(QUESTION)
    response = llama_index.WimEdgeQueryEngine(story, runtime=runtime, streaming=True).query(QUESTION)
    pieces = list(response.response_gen)
    assert len(pieces) > 2
    assert "".join(pieces) == str(whole)
    assert response.source_nodes == whole.source_nodes


@pytest.mark.anyio
async def test_it_is_asked_from_asyncio(llama_index: Any, runtime: Runtime, story: Path) -> None:
    engine = llama_index.WimEdgeQueryEngine([story], runtime=runtime)
    both = await asyncio.gather(engine.aquery(QUESTION), engine.aquery("And why?"))
    assert [str(one) for one in both] == ["the answer is blue"] * 2
    streamed = await llama_index.WimEdgeQueryEngine([story], runtime=runtime, streaming=True).aquery(QUESTION)
    assert "".join([text async for text in streamed.async_response_gen()]) == "the answer is blue"
    assert cites(streamed.source_nodes, story)
    assert cites(await llama_index.WimEdgeNodeRetriever([story], runtime=runtime).aretrieve(QUESTION), story)


def test_an_engine_is_a_tool(llama_index: Any, runtime: Runtime, story: Path) -> None:
    from llama_index.core.tools import QueryEngineTool

    engine = llama_index.WimEdgeQueryEngine(story, runtime=runtime)
    assert QueryEngineTool.from_defaults(engine, description="the wall").call(QUESTION).content == "the answer is blue"


def test_an_engine_of_another_model_is_given_the_passages(llama_index: Any, runtime: Runtime, story: Path) -> None:
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import QueryBundle

    retriever = llama_index.WimEdgeNodeRetriever(story, runtime=runtime, similarity_top_k=1)
    (node,) = retriever.retrieve(QUESTION)
    assert "number 12 " in node.text
    response = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUESTION)  # which repeats its prompt
    assert node.text.strip() in str(response)
    assert response.source_nodes == [node]
    engine = llama_index.WimEdgeQueryEngine(story, runtime=runtime)
    assert engine.retrieve(QueryBundle(QUESTION))[0] == node


def test_a_library_is_asked(llama_index: Any, library: str) -> None:
    with Runtime(SMALL.with_changes(pattern="wim-shallow", relevance="bm25"), model=FakeModel(reply)) as runtime:
        response = llama_index.WimEdgeQueryEngine(library=library, runtime=runtime).query("When does the tide turn?")
        assert [one.text for one in response.source_nodes] == ["The tide turns at six.\nThe harbour is closed then.\n"]
        (node,) = llama_index.WimEdgeNodeRetriever(library=library, runtime=runtime).retrieve(
            "When does the tide turn?"
        )
        assert node.text.startswith("The tide turns at six.")
        assert node.score > 0
