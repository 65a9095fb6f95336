"""The lines of a PDF's pages become paragraphs, and running heads and page numbers go."""

from __future__ import annotations

import pytest

from wim_edge.documents.reflow import reflow

PROSE = "A line that is about as wide as the page on which it is printed\n"


@pytest.mark.parametrize(("lines", "text"), [
    ("goes on in the next one, as lines of a paragraph do; it is a well-\nknown one. But Sunday is free.", None),
    ("ends here with a full stop.\nAnother one begins.", "ends here with a full stop.\nAnother one begins."),
    ("1. an item\n2. another one", None),
    ("What is not to be found . . . . . . . . . . . . . . . . . . . . 12\nMore", None),
    ("Year 2021 4,000 crowns 17.5% of all that was paid 12 13 14 15\n2022 5,100 crowns 18.1%", None),
])  # fmt: skip
def test_what_goes_on_is_joined(lines: str, text: str | None) -> None:
    (made,) = reflow([PROSE * 6 + lines])
    joined = " ".join(PROSE.strip() for _ in range(6))
    if lines.startswith("goes on"):
        wanted = "goes on in the next one, as lines of a paragraph do; it is a well-known one. But Sunday is free."
        assert made == f"{joined} {wanted}"
    elif lines.startswith(("1.", "Year")):
        assert made == f"{joined}\n{lines}"
    else:
        assert made.endswith(text or lines)


def test_running_heads_stay_once_and_page_numbers_go() -> None:
    def lines(n: int) -> list[str]:
        return [f"On page {n} line {k} is about as wide as the page on which it is printed" for k in range(8)]

    def book(head: str, foot: str) -> list[str]:
        return reflow([
            "\n".join([head.format(n, n + 17), *lines(n), f"Number {n}.{foot.format(n)}"]) for n in range(4)
        ])  # fmt: skip

    bodies = [" ".join([*lines(n), f"Number {n}."]) for n in range(4)]
    assert book("Report no. {0} of the harbour", "\n- {0} -")[2] == f"Report no. 2 of the harbour\n{bodies[2]}"
    assert book("Annual report", "\nPage {0} of 4") == [f"Annual report\n{bodies[0]}", *bodies[1:]]
    assert book("Annual report of the harbour {1}", "")[1:] == bodies[1:]


@pytest.mark.parametrize("page", ["17", "Page 17 of 20", "x", ""])
def test_a_page_that_holds_little_keeps_it(page: str) -> None:
    assert reflow([page, page]) == [page, page]


def test_what_tells_pages_apart_stays() -> None:
    notes = [f"Delivery note no. {number}\nTwo crates of herring.\nSigned by the cook." for number in range(1, 6)]
    assert reflow(notes) == notes
    totals = [f"Herring\nTotal {number}" for number in (4, 9, 12)]
    assert [page.split("\n")[1] for page in reflow(totals)] == ["Total 4", "Total 9", "Total 12"]
    assert reflow([]) == []
