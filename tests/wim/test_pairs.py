"""What a sentence gives to several things in turn."""

from __future__ import annotations

import pytest

from wim_edge.wim.pairs import changed_value, labelled_value, nearest_value, paired_value

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
        ('"night_setpoint_c": 15.0,', "night_setpoint_c", "What is the night temperature setpoint?", "15.0"),
        ('"every_minutes": 5,', "every_minutes", "how many days are logs kept", None),
    ],
)
def test_the_value_after_a_label(line: str, label: str, question: str, found: str | None) -> None:
    at = line.index(label)
    value = labelled_value(line, at, at + len(label), question)
    assert (line[slice(*value)] if value else None) == found


RAFTERS = "Any that are rotten we replace at £38.00 per metre run; wet boards at £52.00 per square metre."
TRIP = "For Year 5 the cost is £64, with a deposit of £14 by 7 February and the remaining £50 by 23 May."
MOVERS = "The movers come on Thursday 28 March at seven; they quoted 1,450 euros."
STOVE = "Legen Sie beim Nordstrand 6 höchstens 1,6 kg Holz auf, beim Nordstrand 8 höchstens 2,1 kg."


@pytest.mark.parametrize(
    ("text", "question", "pointed", "found"),
    [
        (RAFTERS, "rotten rafters, charge per metre?", "£52.00", "£38.00"),
        (RAFTERS, "What do wet boards cost?", "£52.00", None),
        (TRIP, "How much is the deposit for the Year 5 trip?", "£64", "£14"),
        (TRIP, "What is the cost for Year 5?", "£64", None),
        (TRIP, "What is the cost for Year 5?", "£14", "£64"),
        (STOVE, "Wie viel Holz darf man in den Nordstrand 6 legen?", "höchstens 2,1 kg", "1,6 kg"),
        ("Work is guaranteed for 12 years, insured for the first ten of these.", "How long is work guaranteed?", "ten",
         "12 years"),
        ("You may buy it for the residual value of $19,260 plus a fee of $300.",
         "If she buys it for the residual, what fee is added?", "$300", None),
        (MOVERS, "What is the movers' quote in euros?", "seven", "1,450 euros"),
        (MOVERS, "When do the movers come?", "seven", None),
        (MOVERS.replace("1,450", "28"), "How many euros?", "seven", "28 euros"),
        ("Published on 16 July 2005; it sold 9 million in 24 hours.", "when was it published", "16 July 2005", None),
        ("It is open 7 days a week for 400 visitors.", "How many visitors has it per day?", "400", None),
        ("On 28 March 1450 euros were paid, and seven.", "How many euros were paid?", "seven", "1450 euros"),
        ("Come on 28 march; 1,450 is their quote.", "When do the movers come?", "1,450", None),
        ("It takes 10 to 12 weeks, or seven.", "How many weeks?", "seven", "10 to 12 weeks"),
        ("It costs 1 450 euros, or seven.", "What is it in euros?", "seven", "1 450 euros"),
        ("It takes twenty-five minutes, or seven.", "How many minutes?", "seven", None),
        ("2.4 The rent may be raised once by 4 percent.", "By how much can the rent be raised?", "4 percent", None),
        ("It costs £5 and weighs 3 kg.", "What does the £5 lamp weigh?", "3 kg", None),
        ("It costs £5.", "What is it?", "£5", None),
    ],
)
def test_the_amount_among_the_words_of_the_question(text: str, question: str, pointed: str, found: str | None) -> None:
    at = text.index(pointed)
    value = nearest_value(text, 0, len(text), (at, at + len(pointed)), question)
    assert (text[slice(*value)] if value else None) == found


@pytest.mark.parametrize(
    ("text", "question", "pointed", "found"),
    [
        ("Your payment goes up from £96.00 to £104.00, starting in May.", "What will I pay from May on?", "£96.00",
         "£104.00"),
        ("Your payment goes up from £96.00 to £104.00.", "What did I pay before?", "£96.00", "£96.00"),
        ("Your payment goes up from £96.00 to £104.00.", "What did I pay before?", "£104.00", "£96.00"),
        ("Your payment went up from £96.00 to £104.00.", "What was it after that?", "£104.00", None),
        ("Die Miete steigt zum 1. März von 640 Euro auf 672 Euro.", "Wie hoch war die Miete bisher?", "1", "640 Euro"),
        ("Your payment goes up from £96.00 to £104.00.", "What will I pay?", "£104.00", "£104.00"),
        ("Die Miete steigt von 540 Euro auf 565 Euro.", "Um wie viel steigt die Miete?", "540 Euro", None),
        ("The meeting has been moved from 3 May to 10 May.", "When is the meeting?", "3 May", "10 May"),
        ("Die Miete steigt von 540 Euro auf 565 Euro.", "Wie hoch ist die Miete?", "540 Euro", "565 Euro"),
        ("The shop is open from 9 to 5.", "When is it open?", "9", None),
        ("The fee rises from two pounds to three pounds on Monday.", "What is the fee?", "two pounds", "three pounds"),
    ],
)
def test_the_value_after_a_change(text: str, question: str, pointed: str, found: str | None) -> None:
    at = text.index(pointed)
    value = changed_value(text, 0, len(text), (at, at + len(pointed)), question)
    assert (text[slice(*value)] if value else None) == found
