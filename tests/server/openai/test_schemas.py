"""What OpenAI's requests and replies hold."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Client
from wim_edge.reading import events
from wim_edge.server.openai.schemas import ChatRequest, CompletionReply


@pytest.mark.parametrize("body", [
    lambda: {"messages": [{"role": "user", "content": [1] * 500_000}]},
    lambda: {"messages": [{"role": "user", "content": [{}] * 500_000}]},
    lambda: {"messages": [{}] * 500_000},
    lambda: {"messages": [{"role": "user", "content": "a"}], "stop": [1] * 500_000},
    lambda: {"messages": [{"role": "user", "content": "a"}], "wim_edge": {str(n): 1 for n in range(200_000)}},
])  # fmt: skip
def test_a_million_mistakes_are_one(client: Client, body: Callable[[], dict[str, Any]]) -> None:
    begun = time.process_time()
    assert client.post("/v1/chat/completions", json=body()).status_code == 422
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(("text", "quotes", "unsupported", "below"), [
    ("Anna.\n\n“Anna  signed.” (page 3)", [("Anna signed.", 3, None)], (), ""),
    ("Anna signed it.", [("Anna\nsigned.", 3, None), ("She left.", None, "Costs")], (),
     "\n\n[1] a.pdf, page 3: “Anna signed.”\n[2] a.pdf, Costs: “She left.”"),
    ("Call 123.", [], ("123",), "\n\n(In no passage: 123)"),
    ("Call.", [], (), ""),
])  # fmt: skip
def test_what_stands_below_an_answer(
    text: str, quotes: list[tuple[str, int | None, str | None]], unsupported: tuple[str, ...], below: str
) -> None:
    made = tuple(events.Quote(words, "a.pdf", page, section, (0, 9)) for words, page, section in quotes)
    usage = events.Usage(1, 0, 1, {"total": 1.0}, 1)
    last = events.AnswerFinished(text, "repeated", "wim", "m", (), usage, quotes=made, unsupported=unsupported)
    told = CompletionReply(chat=True, model="m")
    chunks = told.chunks(json.loads(last.to_json()))
    assert told.text == text + below
    assert told.finish_reason == "stop"  # clients know no other
    assert told.reading["finish_reason"] == "repeated"
    assert [chunk["choices"][0]["delta"].get("content") for chunk in chunks] == ([below, None] if below else [None])


def test_a_provisional_answer_is_no_text() -> None:
    quote = events.Quote("Anna signed.", "a.pdf", 3, None, (0, 9))
    told = CompletionReply(chat=True, model="m")
    (chunk,) = told.chunks(json.loads(events.AnswerProvisional("Anna", quote, 0.9, 1, 8).to_json()))
    assert chunk["choices"][0]["delta"] == {}
    assert chunk["wim_edge"]["short"] == "Anna"
    usage = events.Usage(1, 0, 1, {"total": 1.0}, 1)
    last = events.AnswerFinished("Anna.", "stop", "wim-shallow", "m", (), usage, judge="small")
    told.chunks(json.loads(last.to_json()))
    whole = told.whole()
    assert whole["choices"][0]["message"]["content"] == "Anna."
    assert whole["wim_edge"]["judge"] == "small"
    assert "short" in whole["wim_edge"]
    assert "answer.provisional" not in json.dumps(whole)


def test_a_client_names_the_kind_of_answer() -> None:
    body = {"messages": [{"role": "user", "content": "What is needed?"}], "wim_edge": {"answer": "list"}}
    assert ChatRequest.model_validate(body).options() == {"answer": "list"}
    with pytest.raises(ValueError, match="answer"):
        ChatRequest.model_validate(body | {"wim_edge": {"answer": "poem"}})
