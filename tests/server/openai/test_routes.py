"""The OpenAI-compatible API, through the `openai` package's own client."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import Client, serving
from tests.server.slow import TEXT, Slow, until
from wim_edge import Runtime, Settings
from wim_edge.server.app import create_app
from wim_edge.server.openai.routing import LONG


def user(text: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def named(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "it", "schema": schema, "strict": True}}


def test_a_chat_goes_straight_to_the_model(api: Any, model: Slow) -> None:
    seen: list[str] = []
    model.reply = lambda prompt: (seen.append(prompt), "Paris, of course.")[1]  # type: ignore[func-returns-value]
    messages = [
        {"role": "system", "content": "Be brief."}, *user("Where is the <|im_end|> tower?"),
        {"role": "assistant", "content": "In Paris."}, *user([{"type": "text", "text": "Really?"}]),
    ]  # fmt: skip
    found = api.chat.completions.create(model="default", messages=messages)
    assert found.choices[0].message.content == "Paris, of course."
    assert found.choices[0].finish_reason == "stop"
    assert found.usage.completion_tokens > 3
    assert found.usage.prompt_tokens_details.cached_tokens == 0
    assert seen[-1].count("<|im_start|>") == 5
    assert seen[-1].index("Be brief.") < seen[-1].index("In Paris.") < seen[-1].index("Really?")
    again = api.chat.completions.create(
        model="default", messages=[*messages, {"role": "assistant", "content": "Paris, of course."}, *user("Why?")]
    )
    assert again.usage.prompt_tokens_details.cached_tokens >= found.usage.prompt_tokens - 1


WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
CALL = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"town": "Oslo"}'}}
CALLED = [*user("How cold is it?"), {"role": "assistant", "content": None, "tool_calls": [CALL]},
          {"role": "tool", "tool_call_id": "1", "content": "12 degrees"}]  # fmt: skip


@pytest.mark.parametrize(("fields", "status", "said"), [
    ({"tools": [WEATHER], "tool_choice": "none"}, 200, ""), ({"functions": [{}], "function_call": "none"}, 200, ""),
    ({"modalities": ["text"], "logit_bias": {}, "presence_penalty": 0, "frequency_penalty": 0.0}, 200, ""),
    ({"tools": [WEATHER]}, 400, "tools is not"), ({"tools": [WEATHER], "tool_choice": "auto"}, 400, "tools is not"),
    ({"tools": [WEATHER], "tool_choice": "required"}, 400, "tools is not"),
    ({"tools": [WEATHER], "tool_choice": WEATHER}, 400, "tools is not"),
    ({"presence_penalty": 0.1}, 400, "presence_penalty is not"), ({"modalities": ["text", "audio"]}, 400, "modalities"),
    ({"messages": user([{"type": "image_url", "image_url": {"url": "data:,"}}])}, 400, "pictures and sound cannot"),
])  # fmt: skip
def test_fields_that_change_nothing_pass(client: Client, fields: dict[str, Any], status: int, said: str) -> None:
    response = client.post("/v1/chat/completions", json={"messages": user("a?"), "max_tokens": 2, **fields})
    assert response.status_code == status, response.text
    assert not said or said in response.json()["error"]["message"]


@pytest.mark.parametrize("more", [[], [{"role": "assistant", "content": "It is 12."}, *user("And tomorrow?")],
                                  [{"role": "function", "name": "weather", "content": "13"}]])  # fmt: skip
def test_calls_and_results_of_tools_are_text_of_the_conversation(api: Any, model: Slow, more: list[Any]) -> None:
    seen: list[str] = []
    model.reply = lambda prompt: (seen.append(prompt), "It is cold.")[1]  # type: ignore[func-returns-value]
    found = api.chat.completions.create(model="default", messages=[*CALLED, *more])
    assert found.choices[0].message.content == "It is cold."
    told = ["How cold is it?", 'weather({"town": "Oslo"})', "12 degrees", *(one["content"] for one in more)]
    assert [text for text in told if text not in seen[-1]] == []
    assert sorted(told, key=seen[-1].index) == told
    assert seen[-1].count("<|im_start|>user") == 2 + len(more) // 2


def test_a_long_result_of_a_tool_is_read_and_the_users_question_asked(api: Any) -> None:
    found = api.chat.completions.create(
        model="", messages=[*CALLED[:2], {**CALLED[2], "content": f"{TEXT * 4}\n\nWho wrote this?"}]
    )
    assert found.wim_edge["sources"]
    assert "question" not in found.wim_edge
    assert found.choices[0].message.content.startswith("an answer with")


@pytest.mark.parametrize("text", ["Count.", f"{TEXT * 4}\n\nWhich colour?"])
def test_all_chunks_and_the_answer_name_the_same_model(api: Any, text: str) -> None:
    options: dict[str, Any] = {"model": "default", "messages": user(text), "extra_body": {"return_progress": True}}
    chunks = api.chat.completions.create(**options, stream=True, stream_options={"include_usage": True})
    whole = api.chat.completions.create(**options)
    assert {chunk.model for chunk in chunks} == {whole.model} == {"fake"}


def test_a_stream_has_the_same_text_and_its_usage(api: Any, model: Slow) -> None:
    model.reply = lambda prompt: "One two three four."
    options: dict[str, Any] = {"model": "default", "messages": user("Count."), "stream": True}
    chunks = list(api.chat.completions.create(**options, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "One two three four."
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage.total_tokens > 0
    chunks = list(api.chat.completions.create(**options, extra_body={"return_progress": True}))
    progress = [c.prompt_progress for c in chunks if getattr(c, "prompt_progress", None)]
    assert progress[-1]["processed"] == progress[-1]["total"] > progress[0]["cache"] > 0
    assert {"total", "cache", "processed", "time_ms"} == set(progress[0])


def test_what_ends_an_answer(api: Any, model: Slow) -> None:
    model.reply = lambda prompt: "One two three four five six."
    assert api.chat.completions.create(model="", messages=user("a?"), stop="four").choices[0].message.content == (
        "One two three "
    )
    cut = api.chat.completions.create(model="", messages=user("a?"), stop=["six", "two"], seed=3, temperature=0.5)
    assert cut.choices[0].message.content == "One "
    cut = api.chat.completions.create(model="", messages=user("a?"), max_tokens=3)
    assert cut.choices[0].finish_reason == "length"
    assert cut.usage.completion_tokens == 3
    assert api.completions.create(model="", prompt="Once upon a time").choices[0].text


@pytest.mark.parametrize(("form", "said"), [
    ({"type": "json_object"}, {"type": "object"}), (named({"type": "integer"}), {"type": "integer"}),
    ({"type": "text"}, None),
])  # fmt: skip
def test_an_answer_is_held_to_its_form(api: Any, model: Slow, form: dict[str, Any], said: Any) -> None:
    model.reply = lambda prompt: '{"colour": "blue"}'
    options: dict[str, Any] = {"model": "", "messages": user("a?"), "response_format": form}
    chunks = list(api.chat.completions.create(**options, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == '{"colour": "blue"}'
    found = api.chat.completions.create(**options, logprobs=True)
    assert found.choices[0].message.content == '{"colour": "blue"}'
    assert len(model.grammars) == (2 if said else 0)
    assert all(grammar.schema == said and len(grammar.accepted) > 5 for grammar in model.grammars)


def test_several_prompts_are_several_choices(api: Any, model: Slow) -> None:
    model.reply = lambda prompt: "nothing"  # not asked: a text goes on from its own words
    options: dict[str, Any] = {"model": "", "prompt": ["One", "Two and two", "One"], "max_tokens": 2, "logprobs": 1}
    alone = [api.completions.create(**{**options, "prompt": prompt}) for prompt in options["prompt"]]
    found = api.completions.create(**options)
    assert [one.index for one in found.choices] == [0, 1, 2]
    assert [one.text for one in found.choices] == [one.choices[0].text for one in alone]
    assert [one.logprobs.tokens for one in found.choices] == [one.choices[0].logprobs.tokens for one in alone]
    assert {one.finish_reason for one in found.choices} == {one.choices[0].finish_reason for one in alone}
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert getattr(found.usage, name) == sum(getattr(one.usage, name) for one in alone)
    *chunks, last = api.completions.create(**options, stream=True, stream_options={"include_usage": True})
    told = [chunk.choices[0].index for chunk in chunks]
    assert told == sorted(told)
    assert [index for index, chunk in zip(told, chunks, strict=True) if chunk.choices[0].finish_reason] == [0, 1, 2]
    for index, one in enumerate(found.choices):
        assert "".join(c.choices[0].text for c in chunks if c.choices[0].index == index) == one.text
    assert last.usage.total_tokens == found.usage.total_tokens


@pytest.mark.parametrize(("prompt", "status"), [([], 422), (["a"] * 65, 422), (["a", ""], 400), ([1, 2], 422),
                                                (["a", "word " * 9000], 413)])  # fmt: skip
def test_several_prompts_have_limits(client: Client, prompt: list[Any], status: int) -> None:
    response = client.post("/v1/completions", json={"prompt": prompt, "max_tokens": 2})
    assert response.status_code == status, response.text


def test_log_probabilities(api: Any, model: Slow) -> None:
    model.reply = lambda prompt: "One two"
    found = api.chat.completions.create(model="", messages=user("a?"), logprobs=True, top_logprobs=2)
    tokens = found.choices[0].logprobs.content
    assert "".join(token.token for token in tokens) == "One two"
    assert all(-0.01 < token.logprob <= 0 for token in tokens)
    assert all(len(token.top_logprobs) == 2 and token.top_logprobs[0].token == token.token for token in tokens)
    stream = api.chat.completions.create(model="", messages=user("a?"), logprobs=True, top_logprobs=1, stream=True)
    told = [token.token for chunk in stream if chunk.choices[0].logprobs for token in chunk.choices[0].logprobs.content]
    assert "".join(told) == "One two"
    cut = api.chat.completions.create(model="", messages=user("a?"), logprobs=True, stop="two").choices[0]
    assert "".join(token.token for token in cut.logprobs.content) == cut.message.content == "One "
    assert api.completions.create(model="", prompt="x", extra_body={"logprobs": False}).choices[0].logprobs is None
    text = api.completions.create(model="", prompt="x", logprobs=2).choices[0].logprobs
    assert len(text.tokens) == len(text.token_logprobs) == len(text.top_logprobs) > 0
    assert len(text.top_logprobs[0]) == 2


def test_a_long_message_is_read_with_margins(api: Any) -> None:
    text = TEXT * 4
    found = api.chat.completions.create(model="", messages=user(f"{text}\n\nWhich colour?"))
    assert found.choices[0].message.content.startswith("an answer with")
    extra = found.wim_edge
    assert {margin["type"] for margin in extra["margins"]} == {"margin.judged"}
    assert extra["sources"][0]["document"] == "message"
    assert found.usage.prompt_tokens > LONG
    again = api.chat.completions.create(model="", messages=[*user(text), *user("Which things?")], stream=True)
    chunks = list(again)
    told = [chunk.wim_edge["type"] for chunk in chunks[:-1] if getattr(chunk, "wim_edge", None)]
    assert told[0] == "reading.started"
    assert "margin.judged" in told
    assert chunks[-1].wim_edge["sources"]
    known = api.chat.completions.create(model="", messages=[*user("Hello."), *user(text), *user("Which things?")])
    assert known.usage.prompt_tokens_details.cached_tokens > LONG  # read once
    assert "not shown to the model" in known.wim_edge["warnings"][0]["text"]


def test_a_question_in_the_system_message_is_answered_and_parts_travel(api: Any) -> None:
    messages = [{"role": "system", "content": "Which colour is it?"}, *user(TEXT * 4)]
    found = api.chat.completions.create(model="", messages=messages)
    extra = found.wim_edge
    assert {"status", "short", "span", "quotes", "support", "unsupported"} <= extra.keys()
    assert "question" not in extra
    text = found.choices[0].message.content
    assert text.startswith("an answer with")
    chunks = list(api.chat.completions.create(model="", messages=messages, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text


def test_how_a_question_was_understood_is_said_in_the_reply(api: Any) -> None:
    found = api.chat.completions.create(model="", messages=user(TEXT * 4))
    assert found.wim_edge["question"]["why"].startswith("it is not clear what is asked")
    assert "(Asked as: “Sentence number 39 speaks" in found.choices[0].message.content
    talk = [*user(f"{TEXT * 4}\n\nWhat was blue in 2023?"), {"role": "assistant", "content": "The sea."},
            *user("and in 2022?")]  # fmt: skip
    found = api.chat.completions.create(model="", messages=talk, stream=True)
    chunks = list(found)
    assert chunks[-1].wim_edge["question"]["asked_as"] == "What was blue in 2023? (The sea) and in 2022?"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert "(Asked as: “What was blue in 2023? (The sea) and in 2022?”" in text


def test_files_are_read(api: Any, client: Client) -> None:
    import openai

    data = "data:text/plain;base64," + base64.b64encode(TEXT.encode()).decode()
    part = {"type": "file", "file": {"filename": "story.txt", "file_data": data}}
    found = api.chat.completions.create(model="", messages=user([part, {"type": "text", "text": "Which colour?"}]))
    assert found.wim_edge["sources"][0]["document"] == "story"
    (kept,) = client.ok(client.get("/api/documents"))
    by_id = {"type": "file", "file": {"file_id": f"file-{kept['id']}"}}
    found = api.chat.completions.create(model="", messages=user([by_id, {"type": "text", "text": "Which colour?"}]))
    assert found.usage.prompt_tokens_details.cached_tokens > 0
    for wrong in ({"file_id": "file-99"}, {"file_id": "../etc"}, {"file_data": "data:;base64,!!"}, {"filename": "a"}):
        with pytest.raises(openai.APIStatusError) as caught:
            api.chat.completions.create(model="", messages=user([{"type": "file", "file": wrong}]))
        assert caught.value.status_code in (400, 404)


def test_reading_can_be_asked_for_or_not(api: Any) -> None:
    read = api.chat.completions.create(
        model="", messages=user("The sea is blue.\n\nWhich colour?"), extra_body={"wim_edge": {"read": True, "pattern":
                                                                                         "rag"}},
    )  # fmt: skip
    assert read.wim_edge["pattern"] == "rag"
    straight = api.chat.completions.create(
        model="", messages=user(TEXT * 4 + "\n\nWhich?"), extra_body={"wim_edge": {"read": False}}
    )
    assert not hasattr(straight, "wim_edge")
    assert straight.usage.prompt_tokens > LONG


@pytest.mark.parametrize(
    ("body", "status", "begun"),
    [({"messages": user("a"), "n": 2}, 422, False),
     ({"messages": user("a"), "response_format": {"type": "json_schema"}}, 400, False),
     ({"messages": user("a"), "response_format": {"type": "xml"}}, 422, False),
     ({"messages": user(TEXT * 4 + "\n\nWhich?"), "response_format": {"type": "json_object"}}, 400, True),
     ({"messages": []}, 422, False), ({"messages": user("a"), "temperature": 0.001}, 400, False),
     ({"messages": [{"role": "assistant", "content": "a"}]}, 400, True),
     ({"messages": user("a " * 900), "max_tokens": 8000}, 413, True),
     ({"messages": user(TEXT * 4 + "\n\nWhich?"), "logprobs": True}, 400, True)],
)  # fmt: skip
def test_what_cannot_be_done_is_an_error(client: Client, body: dict[str, Any], status: int, begun: bool) -> None:
    """``begun``: it is known once the texts are looked at, where a stream has begun."""
    response = client.post("/v1/chat/completions", json=body)
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["message"]
    streamed = client.post("/v1/chat/completions", json={**body, "stream": True})
    assert streamed.status_code == (200 if begun else status)
    if begun:
        first, last = [line.removeprefix("data: ") for line in streamed.text.splitlines() if line]
        assert json.loads(first)["error"]["type"] == error["type"]
        assert last == "[DONE]"


def test_models_are_those_on_this_disk(api: Any, own_model: str) -> None:
    import openai

    assert [one.id for one in api.models.list()] == ["default", own_model]
    assert api.models.retrieve(own_model).id == own_model
    for name in ("no-such", "qwen3-8b"):
        with pytest.raises(openai.NotFoundError, match="is not on this disk"):
            api.models.retrieve(name)


def test_who_goes_away_cancels(client: Client, model: Slow) -> None:
    model.reply, model.seconds = lambda prompt: " ".join(f"word{n}" for n in range(500)), 0.02
    body = {"messages": user("a?"), "max_tokens": 1000}
    with client.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as response:
        next(response.iter_lines())
    with pytest.raises(httpx.ReadTimeout):
        client.post("/v1/chat/completions", json=body, timeout=0.5)
    until(lambda: not client.ok(client.get("/api/status"))["waiting"])
    assert len([what for what, _, n in model.history if (what, n) == ("append", 1)]) < 500  # of two thousand tokens


@pytest.mark.real
def test_a_real_model_chats_and_reads(smollm2: Path, long_text: str) -> None:
    import openai

    short = {"answer_tokens": 8, "margin_tokens": 8, "segment_tokens": 128}
    app = create_app(Settings(model=str(smollm2), judge="self", pattern="wim-shallow", **short))
    with serving(app) as address, openai.OpenAI(base_url=f"{address}/v1", api_key="none") as api:
        first = api.chat.completions.create(model="default", messages=user("What is the capital of France?"))
        same = api.chat.completions.create(model="default", messages=user("What is the capital of France?"))
        assert same.choices[0].message.content == first.choices[0].message.content
        assert same.usage.prompt_tokens_details.cached_tokens == first.usage.prompt_tokens - 1
        place = named({"type": "object", "properties": {"city": {"enum": ["Rome", "Paris"]}}, "required": ["city"],
                       "additionalProperties": False})  # fmt: skip
        asked = user("What is the capital of France?")
        held = api.chat.completions.create(
            model="default", messages=asked, response_format=place, max_tokens=40, temperature=0.7, stream=True
        )
        assert json.loads("".join(chunk.choices[0].delta.content or "" for chunk in held))["city"] in ("Rome", "Paris")
        with pytest.raises(openai.BadRequestError, match="is not supported"):
            api.chat.completions.create(
                model="default", messages=asked, response_format=named({"$ref": "https://example.org"})
            )
        cut = api.chat.completions.create(model="default", messages=asked, response_format={"type": "json_object"})
        assert (cut.choices[0].message.content[0], cut.choices[0].finish_reason) == ("{", "length")  # of eight tokens
        seeded = [
            api.completions.create(model="default", prompt="Once", temperature=1.0, seed=7).choices[0].text
            for _ in range(2)
        ]
        assert seeded[0] == seeded[1]
        read = api.chat.completions.create(
            model="default", messages=user(f"{long_text[:4800]}\n\nWho may copy it?"), stream=True
        )
        chunks = list(read)
        assert any(getattr(chunk, "wim_edge", {}).get("type") == "margin.judged" for chunk in chunks)
        assert chunks[-1].wim_edge["sources"]


def test_the_judge_counts_a_message_and_the_writer_is_asked_when_it_writes(make: Any, model: Slow) -> None:
    judge = Slow()
    judge.reply = lambda prompt: "blue"
    settings = Settings(pattern="wim-shallow", answer_tokens=8, save=False)
    app = make(settings=settings, open_runtime=lambda one: Runtime(one, model=model, judge=judge))
    with serving(app) as address, Client(base_url=address, timeout=30) as client:
        body = {"messages": user(f"{TEXT * 4}\n\nWhich colour?"), "wim_edge": {"first": True}}
        found = client.ok(client.post("/v1/chat/completions", json=body))
        assert found["wim_edge"]["judge"] == "fake"
        body["wim_edge"] = {"judge": "self"}
        assert client.ok(client.post("/v1/chat/completions", json=body))["wim_edge"]["judge"] is None
        body["wim_edge"] = {"judge": "/etc/passwd"}
        assert client.post("/v1/chat/completions", json=body).status_code == 404
