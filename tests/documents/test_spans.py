"""HTML tables as a grid: cells over rows and columns, headers of two lines, and what only looks like that."""

from __future__ import annotations

from tests.documents.conftest import Read
from wim_edge.documents.spans import grid, span_of


def test_cells_over_rows_stand_in_each(read: Read) -> None:
    rows = (
        "<tr><th>Department</th><th>Name</th><th>Room</th></tr>"
        "<tr><td rowspan=2>Loans</td><td>Wilk</td><td>2.16</td></tr><tr><td>Brinkhaus</td><td>2.17</td></tr>"
        "<tr><td colspan=3>Guests</td></tr><tr><td>Board</td><td rowspan='x'>Abt</td><td></td></tr>"
    )
    text = read("a.html", f"<p>Staff</p><table>{rows}</table><p>End</p>").text
    assert text == (
        "Staff\n\n| Department | Name | Room\nLoans | Wilk | 2.16\nLoans | Brinkhaus | 2.17\nGuests\nBoard | Abt |"
        "\n\nEnd"
    )


def test_a_header_of_two_lines_is_one(read: Read) -> None:
    rows = (
        "<tr><td rowspan=2>Category</td><td colspan=2>Adult</td><td colspan=2>Child</td></tr>"
        "<tr><td>single</td><td>return</td><td>single</td><td>return</td></tr>"
        "<tr><td>Foot</td><td>14.50</td><td>26.00</td><td>7.50</td><td>13.00</td></tr>"
        "<tr><td>Dog</td><td>5.00</td><td>9.00</td><td></td><td></td></tr>"
    )
    lines = read("a.html", f"<table>{rows}</table>").text.split("\n")
    assert lines[0] == "| Category | Adult single | Adult return | Child single | Child return"
    assert lines[1] == "Foot | 14.50 | 26.00 | 7.50 | 13.00"


def test_a_first_row_without_headings_names_the_columns_where_the_others_tell(read: Read) -> None:
    rows = "".join(f"<tr><td>F{n}</td><td>Skarven</td><td>0{n}:50</td></tr>" for n in range(3))
    text = read("a.html", f"<table><tr><td>Sailing</td><td>Ship</td><td>Leaves</td></tr>{rows}</table>").text
    assert text.startswith("| Sailing | Ship | Leaves\nF0 | Skarven | 00:50")
    assert read("b.html", f"<table>{rows}</table>").text.startswith("F0 | Skarven")


def test_columns_that_are_wide_in_every_row_are_no_more_than_one() -> None:
    rows, wide = [["a", "b"], ["c", "d"]], [[(1, 2), (1, 1)]] * 2
    assert grid(rows, wide) == rows


def test_spans_are_bounded() -> None:
    assert span_of("99999999", "0") == (1, 1)
    assert span_of("9999", "-1") == (1000, 1)
    assert span_of("", "2") == (1, 2)
    assert grid([["a"], ["b", "c"]], [[(1, 1000)], [(1, 1000), (1, 1000)]]) == [["a"], ["b", "c"]]
