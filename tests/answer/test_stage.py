"""The answer's stage: what was found, what carries it, and that nothing was."""

from __future__ import annotations

import pytest

from tests.reading.mill import MILL, NONE, SURE, ask
from wim_edge import Document, Runtime, Settings
from wim_edge.answer.judged import NOT_SAID
from wim_edge.testing import FakeModel


def test_a_fact_is_a_run_of_the_text_with_its_sentence() -> None:
    answer = ask(MILL, "Who bought the mill?", "Dr. A. Brandt")
    assert (answer.status, answer.short) == ("answered", "Dr. A. Brandt")
    assert MILL[slice(*answer.span)] == answer.short
    (quote,) = answer.quotes
    assert quote.document == "mill.txt"
    assert quote.chars[0] <= answer.span[0] < answer.span[1] <= quote.chars[1]
    assert quote.text == MILL[slice(*quote.chars)] == "Dr. A. Brandt bought it in 1921."
    assert answer.text == f"Dr. A. Brandt\n\n“{quote.text}”"
    assert answer.usage.decoded_tokens > 0


def test_a_sentence_that_has_a_value_of_its_own_gives_way_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.reading.generate.Grounding._may_follow", lambda *_: True)
    answer = ask(MILL, "What did Brandt pay?", "4,000 crowns", prose=True)
    assert answer.text == "Perhaps: 4,000 crowns\n\n“She paid 4,000 crowns for the old mill.”"
    assert (answer.status, answer.short, answer.unsupported) == ("unsure", "4,000 crowns", ())


def test_a_model_that_writes_does_not_write_what_is_not_there() -> None:
    absent = ask(MILL, "What is the telephone number of Brandt?", "1921", NONE, prose=True)
    assert (absent.status, absent.short, absent.unsupported) == ("not_found", "", ())
    assert absent.text == f"{NOT_SAID}\n\nNearest: “{absent.quotes[0].text}”"
    assert ask(MILL, "Why did Brandt pay so much?", "4,000 crowns", NONE, prose=True).status == "not_found"


def test_the_source_of_the_answer_comes_first() -> None:
    found = [Document("a.txt", "The mill was sold twice."), Document("b.txt", "Ann Lee bought the mill in May.")]
    settings = Settings(pattern="wim-shallow", prose=False, save=False)
    with Runtime(settings, model=FakeModel(lambda prompt: "Ann Lee")) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(found, "Who bought the mill?")
    assert answer.sources[0].document == answer.quotes[0].document
