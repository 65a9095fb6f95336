"""Units of a text: rows with their labels, and the items of a list."""

from __future__ import annotations

import pytest

from wim_edge.documents import Document, Mark
from wim_edge.documents.units import column, lists, rows, siblings, unit_spans, whole_value

TABLE = "| Name | Room |\n| --- | --- |\n| Ada | 12 |\n| Hugo | 14 |\n"
AS = {"Markdown": TABLE, "pipes": "| Name | Room\nAda | 12\nHugo | 14\n", "tabs": "Name\tRoom\nAda\t12\nHugo\t14\n"}


@pytest.mark.parametrize("text", AS.values(), ids=AS)
def test_a_row_is_its_cells_after_their_labels(text: str) -> None:
    first, second = rows(Document("t", f"Staff.\n\n{text}\nAfterwards."))
    assert (first.text, second.text) == ("Name: Ada; Room: 12", "Name: Hugo; Room: 14")
    assert first.texts == ("Ada", "12")


def test_a_row_stands_below_the_title_of_its_group_and_one_without_labels_alone() -> None:
    text = "| Item | Price\nBoats\nSkiff | 12\nPunt | 9\n\nCars\nVan | 40\nBus | 50\n"
    found = rows(Document("t", text))
    assert [row.text for row in found] == [
        "Boats\nItem: Skiff; Price: 12", "Boats\nItem: Punt; Price: 9", "Cars\nItem: Van; Price: 40",
        "Cars\nItem: Bus; Price: 50",
    ]  # fmt: skip
    assert [row.text for row in rows(Document("t", "Ada | 12\nHugo | 14\n"))] == ["Ada; 12", "Hugo; 14"]
    assert rows(Document("t", "The Mill | Oak Lane 4\n\nDear Ann, no table is here.")) == ()


def test_units_are_the_text_with_each_row_alone() -> None:
    fields = "Date: 9 October, in the old Scout Hut on the hill\nPresent: Marguerite Okafor, Len\n"
    text = f"{fields}\nOne is here. Two is there.\n\n{TABLE}"
    spans = unit_spans(text)
    assert text[slice(*spans[0])] == fields.splitlines(keepends=True)[0]
    assert "".join(text[slice(*span)] for span in spans) == text
    assert "| Ada | 12 |\n" in [text[slice(*span)] for span in spans]


@pytest.mark.parametrize(("text", "run", "items"), [
    ("You need:\n- a pen\n- paper\n\nCome early.", "You need", ["- a pen", "- paper"]),
    ("You need:\n- a pen\n- paper\n\nCome early.", "paper", ["- a pen", "- paper"]),
    ("Causes are that\n\n(a) rent is late;\n(b) it burns.\n\nSo.", "are that",
     ["(a) rent is late;", "(b) it burns."]),
    ("- a spade with a\n  long handle\n- two rakes\n", "long", ["- a spade with a\n  long handle", "- two rakes"]),
    ("Paul wrote to Ann about this:\n- keys\n- boots\n", "Paul", []),
    ("You need:\n- a pen\n\nCome early.", "You need", []),
    ("You need:", "You need", []),
    ("You need:\n- a pen\n- paper\n10. Subletting\nIt is forbidden.", "paper", ["- a pen", "- paper"]),
])  # fmt: skip
def test_the_items_beside_or_below_some_words(text: str, run: str, items: list[str]) -> None:
    at = text.index(run)
    assert [text[start:end] for start, end in siblings(Document("t", text), at, at + len(run))] == items


def test_the_lists_of_a_text_with_the_lines_above_them() -> None:
    text = "- soup\n- tea\n\nBring\nyour:\n1. tent\n   of cotton\n2. mat\n\n- one\n\n3. Food\n\n4. No list."
    document = Document("t", text, (Mark(text.index("3."), section="3. Food"),))
    found = [(text[slice(*above)], [text[slice(*item)] for item in items]) for above, items in lists(document)]
    assert found == [("", ["- soup", "- tea"]), ("your:", ["1. tent\n   of cotton", "2. mat", "- one"])]


def test_the_cells_of_a_column() -> None:
    found = rows(Document("t", TABLE))
    cells = column(found, TABLE.index("14"))
    assert [TABLE[slice(*cell)] for cell in cells] == ["12", "14"]
    assert column(found, TABLE.index("Room")) == []


@pytest.mark.parametrize(("text", "part", "value"), [
    ("IBAN DE44 6805 0101 0012 3456 78, BIC", "6805", "DE44 6805 0101 0012 3456 78"),
    ("Call +49 761 55012-0 or write", "55012", "+49 761 55012-0"),
    ("Tel. (0203) 555 0134.", "555", "(0203) 555 0134"),
    ("Order BW-2024-00731 of May", "2024", "BW-2024-00731"),
    ("accounts@helio.example", "helio", "accounts@helio.example"),
    ("Total 1,537.48 EUR", "537", "1,537.48"),
    ("due: 16 April 2026 (30 days net)", "April 2026", "16 April 2026"),
    ("due: 16 April 2026 (30 days net)", "2026", "2026"),
    ("desde el 3 de mayo de 1999", "mayo", "3 de mayo de 1999"),
    ("It was built in 1921.", "1921", "1921"),
    ("muss bis 10. Juni leer sein", "Juni", "10. Juni"),
    ("open from May 12 on", "May", "May 12"),
    ("Section 5 may be waived", "may be", "may be"),
    ("The fee is 45. After 2020 it rises.", "45", "45"),
    ("Room 5 holds 1200 books.", "Room 5", "Room 5"),
    ("€2.500,50. Call 0800 123 456", "€2.500,50", "€2.500,50"),
    ("on 1 April. All", "1 April", "1 April"),
    ("If ASN1_ALLOW_PADDING is set", "PADDING", "ASN1_ALLOW_PADDING"),
    ("It is _very_ important", "very", "very"),
])  # fmt: skip
def test_half_a_value_is_widened_to_all_of_it(text: str, part: str, value: str) -> None:
    at = text.index(part)
    start, end = whole_value(text, at, at + len(part))
    assert text[start:end] == value
