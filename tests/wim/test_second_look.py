"""The paragraph of the likeliest run, read alone."""

from __future__ import annotations

from wim_edge import Document, Runtime, Settings, events
from wim_edge.testing import FakeModel

STORY = (
    "Lady Ada sang the hymn, while Maria Matlin put it into signs for the crowd in the hall.\n\n"
    "Nobody else was on the stage, and the band had left long before; the lights went out at ten in the evening."
)


def ask(text: str, adapter: bool = False) -> events.AnswerFinished:
    def reply(prompt: str) -> str:
        return "Lady Ada" if "Nobody else" in prompt else "Maria Matlin"

    model = FakeModel(reply)
    model.has_adapter = adapter
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=model) as runtime:
        return runtime.ask(Document("story.txt", text), "Who put the hymn into signs?")


def test_the_paragraph_decides_which_of_two_it_is() -> None:
    assert ask(STORY).short == "Maria Matlin"


def test_a_model_with_an_adapter_is_not_asked_again() -> None:
    assert ask(STORY, adapter=True).short.startswith("Lady")


def test_what_is_nearly_all_of_its_segment_is_not_read_again() -> None:
    assert ask(STORY.replace("\n\n", " ")).short.startswith("Lady")
