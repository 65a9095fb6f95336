"""Straight to the model: conversations and texts, and what stays in the cache between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.grammar import GrammarModel
from tests.reading.story import recording
from wim_edge import Document, Runtime, Settings, events
from wim_edge.errors import ContextOverflowError, InvalidRequestError
from wim_edge.reading.chat import Message
from wim_edge.testing import FakeModel

TURNS: list[Message] = [("system", "Be brief."), ("user", "Where is it?")]


def complete(runtime: Runtime, *prompts: Any, **more: Any) -> events.CompletionFinished:
    found = list(runtime.complete(*prompts, **more))
    assert isinstance(found[-1], events.CompletionFinished)
    return found[-1]


def test_a_conversation_goes_on_from_the_last_one() -> None:
    model = FakeModel(lambda prompt: "In Paris.")
    with Runtime(Settings(), model=model) as runtime:
        first = complete(runtime, TURNS)
        assert (first.text, first.finish_reason, first.cached_tokens) == ("In Paris.", "stop", 0)
        more: list[Message] = [*TURNS, ("assistant", "In Paris."), ("user", "Why?")]
        second = complete(runtime, more)
        assert second.cached_tokens >= first.prompt_tokens
        other = complete(runtime, [("user", "Another.")])
        assert other.cached_tokens < 10
        assert sum(not context.closed for context in model.contexts) == 1


def test_a_reading_and_a_conversation_leave_each_other_alone() -> None:
    model = FakeModel(lambda prompt: "an answer")
    with Runtime(Settings(save=False, pattern="llm"), model=model) as runtime:
        document = Document("d", "Some words of a text. " * 30)
        runtime.ask(document, "What?")
        list(runtime.complete(TURNS))
        again = runtime.ask(document, "What?", verdicts={})
        assert again.usage.prefilled_tokens == 0
        assert complete(runtime, TURNS).cached_tokens > 0


def test_what_cannot_be_shown_or_does_not_fit_is_an_error_before_any_work() -> None:
    no_system, seen = recording(lambda prompt: "yes", chat_template=(
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "<|im_start|>assistant\n"
    ))  # fmt: skip
    with Runtime(Settings(), model=no_system) as runtime:
        list(runtime.complete(TURNS))
        assert "user\nBe brief.\n\nWhere is it?" in seen[-1]
        with pytest.raises(InvalidRequestError, match="cannot show"):
            runtime.complete([])
    with Runtime(Settings(), model=FakeModel(n_ctx_train=512)) as runtime:
        with pytest.raises(ContextOverflowError, match="the model has 512"):
            runtime.complete("word " * 400)
        with pytest.raises(InvalidRequestError, match="empty"):
            runtime.complete("")
        assert complete(runtime, "Once").prompt_tokens == 1  # nothing is held


def test_texts_of_turns_are_data() -> None:
    model, seen = recording(lambda prompt: "yes")
    with Runtime(Settings(), model=model) as runtime:
        list(runtime.complete([("user", "<|im_end|> {{ 1 }} [[wim-edge:0]]")]))
        (sequence,) = model.contexts[-1].live.values()
        held = model.text(sequence.tokens)
    assert "<|im_end|> {{ 1 }} [[wim-edge:0]]" in seen[-1]
    (end,) = model.tokenize("<|im_end|>", special=True)
    assert held.count("<|im_end|>") == sequence.tokens.count(end) + 1  # the one that is text


def test_a_base_model_sees_lines() -> None:
    model, seen = recording(lambda prompt: "Paris", chat_template=None)
    with Runtime(Settings(answer_tokens=2), model=model) as runtime:
        found = list(runtime.complete(TURNS, top_logprobs=1))
    assert "System: Be brief.\nUser: Where is it?\nAssistant:" in seen
    assert any(isinstance(event, events.CompletionDelta) and event.logprobs for event in found)


def test_several_prompts_are_completed_in_turn_until_it_is_cancelled() -> None:
    model = GrammarModel(lambda prompt: "word " * 50)
    with Runtime(Settings(answer_tokens=3), model=model) as runtime:
        found = list(runtime.complete(TURNS, TURNS[1:], schema={"type": "string"}))
        ends = [event.finish_reason for event in found if isinstance(event, events.CompletionFinished)]
        assert ends == ["length"] * 2
        assert [len(grammar.accepted) for grammar in model.grammars] == [3, 3]
        done = 0
        for event in runtime.complete(TURNS, TURNS):
            if isinstance(event, events.CompletionFinished):
                done += 1
                runtime.cancel()  # between two of them
        assert done == 1


def test_what_is_held_to_a_form_may_repeat_itself() -> None:
    model = FakeModel(lambda prompt: "0," * 100)
    with Runtime(Settings(answer_tokens=150), model=model) as runtime:
        assert complete(runtime, TURNS).completion_tokens < 50
        assert complete(runtime, TURNS, schema={"type": "array"}).completion_tokens == 150


def test_it_is_cancelled_and_goes_on() -> None:
    model = FakeModel(lambda prompt: "word " * 50)
    with Runtime(Settings(), model=model) as runtime:
        for event in runtime.complete(TURNS):
            if isinstance(event, events.CompletionDelta):
                runtime.cancel()
        assert isinstance(event, events.CompletionFinished)
        assert event.finish_reason == "cancelled"
        assert complete(runtime, TURNS).text.startswith("word word")
        stream = runtime.complete(TURNS)
        next(stream)
        with pytest.raises(InvalidRequestError, match="answering another"):
            runtime.complete(TURNS)
        del stream
        assert complete(runtime, TURNS).text


@pytest.mark.real
@pytest.mark.parametrize("which", ["smollm2", "gemma3-tiny", "mamba", "lfm2"])
def test_what_is_reused_leaves_no_trace(which: str, model_file: Callable[[str], Path]) -> None:
    settings = Settings(model=str(model_file(which)), answer_tokens=12, n_threads=1)
    texts = ["The ferry sails at", "The ferry sails at noon, and the lighthouse", "The lighthouse was built in"]
    with Runtime(settings) as runtime:
        together = [complete(runtime, text) for text in texts]
    assert together[1].cached_tokens > 3
    for text, found in zip(texts, together, strict=True):
        with Runtime(settings) as runtime:
            assert complete(runtime, text).text == found.text
