"""The lines of a PDF's pages become paragraphs and tables, and running heads and page numbers go."""

from __future__ import annotations

import pytest

from wim_edge.documents.pdf_lines import Line, Word, line_of
from wim_edge.documents.reflow import reflow

WIDE = "A line that is about as wide as the page on which it is print"
LETTER, LINE = 5.0, 10.0
ENDS = -60 * 1.2 * LINE, 0.0  # the bottom and top of a page of sixty rows


def line(text: str, row: float, left: float = 0) -> Line:
    words, at = [], left
    for word in text.split(" "):
        words += [Word(word, at, at + LETTER * len(word))] if word else []
        at += LETTER * (len(word) + 1)
    return line_of(words, -LINE * 1.2 * row - LINE, -LINE * 1.2 * row)


def page(text: str) -> list[Line]:
    return [line(one, row) for row, one in enumerate(text.split("\n")) if one]


PROSE = "\n".join([WIDE] * 6) + "\n"
JOINED = " ".join([WIDE] * 6)


@pytest.mark.parametrize(("lines", "text"), [
    ("goes on in the next, as lines of paragraphs do; it is a well-\nknown one. But Sunday is free.",
     " goes on in the next, as lines of paragraphs do; it is a well-known one. But Sunday is free."),
    ("that ends in the middle of its width, and another one\nThere was room for it, so the break was meant.", None),
    ("goes on in the next one, as lines of a paragraph do; so exam\x02\nple is broken.",
     " goes on in the next one, as lines of a paragraph do; so example is broken."),
    ("1. an item\n2. another one", "\n1. an item\n2. another one"),
    ("What is not to be found . . . . . . . . . . . . . . . . . . . . 12\nMore", None),
    ("Soup of the day, with bread . . . . . . . . . . . . . . . . . 5.50\nSalad", None),
    ("Discount on all that was bought in May and in June    -0.50\nCoffee", None),
    ("Year 2021 4,000 crowns 17.5% of all that was paid 12 13 14 15\n2022 5,100 crowns 18.1%", None),
    ("\nwhat stands apart", "\n\nwhat stands apart"),
])  # fmt: skip
def test_what_goes_on_is_joined(lines: str, text: str | None) -> None:
    (made,) = reflow([page(PROSE + lines)])
    if text is not None:
        assert made == JOINED + text
    else:
        assert made.endswith(f"\n{lines.partition(chr(10))[2]}")


def test_paragraphs_go_on_in_the_next_column_and_larger_lines_stand_apart() -> None:
    left = [line("a line of a column, as others", row) for row in range(5)]
    right = [line(text, row, 300) for row, text in enumerate(["goes on above and ends here.", "Then another begins"])]
    title = line_of([Word("Title", 0, 60)], 10, 30)
    (made,) = reflow([[title, *left, *right]])
    assert made.startswith("Title\n\na line of a column, as others")
    assert "others goes on above" in made


@pytest.mark.parametrize("is_across", [False, True])
@pytest.mark.parametrize(("n_columns", "n_lines"), [(2, 3), (2, 6), (3, 4), (4, 9)])
def test_columns_of_few_lines_are_read_one_after_the_other(n_columns: int, n_lines: int, is_across: bool) -> None:
    names = [f"C{at}{n}" for at in range(n_columns) for n in range(n_lines)]
    lines = [line(f"it goes on in {name} and in the next", int(name[2]), 240 * int(name[1])) for name in names]
    if is_across:
        lines.sort(key=lambda line: -line.bottom)
    below = [one._replace(bottom=one.bottom - 200, top=one.top - 200) for one in lines]
    (made,) = reflow([[*lines, line("Heading", n_lines + 1.5), *below]])
    assert [word for word in made.split() if not word.islower()] == [*names, "Heading", *names]


def test_a_box_beside_running_text_is_read_after_it() -> None:
    body = [f"it goes on in C{n} and in the next" for n in range(5)]
    box = ["Built: 1932", "Length: 120 m", "Height: 9 m"]
    lines = [line(text, row, 240 * at) for at, some in enumerate((body, box)) for row, text in enumerate(some)]
    (made,) = reflow([sorted(lines, key=lambda line: -line.bottom)])
    assert made == "\n\n".join([" ".join(body), "\n".join(box)])


