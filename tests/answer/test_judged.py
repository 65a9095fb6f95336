"""The judgement (the likeliest words, yes or no, or a list), and the answer as a person sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.reading.mill import MILL, NONE, SURE, UNSURE, ask
from wim_edge import Decision, Document, Runtime, Settings, events
from wim_edge.answer.candidates import WEIGHTS, AnswerCandidate
from wim_edge.answer.judged import MAY_NOT_SAY, NOT_SAID, NOT_SO_FAR, ROW_TELLS, Judged, pointed_answer
from wim_edge.support import SupportWeights
from wim_edge.testing import FakeModel


def test_half_a_code_is_widened_to_all_of_it() -> None:
    answer = ask("Invoice number: BW-2024-00731\nOrder: BW-1999-11111\n", "invoice number", "2024")
    assert answer.short == "BW-2024-00731"
    assert ask("Total 1,537 EUR", "total?", "Total 1,537 EUR").text == "Total 1,537 EUR"  # the line is not said twice


def test_a_question_for_yes_or_no_has_the_word_first_of_which_a_judge_alone_is_never_sure() -> None:
    answer = ask(MILL, "Did Brandt buy the mill?", "1921", answer="yesno")
    assert answer.short in ("Yes", "No")
    assert answer.text.startswith(f"Perhaps: {answer.short}.\n\n“")
    assert answer.status == "unsure"


def test_of_a_row_no_yes_or_no_is_shown_but_the_row() -> None:
    row = events.Quote("Ann | 12", "t", None, None, (0, 8), "Name | Room")
    best = AnswerCandidate(0, Document("t", row.text), 0, 3, WEIGHTS, share=1.0)
    reading: Any = SimpleNamespace(kind="auto", plan=SimpleNamespace(documents=(best.document,)))
    said = Judged((best,), verdict="No", quotes=(row,), support=1.0)
    assert pointed_answer(reading, said).text.startswith(ROW_TELLS)
    assert pointed_answer(reading, said).status == "unsure"
    assert pointed_answer(reading, replace(said, is_confirmed=True)).text.startswith("No.")


def test_a_list_that_the_words_introduce_has_all_its_items() -> None:
    text = "You need:\n- two eggs\n- a cup of milk\n- some flour\n\nStir all of it for ten minutes.\n"
    answer = ask(text, "What do I need?", "You need")
    assert answer.text == "3 found (line 2):\n- two eggs\n- a cup of milk\n- some flour"
    assert answer.short == "two eggs; a cup of milk; some flour"
    assert ask(text, "How much milk?", "a cup of milk").short == "a cup of milk"
    assert ask(text, "What do I need?", "a cup of milk", answer="list").short == answer.short


def test_of_a_table_a_list_is_a_column_of_the_rows_that_share_words_with_the_question() -> None:
    head = "| Name | House | Room |\n| --- | --- | --- |\n"
    text = head + "| Ann | North | 12 |\n| Bert | South | 3 |\n| Cleo | North | 7 |\n"
    answer = ask(text, "Who are the people in the house North?", "Ann", answer="list")
    assert answer.short == "Ann; Cleo"
    assert [(one.text, one.header[:6]) for one in answer.quotes[1:]] == [
        ("| Ann | North | 12 |", "| Name"), ("| Cleo | North | 7 |", "| Name"),
    ]  # fmt: skip
    assert ask(text, "Who is there?", "Ann", answer="list").short == "Ann; Bert; Cleo"


def test_a_long_answer_is_said_in_its_quotation_alone() -> None:
    text = "Nobody asked. As it says, the trust pays for the wheel, the oak, two stones and the roof. Nobody knew."
    answer = ask(text, "What does the trust pay for?", "the wheel, the oak, two stones and the roof")
    assert len(answer.short.split()) >= 8
    assert answer.text.strip("“”") == answer.quotes[0].text


def test_what_may_be_another_is_said_to_be_unsure() -> None:
    answer = ask(MILL, "Who bought the mill?", "Dr. A. Brandt", UNSURE)
    assert (answer.status, answer.short) == ("unsure", "Dr. A. Brandt")
    assert answer.text.startswith("Perhaps: Dr. A. Brandt\n")


def test_what_is_not_there_is_said_with_the_nearest_passage() -> None:
    answer = ask(MILL, "What is the telephone number of Brandt?", "1921", NONE)
    assert (answer.status, answer.short, answer.span) == ("not_found", "", None)
    assert answer.text == f"{NOT_SAID}\n\nNearest: “{answer.quotes[0].text}”"


def test_where_the_nearest_passage_may_answer_the_words_are_weaker() -> None:
    answer = ask(MILL, "What is the telephone number of Brandt?", "1921", SupportWeights(-1.5, 0, 0, 0, 0))
    assert answer.status == "not_found"
    assert answer.text.startswith(f"{MAY_NOT_SAY}\n\nPerhaps here: “")


def test_of_a_stopped_reading_only_what_was_checked_does_not_say() -> None:
    settings = Settings(pattern="wim-shallow", prose=False, save=False, segment_tokens=64)
    with Runtime(settings, model=FakeModel(lambda _: "1921")) as runtime:
        runtime._loaded.support = NONE
        answer = runtime.ask(Document("mill.txt", MILL * 4), "Who is Quill?", on_margin=lambda _: Decision.ANSWER)
        runtime._loaded.support = SURE
        sure = runtime.ask(Document("mill.txt", MILL * 4), "Who is Quill?", on_margin=lambda _: Decision.ANSWER)
    assert sure.status == "unsure"  # an unread segment may be the one that answers
    assert ask(MILL * 4, "Who is Quill?", "1921", within="1%", segment_tokens=64).status == "unsure"
    assert (answer.finish_reason, answer.status) == ("early_exit", "not_found")
    assert answer.text.startswith(f"{NOT_SO_FAR}\n\nNearest: “")


def test_marks_of_bold_words_are_not_shown() -> None:
    answer = ask("The fee is **4,000 crowns** a year.", "What is the fee?", "**4,000 crowns**")
    assert answer.text == "4,000 crowns\n\n“The fee is 4,000 crowns a year.”"
    assert answer.quotes[0].text == "The fee is **4,000 crowns** a year."


def test_of_several_documents_each_item_has_its_place() -> None:
    found = [Document("a.txt", "Ada wrote the report."), Document("b.txt", "Bill wrote the report too.")]

    def reply(prompt: str) -> str:
        return "Ada" if prompt.rfind("Ada wrote") > prompt.rfind("Bill wrote") else "Bill"

    settings = Settings(pattern="wim-shallow", prose=False, save=False, answer="list")
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(found, "Who wrote the report?")
    assert answer.text == "Perhaps: 2 found:\n- Ada (a.txt)\n- Bill (b.txt)"  # there may be more
    assert ([quote.document for quote in answer.quotes], answer.read_segments) == (["a.txt", "b.txt"], 2)


@pytest.mark.real
@pytest.mark.usefixtures("smollm2")
def test_where_another_passage_answers_differently_both_are_quoted_and_the_answer_is_unsure() -> None:
    garden = "The garden belongs to the house, and the tenants mow the lawn. " * 6
    before, now = "The rent is 1,240 pounds a month.", "From 1 October 2025 on, the rent is 1,315 pounds a month."
    text = f"# Rent\n\n{before} It is paid on the first of each month.\n\n# Garden\n\n{garden}\n\n# Changes\n\n{now}"
    with Runtime(Settings(save=False, segment_tokens=64, within="all")) as runtime:
        answer = runtime.ask(Document("lease.txt", text), "How much is the rent?")
    assert (answer.status, [one.text for one in answer.quotes[:2]]) == ("unsure", [before, now])
    assert answer.text.index(before) < answer.text.index(now)


@pytest.mark.real
@pytest.mark.parametrize(("old", "new", "question", "now"), [
    ("The pool opens at 7:00 on weekdays.", "From 1 May the opening time on weekdays moves from 7:00 to 6:30.",
     "When does the pool open on weekdays?", "6:30"),
    ("Adults take 20 mg of the syrup twice a day.", "Correction: the dose for adults is 10 mg, and not 20 mg.",
     "How much of the syrup do adults take?", "10 mg"),
    ("The shuttle bus leaves from the north gate.", "The shuttle no longer leaves from the north gate, but from Mill "
     "Square.", "From where does the shuttle bus leave?", "Mill Square"),
])  # fmt: skip
def test_what_a_passage_changes_of_another_is_said_with_both(
    old: str, new: str, question: str, now: str, model_file: Callable[[str], Path]
) -> None:
    rest = "The roof was mended twice, and the garden is open to all in summer. Keys hang in the office. " * 5
    text = f"# Papers\n\n## General\n\n{old} {rest}\n\n## Changes\n\n{new} {rest}\n"
    with Runtime(Settings(model=str(model_file("smollm2")), save=False)) as runtime:
        answer = runtime.ask(Document("papers.md", text), question)
    assert (answer.status, answer.short) == ("unsure", now)
    assert [one.text for one in answer.quotes[:2]] == [new, old]
