"""An answer in a model's words: only what the judge supports, and no value that the passages lack."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.reading import island
from tests.reading.mill import MILL, NONE, SURE, UNSURE
from tests.reading.story import recording
from wim_edge import Document, Runtime, Settings, events
from wim_edge.reading.generate import unsupported
from wim_edge.support import Confirmation, SupportWeights
from wim_edge.testing import FakeModel

PAID = "What did Brandt pay?"


@pytest.mark.parametrize(
    ("text", "missing"),
    [("It cost 4000 crowns in 1921.", ()), ("Call 555-1234 or mail a@b.example.", ("555-1234", "a@b.example")),
     ("4,000 and 4.5", ("4.5",)), ("No number at all", ()), ("In 192, for 21 crowns", ("192", "21")),
     ("She sold it to Carla Weiss, Brandt's friend.", ("Carla", "Weiss")), ("Carla bought it.", ()),
     ('In 1921 Xavier paid "Yvonne".', ("Xavier", "Yvonne"))],
)  # fmt: skip
def test_numbers_and_addresses_that_stand_nowhere(text: str, missing: tuple[str, ...]) -> None:
    assert unsupported(text, [MILL, "in 1921"]) == missing


@pytest.fixture
def ungrounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the model write any value: what would be reported."""
    monkeypatch.setattr("wim_edge.reading.generate.Grounding._may_follow", lambda *_: True)


def test_where_every_noun_has_a_capital_none_is_taken_for_a_name() -> None:
    known = ["Die Miete für die Wohnung und den Keller wird am Ersten des Monats auf das Konto der Firma gezahlt."]
    assert unsupported("Die Miete zahlt der Mieter.", known) == ()


def ask(
    writes: str | Callable[[str], str], *, support: SupportWeights = SURE, short: str = "4,000 crowns",
    confirmation: Confirmation | None = None, text: str = MILL, **changes: object,
) -> events.AnswerFinished:  # fmt: skip
    """Asks what was paid of a judge that points at the short answer, and a model that writes this."""
    settings = Settings(pattern="wim-shallow", save=False).with_changes(**changes)
    reply = writes if callable(writes) else lambda _: writes
    with Runtime(settings, model=FakeModel(reply), judge=FakeModel(lambda _: short)) as runtime:
        runtime._loaded.judge().support = support  # type: ignore[union-attr]
        runtime._loaded.confirmation = confirmation or Confirmation(writer=0.0)
        return runtime.ask(Document("mill.txt", text), PAID)


def test_a_sentence_with_the_run_is_the_answer_with_its_quotation() -> None:
    answer = ask("Brandt paid 4,000 crowns. She was rich.")
    assert answer.text == "Brandt paid 4,000 crowns.\n\n“She paid 4,000 crowns for the old mill.”"
    assert (answer.status, answer.short, answer.unsupported) == ("answered", "4,000 crowns", ())
    assert answer.citations


def test_a_writer_that_says_something_else_is_told_the_run_and_the_answer_is_unsure() -> None:
    def writes(prompt: str) -> str:
        return "Brandt paid 4,000 crowns." if "in the words of the text: 4,000 crowns" in prompt else "It was cheap."

    stubborn = ask("She bought it cheaply.")
    assert stubborn.text == "Perhaps: 4,000 crowns\n\n“She paid 4,000 crowns for the old mill.”"
    assert (stubborn.status, stubborn.short) == ("unsure", "4,000 crowns")
    answer = ask(writes)
    assert answer.text == "Perhaps: Brandt paid 4,000 crowns.\n\n“She paid 4,000 crowns for the old mill.”"
    assert (answer.status, answer.short) == ("unsure", "4,000 crowns")
    agreed = ask("Brandt paid 4,000 crowns.")
    assert [(one.evidence or {})["agreed"] for one in (answer, agreed)] == [0.0, 1.0]
    assert (answer.confidence or 0) < (agreed.confidence or 0) <= 1


def test_a_sentence_of_another_place_brings_its_quotation() -> None:
    answer = ask("The mill stood by the river.", short="in 1921", short_answer="writer")
    own, judged = (quote.text for quote in answer.quotes)
    assert (judged, own) == ("Dr. A. Brandt bought it in 1921.", "The mill stood by the river.")
    assert answer.text == f"Perhaps: The mill stood by the river.\n\n“{own}”\n“{judged}”"


def test_a_sentence_of_a_list_brings_the_whole_list() -> None:
    text = f"{MILL}\n\nShe bought:\n- two sieves\n- a cart\n- three ropes\n"
    answer = ask("Two sieves, a cart and three ropes.", short="in 1921", text=text, short_answer="writer")
    assert answer.quotes[0].text == "- two sieves\n- a cart\n- three ropes"
    assert ask("A cart.", short="in 1921", text=text, short_answer="writer").quotes[0].text == "- a cart"


@pytest.mark.usefixtures("ungrounded")
@pytest.mark.parametrize("writes", ["She paid 4,000 crowns and 12 more.", "So says Carla Weiss.", ""])
def test_where_the_sentence_invents_something_the_run_is_the_answer(writes: str) -> None:
    answer = ask(writes)
    assert answer.text == "Perhaps: 4,000 crowns\n\n“She paid 4,000 crowns for the old mill.”"
    assert (answer.status, answer.short, answer.unsupported) == ("unsure", "4,000 crowns", ())


