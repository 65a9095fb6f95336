"""The judgement: the likeliest words, yes or no, or a list."""

from __future__ import annotations

from tests.reading.mill import MILL, ask


def test_half_a_code_is_widened_to_all_of_it() -> None:
    answer = ask("Invoice number: BW-2024-00731\nOrder: BW-1999-11111\n", "invoice number", "2024")
    assert answer.short == "BW-2024-00731"


def test_a_question_for_yes_or_no_has_the_word_first() -> None:
    answer = ask(MILL, "Did Brandt buy the mill?", "1921", answer="yesno")
    assert answer.short in ("Yes", "No")
    assert answer.text.removeprefix("Perhaps: ").startswith(f"{answer.short}.\n\n“")


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
    assert ask(text, "Who are the people in the house North?", "Ann", answer="list").short == "Ann; Cleo"
    assert ask(text, "Who is there?", "Ann", answer="list").short == "Ann; Bert; Cleo"
