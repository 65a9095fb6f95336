"""The parts of an answer: what was found, what carries it, and that nothing was."""

from __future__ import annotations

import pytest

from tests.wim.mill import MILL, NONE, SURE, UNSURE, ask
from wim_edge import Document, Runtime, Settings
from wim_edge.support import SupportWeights
from wim_edge.testing import FakeModel
from wim_edge.wim.answer_parts import MAY_NOT_SAY, NOT_SAID


def test_a_fact_is_a_run_of_the_text_with_its_sentence() -> None:
    answer = ask(MILL, "Who bought the mill?", "Dr. A. Brandt")
    assert (answer.status, answer.short) == ("answered", "Dr. A. Brandt")
    assert answer.span is not None
    assert MILL[slice(*answer.span)] == answer.short
    (quote,) = answer.quotes
    assert quote.text == MILL[slice(*quote.chars)] == "Dr. A. Brandt bought it in 1921."
    assert answer.text == f"Dr. A. Brandt\n\n“{quote.text}”"
    assert answer.usage.decoded_tokens > 0


def test_a_short_answer_that_is_the_whole_line_is_not_said_twice() -> None:
    assert ask("Total 1,537 EUR", "total?", "Total 1,537 EUR").text == "Total 1,537 EUR"


def test_a_long_answer_is_said_in_its_quotation_alone() -> None:
    text = "Nobody asked. As it says, the trust pays for the wheel, the oak, two stones and the roof. Nobody knew."
    answer = ask(text, "What does the trust pay for?", "the wheel, the oak, two stones and the roof")
    assert len(answer.short.split()) >= 8
    assert answer.text.strip("“”") == answer.quotes[0].text


def test_half_a_code_is_widened_to_all_of_it() -> None:
    answer = ask("Invoice number: BW-2024-00731\nOrder: BW-1999-11111\n", "invoice number", "2024")
    assert answer.short == "BW-2024-00731"


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


def test_a_question_for_yes_or_no_has_the_word_first() -> None:
    answer = ask(MILL, "Did Brandt buy the mill?", "1921")
    assert answer.short in ("Yes", "No")
    assert answer.text.startswith(f"{answer.short}.\n\n“")


@pytest.mark.parametrize(("yes", "affirmed", "denied"), [(1.0, "Yes", "No"), (4.0, "Yes", "Yes"), (-1.0, "No", "No")])
def test_a_sentence_that_says_no_is_hardly_a_yes(
    monkeypatch: pytest.MonkeyPatch, yes: float, affirmed: str, denied: str
) -> None:
    monkeypatch.setattr("wim_edge.wim.answer_parts._yes", lambda reading, found: yes)
    assert ask("Cars are carried.", "Are cars carried?", "Cars").short == affirmed
    assert ask("Cars are not carried.", "Are cars carried?", "Cars").short == denied


def test_a_list_has_all_its_items() -> None:
    text = "You need:\n- two eggs\n- a cup of milk\n- some flour\n\nStir all of it for ten minutes.\n"
    answer = ask(text, "List all ingredients", "a cup of milk")
    assert answer.text == "3 found (line 2):\n- two eggs\n- a cup of milk\n- some flour"
    assert answer.short == "two eggs; a cup of milk; some flour"


def test_of_a_table_the_rows_that_share_words_with_the_question() -> None:
    head = "| Name | House | Room |\n| --- | --- | --- |\n"
    text = head + "| Ann | North | 12 |\n| Bert | South | 3 |\n| Cleo | North | 7 |\n"
    answer = ask(text, "Who are the people in the house North?", "Ann")
    assert answer.short == "Ann | North | 12; Cleo | North | 7"


def test_what_one_sentence_lists() -> None:
    text = "Nothing. The owner may keep back: (a) the cost of cleaning; (b) rent, not paid; and (c) keys. So be it."
    answer = ask(text, "What are the things that the owner may keep back?", "rent, not paid", answer="list")
    assert answer.short == "the cost of cleaning; rent, not paid; keys"
    towns = ask("Its partners are Oslo, Bonn and Graz.", "Which towns are its partners?", "Oslo, Bonn and Graz")
    assert towns.text.startswith("3 found:\n- Oslo\n- Bonn\n- Graz")
    assert ask("Its partner is Oslo, so far.", "Which towns are its partners?", "Oslo").short == "Oslo"


def test_one_item_in_the_singular_answers_a_question_in_the_plural() -> None:
    text = "Delivered:\n- Lifejacket, 150 N, adult\n- Sheet, 8 mm\n- Lifejacket, child\n"
    answer = ask(text, "Which lifejackets were bought?", "Sheet", answer="list")
    assert answer.short == "Lifejacket, 150 N, adult; Lifejacket, child"


