"""Quotations: the whole sentence, row or item that carries an answer, and lines that carry none."""

from __future__ import annotations

import pytest

from wim_edge import Document
from wim_edge.documents import Segment
from wim_edge.documents.document import Mark
from wim_edge.documents.tables import header_above
from wim_edge.reading.quotation import bare_lines, on_one_line, quotation, words_lost

TABLE = (
    "| Code | Meaning | Remedy |\n| --- | --- | --- |\n"
    "| E3 | The tank is empty | Fill it up to the mark |\n| E7 | The pump is blocked | Clean the sieve below it |\n"
)


def whole(text: str) -> tuple[Document, Segment]:
    return Document("d", text), Segment(0, 0, len(text), text, ())


def carrier(text: str, run: str, longest: int = 500) -> tuple[str, str]:
    document, segment = whole(text)
    at = text.index(run)
    found = quotation(document, segment, at, at + len(run), longest)
    assert found.start <= at
    assert at + len(run) <= found.end
    return text[found.start : found.end], found.header


def test_the_first_item_comes_with_the_others_below_their_label() -> None:
    text = "Nothing else.\n\nNot covered:\n\n- bulbs and seals;\n- glass;\n- wear.\n\nCall us."
    assert carrier(text, "bulbs")[0] == "Not covered:\n\n- bulbs and seals;\n- glass;\n- wear."
    assert carrier(text, "bulbs", 45)[0] == "Not covered:\n\n- bulbs and seals;\n- glass;"
    assert carrier(text, "glass")[0] == "- glass;"


def test_a_row_of_a_table_has_its_header() -> None:
    found, header = carrier("Errors\n\n" + TABLE, "The pump is blocked")
    assert found == "| E7 | The pump is blocked | Clean the sieve below it |"
    assert header == "| Code | Meaning | Remedy |"
    assert carrier(TABLE, "Meaning")[1] == ""


def test_a_table_that_goes_on_has_the_header_of_its_beginning() -> None:
    text = f"Errors\n\n{TABLE}\nAfterwards."
    assert header_above(text, text.index("| E7")) == "| Code | Meaning | Remedy |"
    assert header_above(text, text.index("Errors")) == ""
    assert header_above(text, text.index("Afterwards")) == ""
    # A first row that holds values names no columns, unless a rule below it says so
    rows = "E1\tempty\nE2\tblocked\nE3\thot\n"
    assert header_above(rows, rows.index("E3")) == ""
    assert header_above(f"Code\tMeaning 2\n-----\t-----\n{rows}", len(rows)) == "Code\tMeaning 2"
    assert header_above(f"Code\tMeaning\n{rows}", len(rows)) == "Code\tMeaning"
    # Years do, where the next row has none
    years = "Item\t2023\t2024\nRent\t410\t455\nHeat\t88\t93\n"
    assert carrier(years, "455") == ("Rent\t410\t455", "Item\t2023\t2024")
    assert carrier("Ann\t2019\nBob\t2021\nCid\t2022\n", "2022")[1] == ""


def test_a_line_feed_alone_ends_a_row() -> None:
    row = "| E7 | The pump\u2028is blocked | Clean\x0bthe sieve |"
    assert carrier(f"{TABLE}{row}\n", "Clean\x0bthe")[0] == row


def test_a_sentence_too_long_is_cut_around_the_answer() -> None:
    text = "alpha " * 60 + "the treasure lies here, " + "omega " * 60
    found, _ = carrier(text, "treasure", 100)
    assert len(found) <= 110
    assert "treasure lies here" in found


@pytest.mark.parametrize(
    "line", ["1. Subject.", "## Costs", "- 3 -", "12", "Costs ........ 12", "***", "Terms"]
)
def test_lines_that_carry_nothing(line: str) -> None:
    text = f"{line}\nThe supplier takes care of the garden of the client in every month of the year.\n"
    document, segment = whole(text)
    document = Document("d", text, marks=(Mark(0, section="Terms"),))
    assert bare_lines(document, segment) == [(0, len(line) + 1)]


@pytest.mark.parametrize(
    "text", ["1. Break the eggs.\n2. Stir them.\n", "Invoice: BW-2024-00731\nDate: 12 March\n", "- flour\n- eggs\n"]
)
def test_items_and_labelled_values_are_no_headings(text: str) -> None:
    assert bare_lines(*whole(text)) == []


def test_a_text_of_headings_alone_is_left_as_it_is() -> None:
    assert bare_lines(*whole("# One\n# Two\n")) == []


def test_sentences_and_rows_lose_the_words_of_the_question_that_others_have() -> None:
    text = f"The pump is old. The maple costs 89 crowns.\n\n{TABLE}"
    lost = {text[start:end].strip(): loss for start, end, loss in words_lost(text, "What does code E7 mean?")}
    assert lost["| E7 | The pump is blocked | Clean the sieve below it |"] == min(lost.values()) == 0
    assert lost["| E3 | The tank is empty | Fill it up to the mark |"] > 1
    assert lost["The maple costs 89 crowns."] > 1
    assert {loss for _, _, loss in words_lost(text, "Whose?")} == {0.0}
    assert words_lost("", "Whose?") in ([], [(0, 0, 0.0)])


@pytest.mark.parametrize(
    ("text", "run", "found"),
    [
        ("The mill stood by the river. Dr. A. Brandt bought it in 1921. She paid 4,000 crowns.", "1921",
         "Dr. A. Brandt bought it in 1921."),
        ("One is here. Two is there. Three is gone.", "here. Two is", "One is here. Two is there."),
        ("You need:\n- two eggs\n- a cup of milk\n- flour\n", "a cup of milk", "- a cup of milk"),
        ("Account:\nDE12 5001 0517\n\nThank you.", "DE12 5001", "Account:\nDE12 5001 0517"),
        ("It lies at no. 14 of the lane. It has 71 square metres.", "lane", "It lies at no. 14 of the lane."),
        ("Wir kommen am 2. Mai zu Ihnen. Danke.", "Mai", "Wir kommen am 2. Mai zu Ihnen."),
        ("Haus 22: 5. August bis 23. August. Danke.", "Haus", "Haus 22: 5. August bis 23. August."),
        ("It has room for 12. May I come?", "room", "It has room for 12."),
        ("Tea is served by Tom. The keeper waits.", "keeper", "The keeper waits."),
        ("See art. no. 450 of the list. It is long.", "450", "See art. no. 450 of the list."),
        ("Levels -4 ... -6 are good. The rest is not.", "good", "Levels -4 ... -6 are good."),
    ],
)  # fmt: skip
def test_the_whole_sentence_or_item_is_quoted(text: str, run: str, found: str) -> None:
    assert carrier(text, run) == (found, "")


def test_a_text_on_one_line_is_as_it_was_meant() -> None:
    assert on_one_line("The *old* **eight** a*b neg\u2010\n   ligible\nloss") == "The old eight a*b negligible loss"
