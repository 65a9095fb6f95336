"""The form that a question gives its answer."""

from __future__ import annotations

import pytest

from tests.wim.test_pointing import point
from wim_edge.testing import FakeModel
from wim_edge.wim.answer_form import fits


@pytest.mark.parametrize(
    ("question", "answer", "does"),
    [
        ("What percentage of stations had none in 1974?", "the last week of February 1974", False),
        ("How many bodies were found?", "from the old yard", False),
        ("How many bodies were found?", "some 25", True),
        ("How many members are there?", "a year", False),
        ("How many eggs?", "a dozen", True),
        ("Which version first had it?", "ecdsa", False),
        ("since which version", "8.2", True),
        ("What port does the database use?", "db.internal", False),
        ("What port does the database use?", "5433", True),
        ("Which port of call is next?", "Leith", True),
        ("How much is tea?", "B12", False),
        ("how long does it take?", "none", False),
        ("How long does it take?", "three weeks", True),
        ("How long is the river?", "none", True),
        ("Who lights the fires?", "between 1 May and 30 September", False),
        ("how long is the warranty", "thirty months", True),
        ("How often is it cleaned?", "every week", True),
        ("How much does it cost?", "nothing at all", True),
        ("¿Cuántas horas?", "catorce horas", True),
        ("Wie hoch ist die Miete?", "Ihre Zustimmung", False),
        ("Combien doit-on payer ?", "nous", False),
        ("Wie viele waren da?", "die Mieter", False),
        ("When was it built?", "long ago", True),
        ("How much is it?", "in the military north", False),
        ("How many people came?", "both", True),
        ("Who built it?", "the miller", True),
        ("Who did it partner with?", "Level 3 Communications", True),
        ("whose house is it", "Ann's", True),
        ("What does it cost?", "the earth", False),
        ("What does E3 mean?", "E3", False),
        ("yearly fee ordinary members", "ordinary", False),
        ("When did they find it?", "an electrician", False),
        ("when was it", "22 July", True),
        ("When was the first shop opened?", "in London", False),
        ("When is the deposit due?", "on delivery", True),
        ("When does he pay?", "at the very end of the lease", True),
        ("Wann war das?", "die Mieter", False),
        ("Wann war das?", "Wohnung 14, Nummer 3307-14-2", False),
        ("Wann war das?", "am 9. März", True),
        ("When does it open?", "9 a.m.", True),
        ("When may it be used?", "once the paint is dry", True),
        ("On which day is nobody allowed to sail?", "Boxing Day", True),
        ("In which year did it close?", "the old mill", False),
        ("Seit wann gilt es?", "seit Ostern", True),
        ("unit price of the trapeze harness", "M", False),
        ("What is the monthly rent?", "Ms Brandt", False),
        ("what's the total", "GBP 54.38", True),
        ("What is the cost of a second key", "free of charge", True),
        ("What is the rate limit called?", "burst", True),
        ("How much does the DX cost?", "ten years", False),
        ("How much does the DX cost?", "ten", False),
        ("How much does a ticket cost?", "12 a month", True),
        ("What is the fee?", "£4 per day", True),
        ("How much water does it take?", "two litres", True),
        ("Who played the son?", "As the seasons progressed", False),
        ("who was it signed by", "17 April 1982", False),
        ("Who did it?", "April Hall", True),
        ("Who may use it?", "everybody in the house", True),
        ("Wer war es?", "im Mai", False),
        ("Which is larger, Bonn or Graz?", "Graz", True),
        ("Is the school closed on Friday?", "school closed", True),
        ("What is the amount due?", "GBP", False),
        ("What is the amount due?", "GBP 412.50", True),
        ("total payable", "30 June", False),
        ("How many slate tiles?", "two weeks", False),
        ("How many tiles?", "1,200", True),
        ("How many people came?", "£45", False),
        ("How many working days does it take?", "two weeks", True),
        ("How many metres of cable?", "40 m", True),
        ("How much is the fork?", "DF-220", False),
        ("How much is the fork?", "USD 12.50", True),
        ("How much does it cost?", "20%", False),
        ("Wie hoch ist die Kaution?", "01.03.2024", False),
        ("Wie hoch ist die Kaution?", "1.250 Euro", True),
        ("Who was there?", "three", False),
        ("Who was there?", "three nurses", True),
        ("Who was there?", "two days", False),
        ("how long is the guarantee", "£45", False),
        ("Where is the meeting?", "9.30 am", False),
        ("Where is the meeting?", "Room 12", True),
        ("Where does it happen?", "£12.50", False),
        ("What is Ann's email?", "Ann Lee", False),
        ("What's the email address of the clinic?", "care@vets.example", True),
        ("What is the phone number of the office?", "the office", False),
        ("What is the phone number of the office?", "01752 55123", True),
        ("What did the email say?", "nothing", True),
        ("number to ring for legal advice", "staffed from 8am to 8pm", False),
        ("number to ring for legal advice", "0345 555 7724", True),
        ("Wie lange habe ich Garantie?", "nach hinten", False),
        ("Wie lange habe ich Garantie?", "sechs Monate", True),
        ("fish delivery on the 17th, what time", "Tue", False),
        ("what time do we land in Lisbon?", "Monday to Friday", False),
        ("what time do we land in Lisbon?", "14:00", True),
        ("What time of year is best?", "autumn", True),
        ("When does Dean get off on Wednesday the 11th?", "11 Jun 2025", False),
        ("When does Dean get off on Wednesday the 11th?", "16:15", True),
        ("When does the counter shut on a Saturday?", "Wednesday and Friday", False),
        ("When does it shut on a Saturday?", "never", True),
        ("When was the house on 5 Mill Lane built?", "3 May", True),
        ("How late is it staffed on Thursdays?", "19.00", True),
        ("enquiries via the website – how many", "a success rate", False),
        ("What does somebody pay for a bag of cement?", "In stock", False),
        ("What do I pay for?", "the lamp", True),
        ("What is the total including tax?", "VAT", False),
        ("Was kostet die große Restmülltonne?", "Größe", False),
        ("Was kostet Töpfern?", "120,00 €", True),
        ("Wie hoch ist die Grundgebühr?", "zwei Raten", False),
        ("Wie hoch ist der Turm?", "zwölf Meter", True),
        ("how many days are logs kept", "every_minutes", False),
        ("How much electricity did I use last year?", "twelve months", False),
        ("How much notice must I give?", "two months", True),
        ("How big is the deposit?", "the tenant", False),
    ],
)
def test_the_form_of_an_answer(question: str, answer: str, does: bool) -> None:
    assert fits(question, answer) is does


