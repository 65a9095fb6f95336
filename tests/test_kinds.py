"""What a question asks for."""

from __future__ import annotations

import pytest

from wim_edge.kinds import KINDS, kind_of, settle

QUESTIONS = {
    "fact": [
        "Who signed the lease?", "invoice number", "How many members were present?", "when is the rent due",
        "Which clause limits liability?", "What is the IBAN?", "Is it red or blue?", "Can you tell me the IBAN?",
        "What is the name of the ship?", "Wie hoch ist die Kaution?", "How long is the notice period?",
        "What is the deposit for?", "What is the document fee?", "What is the file size limit?",
        "When is the summary due?",
        "What is the page number of the index?", "What is the text of clause 4?", "What is the program for Monday?",
        "What does the contract say about who pays and when?",
        "Was kostet die Mitgliedschaft für Familien?", "Was ist mit dem Hund?",
        "Was erhielt Tesla nach der Gründung?", "Was bilden die Regionen El Centro und San Diego?",
        "Was trinken die Gäste?", "Was geschah an Tag 5?",
        "Which bus do I take?", "What does error code E7 mean?",
    ],
    "yesno": ["Are dogs allowed?", "May I park here", "Did the meeting ban cockerels?", "Darf ich rauchen?",
              "Has the rent been paid?", "Was it damaged in transit?", "Was Mozart paid?"],
    "list": ["List all work days of 2026", "Which accessories are sold separately?", "Who are the steam engineers?",
             "What are the opening hours?", "which distributions have packages"],
    "summary": ["Summarize the meeting.", "What is this contract about?", "what is this about", "Worum geht es?",
                "tl;dr", "Give me a summary", "What is this for?", "what is this program and what does it do?",
                "What's the document about?", "Zusammenfassung", "de quoi parle ce texte ?", "summary of the report"],
    "free": ["Why was the bridge closed?", "Explain clause 4", "How does the pump work?",
             "Write a limerick on the mill", "Translate the first sentence into German"],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "question"), [(kind, one) for kind, some in QUESTIONS.items() for one in some])
def test_what_a_question_asks_for(kind: str, question: str) -> None:
    assert kind_of(question) == kind


def test_what_is_chosen_stands() -> None:
    assert settle("list", "Who signed?") == "list"
    assert settle("auto", "Who signed?") == settle(None, "Who signed?") == "fact"
    assert set(QUESTIONS) | {"auto"} == set(KINDS)