def test_a_sentence_that_has_a_value_of_its_own_gives_way_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.wim.grounding.Grounding.held", lambda self, written, logits: logits)
    answer = ask(MILL, "What did Brandt pay?", "4,000 crowns", prose=True)
    assert answer.text == "Perhaps: 4,000 crowns\n\n“She paid 4,000 crowns for the old mill.”"
    assert (answer.status, answer.short, answer.unsupported) == ("unsure", "4,000 crowns", ())


def test_a_model_that_writes_does_not_write_what_is_not_there() -> None:
    absent = ask(MILL, "What is the telephone number of Brandt?", "1921", NONE, prose=True)
    assert (absent.status, absent.short, absent.unsupported) == ("not_found", "", ())
    assert absent.text == f"{NOT_SAID}\n\nNearest: “{absent.quotes[0].text}”"
    assert ask(MILL, "Why did Brandt pay so much?", "4,000 crowns", NONE, prose=True).status == "not_found"


def test_what_has_not_the_form_that_is_asked_for_is_no_answer() -> None:
    question = "How many steps has it?"
    near = ask("Forty steps lead to the river.", question, "the river")
    assert near.text.startswith("Perhaps: Forty\n\n“Forty steps")
    answer = ask("The mill stood by the river.", question, "by the river")
    assert answer.status == "not_found"
    assert answer.text.startswith(MAY_NOT_SAY)
    assert ask("It has forty steps by the river.", question, "forty").status == "answered"


def test_marks_of_bold_words_are_not_shown() -> None:
    answer = ask("The fee is **4,000 crowns** a year.", "What is the fee?", "**4,000 crowns**")
    assert answer.text == "4,000 crowns\n\n“The fee is 4,000 crowns a year.”"
    assert answer.quotes[0].text == "The fee is **4,000 crowns** a year."


def test_what_a_sentence_denies_is_no_sure_answer() -> None:
    text = "The hall opens at nine. The museum does not open on Mondays."
    assert ask(text, "When does the museum open?", "Mondays").text.startswith("Perhaps: Mondays\n")
    assert ask(text, "When does the museum not open?", "Mondays").text.startswith("Mondays\n")
    assert ask("Members pay no more than 5 crowns.", "What do members pay?", "5 crowns").status == "answered"


def test_rows_that_have_the_most_alike_are_all_told() -> None:
    text = "| Room | Seats |\n| --- | --- |\n| Oak | 40 |\n| Elm | 120 |\n| Ash | 120 |\n"
    answer = ask(text, "Which room has the most seats?", "Oak")
    assert answer.text == "2 found:\n- Elm (line 4)\n- Ash (line 5)"
    assert answer.span is None


def test_a_sentence_that_lists_is_told_whole_where_its_beginning_is_open() -> None:
    text = "Read this. We do not cover ski jumping, ski racing, heli-skiing, or skiing off piste. Call us."
    answer = ask(text, "Which kinds of skiing are not covered?", "heli-skiing")
    assert answer.short == "We do not cover ski jumping, ski racing, heli-skiing, or skiing off piste."


def test_of_several_documents_each_item_has_its_place() -> None:
    found = [Document("a.txt", "Ada wrote the report."), Document("b.txt", "Bill wrote the report too.")]

    def reply(prompt: str) -> str:
        return "Ada" if prompt.rfind("Ada wrote") > prompt.rfind("Bill wrote") else "Bill"

    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=FakeModel(reply)) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(found, "List all who wrote the report")
    assert answer.text == "2 found:\n- Ada (a.txt)\n- Bill (b.txt)"
    assert [quote.document for quote in answer.quotes] == ["a.txt", "b.txt"]
    assert answer.read_segments == 2


def test_a_unit_comes_with_its_number() -> None:
    assert ask("For keys of RSA the default is 3072 bits.", "What is the default size?", "bits").short == "3072 bits"
    assert ask("In 2022 Labour won.", "Who won?", "Labour").short == "Labour"


def test_the_source_of_the_answer_comes_first() -> None:
    found = [Document("a.txt", "The mill was sold twice."), Document("b.txt", "Ann Lee bought the mill in May.")]
    with Runtime(
        Settings(pattern="wim-shallow", prose=False, save=False), model=FakeModel(lambda prompt: "Ann Lee")
    ) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(found, "Who bought the mill?")
    assert answer.sources[0].document == answer.quotes[0].document
