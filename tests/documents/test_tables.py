"""Tables in a text: their rows, cells and headers."""

from __future__ import annotations

from wim_edge.documents.tables import cells_of, header_above, labelled, tables


def test_a_row_is_shown_with_its_labels() -> None:
    row = labelled("| Code | Meaning | |", "| E7 | pump blocked | clean it |")
    assert row == "Code: E7 · Meaning: pump blocked · clean it"
    assert labelled("Art.\tPrice\tNote", "Oak\t39.90\t") == "Art.: Oak · Price: 39.90"
    assert labelled("| Code | Meaning |", "| E7 |") == labelled("Code", "E7") == ""


def test_cells_are_counted_with_the_empty_ones() -> None:
    def cells(line: str) -> list[str]:
        return [line[slice(*cell)] for cell in cells_of(line)]

    assert cells("a | b |") == ["a", "b", ""]
    assert cells("| | Note | 2023 |\n") == ["", "Note", "2023"]
    assert cells("a\\|b | c") == ["a\\|b", "c"]
    assert cells("a\tb") == ["a", "b"]
    assert cells("no row") == []


def test_a_header_is_known_by_a_rule_a_pipe_or_its_words() -> None:
    for text in ("| A | B |\n|---|---|\n| 1 | 2 |", "| A | B\n1 | 2", "A | B\n1 | 2", "Name\tRoom\nAnn\t12"):
        (table,) = tables(text)
        assert header_above(text, len(text) - 1) == text[slice(*table.header)] == text.partition("\n")[0]
    assert tables("1 | 2\n3 | 4") == ()
    assert tables("") == ()
