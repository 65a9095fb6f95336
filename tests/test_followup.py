"""Which questions need the one before, and how they are completed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wim_edge.followup import Conversation, Turn, completed, goes_on

MARIE = Turn("Who rented the flat?", "Marie Dubois")


@pytest.mark.parametrize(
    "question",
    [
        "What is the IBAN?", "IBAN", "notice period", "Who signed the contract?", "What is it about?",
        "Wer ist der Mieter?", "房屋租金是多少？", "delivery date?  order 4711, from Antwerp, by ship", "",
    ],
)  # fmt: skip
def test_a_question_of_more_words_and_a_search_stand_for_themselves(question: str) -> None:
    assert not goes_on(question)
    assert completed(question, [MARIE]) == question


@pytest.mark.parametrize("question", ["why?", "and in 2022?", "2022?", "und die Kaution?", "为什么？", "لماذا؟"])
def test_a_question_of_few_words_stands_behind_the_one_before(question: str) -> None:
    assert completed(question, [MARIE]) == f"Who rented the flat? (Marie Dubois) {question}"
    assert completed(question, []) == question


def test_a_long_answer_is_left_out() -> None:
    assert completed("why?", [Turn("Who is it?", "x" * 300)]) == "Who is it? why?"


def test_a_conversation_remembers_what_its_questions_refer_to() -> None:
    talk = Conversation()
    assert talk.complete("why?") == "why?"
    for question, short, asked in [
        ("Who rented the flat?", "Marie Dubois", "Who rented the flat?"),
        ("and when?", "in May", "Who rented the flat? (Marie Dubois) and when?"),
        ("why?", "", "Who rented the flat? (Marie Dubois) and when? (in May) why?"),
        ("and who else?", "Bob", "Who rented the flat? (Marie Dubois) why? and who else?"),
        ("What were the costs in 2023?", "4.2 million", "What were the costs in 2023?"),
        ("why?", "", "What were the costs in 2023? (4.2 million) why?"),
    ]:
        assert talk.complete(question) == asked
        talk.add(question, short)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=30))
def test_any_text_is_completed_and_nothing_of_it_is_lost(last: str, question: str, short: str) -> None:
    assert completed(question, [Turn(last, short)]).strip().endswith(question.strip())
    assert completed(question, []) == question
