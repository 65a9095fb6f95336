"""Summaries of a text in sentences of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reading.mill import MILL, ask
from tests.reading.story import recording
from wim_edge import Document, Runtime, Settings, events
from wim_edge.documents.document import Mark
from wim_edge.documents.plain import plain
from wim_edge.testing import FakeModel


def summed(document: str | Document, question: str = "What is this about?") -> events.AnswerFinished:
    return ask(document, question, "river", answer="summary")


def test_a_summary_is_the_beginning_and_the_sections() -> None:
    text = f"Costs\n\n{MILL}\n\nTerms\n\nPay within a month of the sale."
    document = Document("mill.txt", text, (Mark(0, section="Costs"), Mark(text.index("Terms"), section="Terms")))
    answer = summed(document)
    assert answer.quotes[0].text.startswith("The mill stood by the river.")
    assert answer.text.endswith("\n\n- Costs\n- Terms: “Pay within a month of the sale.”")
    assert summed(document, "Sum up “Terms”.").text == "Terms\n\n“Pay within a month of the sale.”"
    numbered = plain("mill.txt", text.replace("Costs", "1. Costs").replace("Terms", "2. Terms"))
    assert summed(numbered, "Sum up section 2").text == "2. Terms\n\n“Pay within a month of the sale.”"


def test_of_very_many_sections_the_first_are_named() -> None:
    text = "\n\n".join(f"Part {n}\n\nThis is what part {n} says." for n in range(30))
    marks = tuple(Mark(text.index(f"Part {n}\n"), section=f"Part {n}") for n in range(30))
    answer = summed(Document("mill.txt", text, marks), "Summarize this.")
    assert " · Part 19 …\n“This is what part " in " ".join(answer.text.split("\n\n")[-2:]).replace(" “", "\n“")


def test_a_summary_begins_with_the_heading_above_all_others() -> None:
    text = f"# The mill\n\n{MILL}\n\n## Terms\n\nPay within a month of the sale."
    document = Document("mill.md", text, (Mark(0, section="The mill"), Mark(text.index("##"), section="Terms")))
    answer = summed(document)
    assert answer.text.startswith("The mill\n\n“")
    assert answer.text.endswith("- Terms: “Pay within a month of the sale.”")


def test_a_text_without_sections_is_told_by_a_sentence_of_each_part() -> None:
    filler = "".join(f"Somebody saw a heron there in year {n}. " for n in range(24))
    text = (
        "The trust keeps the old mill. It was founded long ago.\n\n"
        f"{filler}The old mill of the trust has a wheel of oak. {filler}"
    )
    model = FakeModel(lambda prompt: pytest.fail("nothing is to be read"))
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False, answer="summary"), model=model) as runtime:
        answer = runtime.ask(Document("mill.txt", text), "What is this about?")
    assert answer.quotes[0].text.startswith("The trust keeps the old mill. It was founded long ago.")
    assert len(answer.quotes) == 5
    assert all(text[slice(*quote.chars)] == quote.text for quote in answer.quotes)
    assert [quote.chars for quote in answer.quotes] == sorted(quote.chars for quote in answer.quotes)
    assert (answer.read_segments, answer.unread_probability, answer.finish_reason) == (0, None, "stop")


def test_a_summary_holds_sentences_alone_and_none_twice() -> None:
    table = "| Name | Role |\n| --- | --- |\n| Ann | chair |\n"
    text = f"Dogs are let in. The fee is due on 1 April.\n\n{table}"
    answer = summed(text)
    assert answer.text == "“Dogs are let in. The fee is due on 1 April.”"
    document = Document("club.md", "The fee is due on 1 April.\n\n## Contacts\n\nAnn Bell is the chair.", ())
    assert "#" not in summed(document).text
    answer = summed("The gate opens at nine. " * 60)
    assert answer.text == "“The gate opens at nine.”"
    assert summed("... !!! ??? ---").status == "not_found"


def test_the_name_of_a_file_is_no_heading() -> None:
    named = Document("mill.txt", MILL, path=Path("mill.txt"), title="mill")
    assert summed(named).text.startswith("“")
    titled = Document("mill.txt", MILL, path=Path("mill.txt"), title="The old mill")
    assert summed(titled).text.startswith("The old mill\n\n“")


def test_a_section_without_a_heading_in_the_text_is_told_by_its_first_sentence() -> None:
    text = f"{MILL}\n\nA note of the miller.\nAnother one."
    document = Document("mill.txt", text, (Mark(0, section="Body"), Mark(text.index("A note"), section="Footnotes")))
    answer = summed(document)
    assert "- Footnotes: “A note of the miller.”" in answer.text


def test_a_model_that_writes_makes_a_summary_of_those_sentences() -> None:
    model, seen = recording(lambda prompt: "A mill by a river.")
    settings = Settings(pattern="wim-shallow", prose=True, save=False, answer="summary")
    document = Document("mill.txt", MILL, (Mark(0, section="Costs"),))
    with Runtime(settings, model=model) as runtime:
        answer = runtime.ask(document, "What is this about?")
    assert answer.text == "A mill by a river."
    assert (answer.status, answer.read_segments) == ("answered", 0)
    assert answer.quotes[0].text.startswith("The mill stood by the river.")
    assert "“The mill stood by the river." in seen[-1]


def test_tables_without_sentences_are_told_by_their_columns() -> None:
    document = Document("fees.csv", "date | who | fee\n2 May | Ann | 12.50\n3 May | Ben | 8.00\n")
    answer = summed(document)
    assert answer.text == "2 rows: date · who · fee"
    assert answer.quotes[0].text == "date | who | fee"
    long = Document("fees.csv", "date | who | fee\n" + "2 May | Ann | 12.50\n" * 10_000)
    assert summed(long).text == "10,000 rows: date · who · fee"
    assert summed(Document("empty.csv", "12.50 | 8.00\n")).status == "not_found"