def test_a_table_is_rows() -> None:
    rows = [("Item", "Price", "Note"), ("Rope of hemp", "24.90", "20 m"), ("Lamp", "8.00", "")]
    lines = [line(WIDE, 0), line(WIDE, 1)]
    lines += [line(cell, 4 + row, 150 * at) for row, cells in enumerate(rows) for at, cell in enumerate(cells) if cell]
    lines += [line("of brass", 6.9), line(WIDE, 10)]
    (made,) = reflow([lines])
    assert made.split("\n\n")[1] == "| Item | Price | Note\nRope of hemp | 24.90 | 20 m\nLamp of brass | 8.00 |"
    assert made.endswith(WIDE)


def rows(first: float, *rows: tuple[str, ...]) -> list[Line]:
    return [
        line(cell, first + at, 200 * column) for at, row in enumerate(rows) for column, cell in enumerate(row) if cell
    ]


HEAD, ROPE, LAMP, OAR = ("Work", "Hours", "Price"), ("Rope", "0.5", "24.90"), ("Lamp", "2", "8.00"), ("Oar", "1", "9")


@pytest.mark.parametrize(("above", "below"), [
    ([HEAD, ROPE, LAMP], [HEAD, OAR, ROPE]),
    ([HEAD, ROPE, LAMP], [OAR, ROPE]),
    ([HEAD, ROPE, ("Lamp", "2", "8.00")], [HEAD, OAR]),
])  # fmt: skip
def test_a_table_over_a_page_break_is_one(above: list[tuple[str, ...]], below: list[tuple[str, ...]]) -> None:
    first, second = reflow([rows(0, *above), [*rows(0, *below), line("The end of the list", 9)]])
    assert first == "| Work | Hours | Price\nRope | 0.5 | 24.90\nLamp | 2 | 8.00"
    assert second.startswith("\nOar | 1 | 9")
    assert "Work" not in second
    assert second.endswith("\n\nThe end of the list")


def test_a_table_of_words_over_a_page_break_is_one_if_only_its_own_header_is_bold_and_another_table_is_none() -> None:
    first = rows(0, ("Name", "Place", "Deputy"), ("Ann", "gate", "Ben"), ("Ben", "shop", "Ann"))
    more = rows(0, ("Cara", "roof", "Dora"), ("Dora", "cellar", "Emil"), ("Emil", "bar", "Cara"))
    assert reflow([first, more])[1].startswith("| Cara")  # it may be a header
    bold, other = (
        [one._replace(weight=700 if at < 3 else 400) for at, one in enumerate(some)] for some in (first, more)
    )
    assert reflow([bold, more])[1].startswith("\nCara")
    assert reflow([bold, other])[1].startswith("| Cara")
    _, second = reflow([rows(0, HEAD, ROPE, LAMP), rows(0, ("Town", "People", "Since"), ("Alder", "900", "1412"), OAR)])
    assert second.startswith("| Town | People | Since\nAlder")


def test_a_row_that_a_page_break_cuts_is_whole() -> None:
    cut = [*rows(0, HEAD, ROPE, LAMP), line("Replacement of the", 3)]
    first, second = reflow([cut, rows(0, HEAD, ("pressure valve", "1.5", "312"), OAR)])
    assert first.endswith("\nLamp | 2 | 8.00")
    assert second == "\nReplacement of the pressure valve | 1.5 | 312\nOar | 1 | 9"
    begun = rows(0, HEAD, ROPE, ("A lamp", "2", "8.00"))
    first, second = reflow([begun, rows(0, HEAD, ("of brass", "", ""), OAR, ROPE)])
    assert first.endswith("\nA lamp of brass | 2 | 8.00")
    assert second == "\nOar | 1 | 9\nRope | 0.5 | 24.90"


