"""The retriever and the chat model, used as LangChain uses any."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from tests.reading.story import SMALL, TEXT, reply
from wim_edge import Document, Runtime
from wim_edge.errors import InvalidRequestError
from wim_edge.testing import FakeModel

QUESTION = "Which colour?"


@pytest.fixture(scope="module")
def langchain() -> Any:
    """The module; importing it takes a second, which not every process that collects tests should spend."""
    from wim_edge.integrations import langchain

    return langchain


def test_a_retriever_gives_documents_that_cite(langchain: Any, runtime: Runtime, story: Path) -> None:
    retriever = langchain.WimEdgeRetriever(documents=story, runtime=runtime, k=2)
    found = retriever.invoke(QUESTION)
    assert len(found) == 2
    start, end = found[0].metadata["chars"]
    assert found[0].page_content == story.read_text()[start:end]
    assert found[0].metadata["source"] == str(story)
    assert found[0].metadata["opens"] == f"{story}:3"
    assert found[0].metadata["section"] == "The wall"
    assert asyncio.run(retriever.ainvoke(QUESTION)) == found
    assert retriever.batch([QUESTION] * 3) == [found] * 3
    assert retriever.invoke(QUESTION, k=1) == found[:1]


def test_a_chat_model_answers_from_documents(langchain: Any, runtime: Runtime, story: Path) -> None:
    chat = langchain.ChatWimEdge(documents=story, runtime=runtime)
    answer = chat.invoke(QUESTION)
    assert answer.type == "ai"
    assert answer.content == "the answer is blue"
    told = answer.response_metadata
    assert (told["status"], told["finish_reason"], told["model_name"]) == ("answered", "stop", "fake")
    assert told["sources"][0]["opens"] == f"{story}:3"
    n_input, n_output = answer.usage_metadata["input_tokens"], answer.usage_metadata["output_tokens"]
    assert n_input > 1000
    assert answer.usage_metadata["total_tokens"] == n_input + n_output


@pytest.mark.anyio
async def test_what_is_streamed_is_the_same(langchain: Any, runtime: Runtime, story: Path) -> None:
    chat = langchain.ChatWimEdge(documents=story, runtime=runtime)
    chunks = list(chat.stream(QUESTION))
    assert len(chunks) > 2
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.type == "AIMessageChunk"
    again = chat.invoke(QUESTION)
    assert whole.content == again.content
    assert whole.response_metadata["sources"] == again.response_metadata["sources"]
    assert whole.usage_metadata == again.usage_metadata
    assert "".join([str(chunk.content) async for chunk in chat.astream(QUESTION)]) == again.content
    assert (await chat.ainvoke(QUESTION)).content == again.content
    assert [one.content for one in chat.batch([QUESTION] * 3)] == [again.content] * 3


def test_a_question_is_completed_by_the_messages_before_it(langchain: Any, runtime: Runtime, story: Path) -> None:
    talk = [("system", "Be brief."), ("human", "Which colour has the wall in 2021?"), ("ai", "Blue."),
            ("human", "And in 2022?")]  # fmt: skip
    told = langchain.ChatWimEdge(documents=story, runtime=runtime).invoke(talk).response_metadata
    assert told["asked_as"] == "Which colour has the wall in 2021? (Blue) And in 2022?"


def test_files_in_messages_are_read(langchain: Any, runtime: Runtime) -> None:
    page = base64.b64encode(f"<html><body><p>{TEXT}</p></body></html>".encode()).decode()
    file = {"type": "file", "base64": page, "mime_type": "text/html", "extras": {"filename": "wall.html"}}
    openai = {"type": "file", "file": {"filename": "wall.html", "file_data": f"data:text/html;base64,{page}"}}
    plain = {"type": "text-plain", "text": TEXT, "mime_type": "text/plain", "title": "wall"}
    for block, name in ((file, "wall.html"), (openai, "wall.html"), (plain, "wall")):
        asked = ("human", [{"type": "text", "text": QUESTION}, block])
        told = langchain.ChatWimEdge(runtime=runtime).invoke([asked]).response_metadata
        assert told["sources"][0]["document"] == name


def test_what_cannot_be_shown_to_the_model_is_an_error(langchain: Any, runtime: Runtime) -> None:
    chat = langchain.ChatWimEdge(runtime=runtime)
    with pytest.raises(InvalidRequestError, match="of type image holds no file"):
        chat.invoke([("human", [{"type": "image", "url": "https://example.org/a.png"}])])
    with pytest.raises(InvalidRequestError, match="type tool"):
        chat.invoke([("human", "a"), {"role": "tool", "content": "b", "tool_call_id": "1"}])


def test_without_documents_the_model_is_asked_itself(langchain: Any) -> None:
    with Runtime(SMALL, model=FakeModel(lambda prompt: f"{prompt.count('user')} and more")) as runtime:
        chat = langchain.ChatWimEdge(runtime=runtime)
        answer = chat.invoke([("system", "Be brief."), ("human", "Hello."), ("ai", "Yes?"), ("human", "!")])
        assert answer.content == "2 and more"
        assert answer.response_metadata["finish_reason"] == "stop"
        assert "sources" not in answer.response_metadata
        assert chat.invoke("Hello.", stop=[" and"]).content == "1"
        assert chat.invoke("Hello.", answer_tokens=2).response_metadata["finish_reason"] == "length"
        assert chat.invoke("Hello.").content == "1 and more"  # those were for one question each
        with pytest.raises(TypeError, match="max_tokens"):
            chat.invoke("Hello.", max_tokens=2)


def test_a_library_is_asked(langchain: Any, library: str) -> None:
    with Runtime(SMALL.with_changes(pattern="wim-shallow", relevance="bm25"), model=FakeModel(reply)) as runtime:
        chat = langchain.ChatWimEdge(library=library, runtime=runtime)
        told = chat.invoke("When does the tide turn?").response_metadata
        assert told["sources"][0]["document"] == "tide"
        more = langchain.ChatWimEdge(library=library, documents=Document("blue", TEXT), runtime=runtime)
        both = more.invoke("When does the tide turn?").response_metadata
        assert both["segments"] > told["segments"] == 1
