"""Answers from the whole text: summaries, and the records that a question names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wim.mill import MILL, ask
from wim_edge import Document, Runtime, Settings
from wim_edge.documents.document import Mark
from wim_edge.testing import FakeModel


def test_a_summary_is_the_beginning_and_the_sections() -> None:
    text = f"Costs\n\n{MILL}\n\nTerms\n\nPay within a month of the sale."
    document = Document("mill.txt", text, (Mark(0, section="Costs"), Mark(text.index("Terms"), section="Terms")))
    answer = ask(document, "What is this about?", "river")
    assert answer.quotes[0].text.startswith("The mill stood by the river.")
    assert answer.text.endswith("\n\n- Costs\n- Terms: “Pay within a month of the sale.”")


def test_a_text_that_sums_itself_up_is_told_in_those_words() -> None:
    summed_up = "The mill burned. It is rebuilt."
    parts = {"Minutes": "We met in the hall at noon.", "1. Summary": summed_up, "2. Cost": "It is dear now."}
    text = "\n\n".join(f"{name}\n\n{said}" for name, said in parts.items())
    document = Document("mill.txt", text, tuple(Mark(text.index(name), section=name) for name in parts))
    answer = ask(document, "Summarize this.", "river")
    assert answer.text.startswith("“The mill burned. It is rebuilt.”\n\n- Minutes: “We met in the hall at noon.”")
    assert answer.text.endswith("- 1. Summary\n- 2. Cost: “It is dear now.”")


def test_of_very_many_sections_the_first_are_named() -> None:
    text = "\n\n".join(f"Part {n}\n\nThis is what part {n} says." for n in range(30))
    marks = tuple(Mark(text.index(f"Part {n}\n"), section=f"Part {n}") for n in range(30))
    answer = ask(Document("mill.txt", text, marks), "Summarize this.", "river")
    assert " · Part 19 …\n“This is what part " in " ".join(answer.text.split("\n\n")[-2:]).replace(" “", "\n“")


def test_a_summary_begins_with_the_heading_above_all_others() -> None:
    text = f"# The mill\n\n{MILL}\n\n## Terms\n\nPay within a month of the sale."
    document = Document("mill.md", text, (Mark(0, section="The mill"), Mark(text.index("##"), section="Terms")))
    answer = ask(document, "What is this about?", "river")
    assert answer.text.startswith("The mill\n\n“")
    assert answer.text.endswith("- Terms: “Pay within a month of the sale.”")


def test_a_text_without_sections_is_told_by_a_sentence_of_each_part() -> None:
    filler = "".join(f"Somebody saw a heron there in year {n}. " for n in range(24))
    text = (
        "(c) 2007 The Mill Trust. All rights reserved.\n\nThe trust keeps the old mill. It was founded long ago.\n\n"
        f"{filler}The old mill of the trust has a wheel of oak. {filler}"
    )
    model = FakeModel(lambda prompt: pytest.fail("nothing is to be read"))
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=model) as runtime:
        answer = runtime.ask(Document("mill.txt", text), "What is this about?")
    assert answer.quotes[0].text.startswith("The trust keeps the old mill. It was founded long ago.")
    assert len(answer.quotes) == 5
    assert all(text[slice(*quote.chars)] == quote.text for quote in answer.quotes)
    assert [quote.chars for quote in answer.quotes] == sorted(quote.chars for quote in answer.quotes)
    assert (answer.read_segments, answer.unread_probability, answer.finish_reason) == (0, None, "stop")


def test_a_summary_holds_sentences_alone_and_none_twice() -> None:
    table = "| Name | Role |\n| --- | --- |\n| Ann | chair |\n"
    text = f"Dogs are let in. The fee is due on 1 April.\n\n{table}\nAll rights reserved.\n"
    assert ask(text, "What is this about?", "fee").text == "“Dogs are let in. The fee is due on 1 April.”"
    document = Document("club.md", "The fee is due on 1 April.\n\n## Contacts\n\nAnn Bell is the chair.", ())
    assert "#" not in ask(document, "What is this about?", "fee").text
    assert ask("The gate opens at nine. " * 60, "Summarize this.", "gate").text == "“The gate opens at nine.”"
    assert ask("... !!! ??? ---", "what", "!", answer="summary").status == "not_found"


def test_the_name_of_a_file_is_no_heading() -> None:
    named = Document("mill.txt", MILL, path=Path("mill.txt"), title="mill")
    assert ask(named, "What is this about?", "river").text.startswith("“")
    titled = Document("mill.txt", MILL, path=Path("mill.txt"), title="The old mill")
    assert ask(titled, "What is this about?", "river").text.startswith("The old mill\n\n“")


def test_a_section_without_a_heading_in_the_text_is_told_by_its_first_sentence() -> None:
    text = f"{MILL}\n\nA note of the miller.\nAnother one."
    document = Document("mill.txt", text, (Mark(0, section="Body"), Mark(text.index("A note"), section="Footnotes")))
    assert "- Footnotes: “A note of the miller.”" in ask(document, "What is this about?", "river").text


RULES = "1. Keys\n\nKeys lie at the desk.\n\n2. Quiet\n\nIt is quiet\nfrom ten on.\n\n3. Fire\n\n"
RULES += "Leave by the stairs. " * 80


@pytest.mark.parametrize(("question", "told"), [
    ("What does section 2 say?", "“2. Quiet\nIt is quiet\nfrom ten on.” (line 5)"),
    ("Summarize § 1 of the rules", "“1. Keys\nKeys lie at the desk.” (line 1)"),
    ("Compare rule 1 and rule 2",
     "“1. Keys\nKeys lie at the desk.” (line 1)\n\n“2. Quiet\nIt is quiet\nfrom ten on.” (line 5)"),
    ("What is rule 3 about?", "“Leave by the stairs. …” (line 12)"),
])  # fmt: skip
def test_a_question_for_a_record_alone_is_answered_with_it(question: str, told: str) -> None:
    answer = ask(RULES, question, "!")
    assert (answer.text, answer.status) == (told, "answered")
    assert answer.span == answer.quotes[0].chars
    assert [(one.quote, one.relevance) for one in answer.sources[:1]] == [(answer.span, 1.0)]


def test_another_question_about_a_record_is_put_to_the_model() -> None:
    assert ask(RULES, "Where are the keys of section 1?", "desk").short == "desk"
    answer = ask(RULES, "Summarize section 9", "!")
    assert (answer.text, answer.status) == ("The document does not seem to have section 9.", "not_found")
    told = ask(RULES, "Who is named in section 9?", "desk").text
    assert told.startswith("The document does not seem to have section 9.\n\nNearest: ")