def test_what_is_between_the_parts_of_a_table_is_not_lost() -> None:
    pages = [[*rows(0, HEAD, ROPE, LAMP)], [*rows(0, OAR, ROPE)]]
    first, second = reflow([[*page, line("Harbour Company", 8)] for page in pages])
    assert first == "Harbour Company\n\n| Work | Hours | Price\nRope | 0.5 | 24.90\nLamp | 2 | 8.00"
    assert second == "\nOar | 1 | 9\nRope | 0.5 | 24.90\n\nHarbour Company"
    titled = [[line(f"Prices on page {n}", 0), *rows(1.5, HEAD, ROPE, LAMP)] for n in (1, 2)]
    assert [text.split("\n\n")[0] for text in reflow(titled)] == ["Prices on page 1", "Prices on page 2"]


def book(head: str = "", foot: str = "", below: int = 55, step: int = 0) -> list[str]:
    """The text of four pages of sixty rows, the foot of each ``step`` rows below that of the page before."""
    body = {
        row: f"On page {{0}} line {row} is about as wide as the page on which it is printed" for row in range(4, 12)
    }
    rows = [{1: head.format(n, n + 17)} | body | {below + step * n: foot} for n in range(4)]
    pages = [[line(text.format(n), at) for at, text in page.items() if text] for n, page in enumerate(rows)]
    return reflow(pages, [ENDS] * 4)


def test_running_heads_stay_once_and_page_numbers_go() -> None:
    bodies = book()
    assert book("Report no. {0} of the harbour", "- {0} -")[2] == f"Report no. 2 of the harbour\n\n{bodies[2]}"
    assert book("Annual report", "Page {0} of 4") == [f"Annual report\n\n{bodies[0]}", *bodies[1:]]
    assert book("Annual report of the harbour {1}")[1:] == book("The harbour, page {0} of 4")[1:] == bodies[1:]
    assert book("2027", "Harbour Company, Alder")[1:] == bodies[1:]


@pytest.mark.parametrize(("foot", "below", "step"), [
    ("The deposit is 450 crowns.", 12, 0), ("Signature of the tenant: ____", 40, 0), ("To be signed", 52, 2),
    ("450", 12, 0), ("45{0}", 40, 0), ("Signed on page {0} of 4", 20, 0),
])  # fmt: skip
def test_a_text_that_ends_each_page_is_no_running_foot(foot: str, below: int, step: int) -> None:
    assert all(text.endswith(foot.format(n)) for n, text in enumerate(book("", foot, below, step)))


@pytest.mark.parametrize(("gap", "times"), [(2, [1, 1, 1]), (4, [1, 0, 0])])
def test_a_foot_is_farther_from_the_text_than_paragraphs_are_from_each_other(gap: int, times: list[int]) -> None:
    rows = dict.fromkeys(range(30, 55, 2), WIDE) | {54 + gap: "Paid in May"}
    pages = [[line(text, row) for row, text in rows.items()]] * 3
    assert [text.count("Paid") for text in reflow(pages, [ENDS] * 3)] == times


def test_what_tells_pages_apart_stays_and_so_does_what_is_all_of_a_page() -> None:
    for text in ("17", "Page 17 of 20", "x", ""):
        assert reflow([page(text), page(text)]) == [text, text]
    notes = [f"Delivery note no. {number}\nTwo crates of herring.\nSigned by the cook." for number in range(1, 6)]
    assert reflow(list(map(page, notes))) == notes
    totals = [f"Herring\nTotal {number}" for number in (4, 9, 12)]
    assert [text.split("\n")[1] for text in reflow(list(map(page, totals)))] == ["Total 4", "Total 9", "Total 12"]
    assert reflow([]) == []


def test_a_word_goes_on_in_the_next_column_past_a_footer() -> None:
    left = [line("a line of a column, as others", row) for row in range(5)]
    left.append(line("are, and ends in the commis\x02", 5))
    right = [line("sion that answered them all.", 0, 300), line("Then another begins", 1, 300)]
    footer = line("Journal of the Town, 117, which is as wide as both of the columns together", 8)
    (made,) = reflow([[*left, footer._replace(top=footer.top - 3), *right]])
    assert "in the commission that answered them all." in made
    assert made.endswith("\n\nJournal of the Town, 117, which is as wide as both of the columns together")
