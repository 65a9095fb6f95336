"""Which questions need the one before, and how they are completed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wim_edge.followup import Conversation, Turn, completed, stands_for_itself

COSTS = Turn("What were the costs in 2023?", "4.2 million euros")
MARIE = Turn("Who rented the flat?", "Marie Dubois")
START = Turn("When did Marie Dubois start?", "3 March")
FILTER = Turn("How often must the filter be cleaned?", "every week")


@pytest.mark.parametrize(
    "question",
    [
        "What is the IBAN?", "Who is the landlord?", "Who may end the contract, and when?", "IBAN", "notice period",
        "Who signed the contract?", "When must the tenant give his notice?", "And who signed the contract?",
        "Which walks are there?", "What fixed sum do they charge if we pay late?",
        "What is it about?", "What is this about?", "Summarize this.", "Is it possible to end the contract?",
        "May I use it in a swimming hall?",
        "List all rooms.", "What does this License protect?", "Why was the ferry late?",
        "Who is protected by this License?", "What does it say about the deposit?",
        "If the pump fails, what does it mean?", "Tell me the invoice number.", "Wer ist der Mieter?",
        "What does error code E7 mean?", "delivery date?  order 4711, from Antwerp, by ship",
        "What were the costs in 2022?",
    ],
)  # fmt: skip
def test_a_question_that_stands_for_itself(question: str) -> None:
    assert stands_for_itself(question)
    assert completed(question, [COSTS]) == question


@pytest.mark.parametrize(
    ("last", "question", "asked"),
    [
        (COSTS, "and in 2022?", "What were the costs in 2022?"),
        (COSTS, "In 2022?", "What were the costs in 2022?"),
        (COSTS, "2022?", "What were the costs in 2022?"),
        (COSTS, "What about 2022?", "What were the costs in 2022?"),
        (Turn("What were the costs?", "4"), "and in 2022?", "What were the costs in 2022?"),
        (Turn("What were the costs?", "4"), "for Antwerp?", "What were the costs for Antwerp?"),
        (COSTS, "why?", "What were the costs in 2023? (4.2 million euros) why?"),
        (COSTS, "And what else?", "What were the costs in 2023? (4.2 million euros) And what else?"),
        (Turn("Who signed?"), "When?", "Who signed? When?"),
        (MARIE, "when did she leave it?", "Who rented the flat? (Marie Dubois) when did she leave it?"),
        (MARIE, "Is that allowed?", "Who rented the flat? (Marie Dubois) Is that allowed?"),
        (MARIE, "What is her address?", "Who rented the flat? (Marie Dubois) What is her address?"),
        (MARIE, "and who pays?", "Who rented the flat? (Marie Dubois) and who pays?"),
        (START, "What about Jan Peeters?", "When did Jan Peeters start?"),
        (START, "and Jan?", "When did Jan start?"),
        (FILTER, "what about the pump?", "How often must the pump be cleaned?"),
        (FILTER, "and the pump?", "How often must the pump be cleaned?"),
        (FILTER, "the pump?", "How often must the pump be cleaned?"),
        (Turn("Who checks the oil filter of the pump?", "staff"), "what about the hose?",
         "Who checks the oil filter of the pump? (staff) what about the hose?"),
        (Turn("When is the next meeting?", "9 May"), "and the open day?", "When is the open day?"),
        (Turn("Who is it?", "x" * 300), "Why?", "Who is it? Why?"),
        (Turn("Wann beginnt der Vertrag?", "am 1. Mai"), "und warum?",
         "Wann beginnt der Vertrag? (am 1. Mai) und warum?"),
    ],
)  # fmt: skip
def test_how_a_follow_up_is_completed(last: Turn, question: str, asked: str) -> None:
    assert completed(question, [last]) == asked
    assert completed(question, []) == question


def test_a_conversation_remembers_what_its_questions_refer_to() -> None:
    talk = Conversation()
    assert talk.complete("why?") == "why?"
    for question, short, asked in [
        ("Who rented the flat?", "Marie Dubois", "Who rented the flat?"),
        ("when did she leave it?", "in May", "Who rented the flat? (Marie Dubois) when did she leave it?"),
        ("why?", "", "Who rented the flat? (Marie Dubois) when did she leave it? (in May) why?"),
        ("and who else?", "Bob", "Who rented the flat? (Marie Dubois) why? and who else?"),
        ("What were the costs in 2023?", "4.2 million", "What were the costs in 2023?"),
        ("and in 2022?", "3 million", "What were the costs in 2022?"),
        ("why?", "", "What were the costs in 2022? (3 million) why?"),
    ]:
        assert talk.complete(question) == asked
        talk.add(question, short)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=30))
def test_any_text_is_completed_and_nothing_of_it_is_lost(last: str, question: str, short: str) -> None:
    asked = completed(question, [Turn(last, short)])
    assert asked == question or asked
    assert completed(question, []) == question
