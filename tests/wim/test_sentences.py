"""Which sentence answers: runs that are nearly as likely are weighed by what their sentences do for the question."""

from __future__ import annotations

import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.testing import FakeModel
from wim_edge.wim.pointing import Pointed, Run
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.sentences import NEAR, weighed

TEXT = "The mill was sold in 1921. The barn was burnt in 1934."
QUESTION = "When was the barn burnt?"


def run(words: str, logprob: float) -> Run:
    at = TEXT.index(words)
    return Run(at, at + len(words), logprob)


def weigh(*runs: Run, pattern: str = "wim-shallow") -> tuple[list[str], FakeModel]:
    model = FakeModel(lambda prompt: "1921" if "Answer with a few words" in prompt else "")
    settings = Settings(pattern=pattern, margins="verbatim", prose=False, save=False)
    with Runtime(settings, model=model) as runtime:
        runtime.ask(Document("d", TEXT), QUESTION)
        asked = runtime._asked
        assert asked is not None
        live = len(model.contexts[-1].live)
        found = weighed(asked.reading, asked.prompts, {0: Pointed(runs, 0.0, 0.0, 0)}, QUESTION)
        assert len(model.contexts[-1].live) == live
    return [TEXT[one.start : one.end] for one in found[0].runs], model


@pytest.mark.parametrize("pattern", ["wim-shallow", "wim"])
def test_the_sentence_with_the_question_s_words_wins(pattern: str) -> None:
    assert weigh(run("1921", -1.0), run("1934", -2.0), pattern=pattern)[0] == ["1934", "1921"]


def test_what_is_far_less_likely_does_not() -> None:
    assert weigh(run("1921", -1.0), run("1934", -1.5 - NEAR))[0] == ["1921", "1934"]


def test_one_sentence_is_not_measured() -> None:
    _, model = weigh(run("1921", -1.0), run("sold in 1921", -2.0))
    before = [kind for kind, _, _ in model.history]
    _, model = weigh(run("1921", -1.0))
    assert [kind for kind, _, _ in model.history] == before


def test_without_room_it_stays_as_it_was() -> None:
    model = FakeModel(lambda prompt: "1921")
    with Runtime(Settings(pattern="wim", margins="verbatim", save=False), model=model) as runtime:
        runtime.ask(Document("d", TEXT), QUESTION)
        asked = runtime._asked
        assert asked is not None
        model.contexts[-1].n_ctx = len(asked.reading.window.sequence) + 1
        found = {0: Pointed((run("1921", -1.0), run("1934", -2.0)), 0.0, 0.0, 0)}
        assert weighed(asked.reading, Prompts(chat=True), found, QUESTION) == found