@pytest.mark.usefixtures("ungrounded")
def test_a_writer_that_points_better_gives_the_short_answer_and_is_unsure_where_the_judge_says_another() -> None:
    agreed = ask("4,000 crowns.", short_answer="writer")
    assert (agreed.status, agreed.short) == ("answered", "4,000 crowns")
    other = ask("4,000 crowns.", short="in 1921", short_answer="writer")
    assert (other.status, other.short, other.span) == ("unsure", "4,000 crowns", None)
    assert other.text.startswith("Perhaps: 4,000 crowns.\n\n")
    assert ask("5,000 crowns.", short="in 1921", short_answer="writer").text.startswith("Perhaps: in 1921\n")


def test_yes_or_no_is_the_writer_s_if_its_answer_comes_first_and_sure_if_the_quotation_alone_says_so_too() -> None:
    yes, no = (ask(says, answer="yesno", short_answer="writer") for says in ("Yes", "No"))
    assert [(one.short, one.status) for one in (yes, no)] == [("Yes", "answered"), ("No", "answered")]
    assert yes.text == "Yes.\n\n“She paid 4,000 crowns for the old mill.”"
    alone = lambda prompt: "No" if "by the river" in prompt else "Yes"  # noqa: E731
    assert ask(alone, answer="yesno", short_answer="writer").status == "unsure"
    assert {ask(says, answer="yesno").status for says in ("Yes", "No")} == {"unsure"}  # the judge's own


def test_where_yes_or_no_is_asked_a_writer_that_sees_no_answer_may_mean_no() -> None:
    writer = {"short_answer": "writer", "confirmation": Confirmation(writer=0.5), "support": UNSURE}
    assert [ask("No", answer=kind, **writer).status for kind in ("yesno", "fact")] == ["unsure", "not_found"]


def test_whether_the_passages_answer_is_asked_of_the_writer_where_that_may_change_the_status() -> None:
    def asked(word: str, support: SupportWeights, weight: float) -> events.AnswerFinished:
        says = lambda prompt: word if "Does the text answer" in prompt else "She paid 4,000 crowns."  # noqa: E731
        return ask(says, support=support, confirmation=Confirmation(writer=weight))

    denied, kept = asked("No", UNSURE, 0.5), asked("Yes", NONE, 0.5)
    assert (denied.status, kept.status) == ("not_found", "not_found")
    assert (denied.evidence or {})["writer"] < 0
    assert sorted(kept.evidence or {}) == ["answers", "likelihood", "missing", "run", "share"]  # not asked
    assert [asked("No", UNSURE, 0).status, asked("Yes", UNSURE, 0.5).status] == ["unsure", "answered"]
    assert asked("Yes", NONE, 1.5).text.startswith("She paid 4,000 crowns.")


def test_a_request_for_a_summary_is_one_also_where_no_kind_is_named() -> None:
    def writes(prompt: str) -> str:
        return "Yes" if "want a summary" in prompt else "It is about a mill."

    wanted, other = (ask(writes, support=UNSURE, short_answer=first) for first in ("writer", "judge"))
    assert (wanted.text, wanted.quotes[0].text) == ("It is about a mill.", MILL)
    assert wanted.status == "answered"
    assert other.text.startswith("Perhaps: ")
    looped = ask("It is a mill by the river. " * 20, answer="summary")
    assert (looped.finish_reason, looped.text) == ("repeated", f"“{MILL}”")


@pytest.mark.usefixtures("ungrounded")
def test_an_explanation_is_written_and_one_with_a_value_of_its_own_is_unsure() -> None:
    assert ask("Crowns, and a mill.", answer="free").text == "Crowns, and a mill."
    assert ask("Crowns, and a mill.", answer="free").short == ""  # not said by the text
    loose = ask("She paid 12 crowns.", answer="free")
    assert (loose.status, loose.unsupported) == ("unsure", ("12",))


def stream(**changes: object) -> list[events.Event]:
    settings = Settings(pattern="wim-shallow", save=False, prose=False, segment_tokens=48, within="all")
    others = (f"The weather of day {n} was fine, and nobody was out." for n in range(30))
    text = "\n\n".join(["She paid 4,000 crowns for the old mill.", *others])
    with Runtime(settings.with_changes(**changes), model=FakeModel(lambda _: "4,000 crowns")) as runtime:
        runtime._loaded.support = SURE
        return list(runtime.stream(Document("mill.txt", text), PAID))


def test_a_sure_answer_is_told_while_the_reading_goes_on() -> None:
    found = stream()
    early = [event for event in found if isinstance(event, events.AnswerProvisional)]
    assert early[0].short == "4,000 crowns"
    assert all(one.short != other.short for one, other in pairwise(early))
    assert early[0].quote.text == "She paid 4,000 crowns for the old mill."
    assert early[0].read_segments == 1 < early[0].segments
    last = island.finished(found)
    assert last.read_segments == early[0].segments


def test_first_ends_the_reading_with_it() -> None:
    last = stream(first=True)[-1]
    assert isinstance(last, events.AnswerFinished)
    assert (last.short, last.read_segments, last.finish_reason) == ("4,000 crowns", 1, "early_exit")


def test_passages_that_the_writer_s_context_does_not_hold_are_left_out() -> None:
    model, seen = recording(lambda prompt: "4,000 crowns", n_ctx_train=512)
    said = (f"Brandt paid for mill {n} in the year {1900 + n}, said the clerk of the town." for n in range(60))
    text = "\n\n".join(said)
    settings = Settings(pattern="wim-shallow", save=False, answer_tokens=32, segment_tokens=128)
    with Runtime(settings, model=model, judge=FakeModel(lambda _: "4,000 crowns")) as runtime:
        runtime._loaded.judge().support = SURE  # type: ignore[union-attr]
        assert runtime.ask(Document("mill.txt", text), PAID).status != "not_found"
    assert seen
    assert model.contexts[0].n_ctx <= 512
