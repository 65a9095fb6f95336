"""A story, a scripted model that reads it, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wim_edge import Document, Runtime, Settings, events
from wim_edge.testing import FakeModel

TEXT = "".join(f"Sentence number {i} speaks of the colour blue and of many things. " for i in range(60))
SMALL = Settings(
    save=False, pattern="wim", relevance="verdict", margins="free", max_passages=8,
    segment_tokens=160, margin_tokens=24, answer_tokens=32,
)  # fmt: skip


def reply(prompt: str) -> str:
    """YES to notes about sentence 12, a note of the last sentence else, and an answer to the final prompt."""
    if "YES or NO" in prompt:
        return "YES" if "number 12 " in prompt.rsplit("Note:", 1)[1] else "NO"
    if "write down" in prompt:
        found = "number 12 is here" if "number 12 " in prompt.split("Question:")[0][-700:] else "nothing here"
        return f"seen: {found}"
    return "the answer is blue"


def recording(says: Callable[[str], str] = reply, **more: Any) -> tuple[FakeModel, list[str]]:
    """A model that answers so, and the prompts that it sees."""
    prompts: list[str] = []
    return FakeModel(lambda prompt: (prompts.append(prompt), says(prompt))[1], **more), prompts


def run(model: FakeModel, chosen: Settings = SMALL, text: str | Document = TEXT, **more: object) -> list[events.Event]:
    document = text if isinstance(text, Document) else Document("story.txt", text)
    with Runtime(chosen, model=model) as runtime:
        return list(runtime.stream(document, "Which colour?", **more))  # type: ignore[arg-type]


def of_type(found: list[events.Event], kind: type) -> list:
    return [event for event in found if type(event) is kind]