def test_what_has_another_form_counts_for_less() -> None:
    text = "The mill stood by the river. Nobody had worked in it for 11 years."
    model = FakeModel(lambda prompt: "the river")
    plain, asked = point(model, text), point(model, text, fits=lambda run: fits("How many years?", run))
    assert text[plain.runs[0].start : plain.runs[0].end] == "the river"
    (same,) = [run for run in asked.runs if (run.start, run.end) == (plain.runs[0].start, plain.runs[0].end)] or [None]
    assert same is None or same.logprob < plain.runs[0].logprob - 2


@pytest.mark.parametrize(("question", "answer", "fitting"), [
    ("贾里德有多少次擒杀？", "136", True), ("贾里德有多少次擒杀？", "职业碗", False),
    ("曼宁参加时多大？", "39 岁", True),
    ("特斯拉的专利是什么时候恢复的？", "1943年", True), ("特斯拉的专利是什么时候恢复的？", "美国", False),
    ("一共有几个人？", "三个人", True), ("كم كان عمر مانينغ؟", "الرقم القياسي", False),
    ("كم كان عمر مانينغ؟", "39", True),
    ("كم عددهم؟", "خمسة عشر", True), ("متى بني الجسر؟", "عام 1943", True), ("متى بني الجسر؟", "في المدينة", False),
])  # fmt: skip
def test_numbers_and_times_are_known_in_other_scripts(question: str, answer: str, fitting: bool) -> None:
    assert fits(question, answer) == fitting
