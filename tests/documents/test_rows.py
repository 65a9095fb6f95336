from __future__ import annotations

import pytest

from wim_edge.documents.document import DocumentBuilder
from wim_edge.documents.rows import add_rows, line_of, names_columns
from wim_edge.wim.tables import header_above


def text_of(*rows: tuple[str, ...]) -> str:
    draft = DocumentBuilder()
    add_rows(draft, rows)
    return draft.document("a").text


def test_tables_stand_between_blank_rows_and_without_their_margins() -> None:
    blank, title = ("", "", ""), ("", "Price  list", "")
    text = text_of(blank, title, ("", "Item", "Price"), ("", "Rope\n20 m", "24.90"), blank, ("x", "y"), ("1", ""))
    assert text == "Price list\n\n| Item | Price\nRope 20 m | 24.90\n\n| x | y\n1 |"
    assert header_above(text, text.index("Rope")) == "| Item | Price"
    assert text_of() == text_of(("", " ")) == ""
    assert text_of(("only",), ("a",), ("column",)) == "only\na\ncolumn"


@pytest.mark.parametrize(("first", "is_header"), [
    (("Name", "Room"), True), (("Name", "name"), False), (("Name", ""), False), (("Name", "12.5 %"), False),
    (("Q1", "Q2"), True), (("2024-03-01", "Start"), False), (("4,5 kg", "x"), False), (("€ 12", "x"), False),
])  # fmt: skip
def test_a_first_row_of_words_names_the_columns(first: tuple[str, ...], is_header: bool) -> None:
    assert names_columns([first, ("a", "b")]) == is_header
    assert not names_columns([first])


def test_pipes_in_cells_part_none() -> None:
    assert line_of(["a|b", "", "", "c"]) == r"a\|b | | | c"
    assert line_of(["", "x"]) == "| x"
