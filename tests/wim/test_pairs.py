"""What a sentence gives to several things in turn."""

from __future__ import annotations

import pytest

from wim_edge.wim.pairs import labelled_value, paired_value

EXCESS = "The excess is 125 pounds on Essential, 75 pounds on Classic and nil on Premier, unless it says otherwise."
ENTRY = "Entry costs £12 for adults, £8.50 for students and £4 for children."


@pytest.mark.parametrize(
    ("text", "question", "found"),
    [
        (EXCESS, "What is the excess on Classic cover?", "75 pounds"),
        (EXCESS, "excess essential", "125 pounds"),
        (EXCESS, "What is the excess on Premier?", "nil"),
        (EXCESS, "What is the excess?", None),
        (EXCESS, "Is the excess on Classic lower than on Essential?", None),
        (ENTRY, "What do students pay?", "£8.50"),
        ("The pump weighs 4 kg with the motor.", "What does it weigh with the motor?", None),
        ("We open at nine on Mondays. We close at five on Fridays.", "When do you close on Fridays?", None),
    ],
)
def test_the_value_of_the_thing_that_is_named(text: str, question: str, found: str | None) -> None:
    for pointed_at in ("nil", "£4", "4 kg", "five"):
        if pointed_at in text:
            value = paired_value(text, 0, len(text), text.index(pointed_at), question)
            assert (text[slice(*value)] if value else None) == found


def test_it_is_looked_for_where_the_answer_was_found() -> None:
    assert paired_value(EXCESS, 0, len(EXCESS), EXCESS.index("unless"), "What is the excess on Classic?") is None


@pytest.mark.parametrize(
    ("line", "label", "question", "found"),
    [
        ('  "port": 8123,', "port", "What is the port?", "8123"),
        ("**Amount due:** £412.50", "Amount due", "what's the amount due", "£412.50"),
        ("host = db.example", "host", "Which host?", "db.example"),
        ('"network": {', "network", "What is the network?", None),
        ("Name: Ann Lee\nAge: 7", "Name", "What is the name?", "Ann Lee"),
        ("Name:\nAnn", "Name", "What is the name?", None),
        ("Port of Hull: 1904", "Hull", "Which port?", None),
    ],
)
def test_the_value_after_a_label(line: str, label: str, question: str, found: str | None) -> None:
    at = line.index(label)
    value = labelled_value(line, at, at + len(label), question)
    assert (line[slice(*value)] if value else None) == found
