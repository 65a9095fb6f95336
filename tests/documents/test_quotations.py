"""Quoted parts of mails: where each begins, who wrote it, and what is no quotation."""

from __future__ import annotations

import pytest

from wim_edge.documents.quotations import Paragraph, of_plain, under_heads

PEOPLE = ["Mira Sand", "Jonas Reh"]
OUTLOOK = "Von: Jonas Reh\nGesendet: Montag, 2. Mai 2027 10:11\nAn: Mira Sand\nBetreff: board meeting"
SECOND = "From: Ann <ann@x.org>\nDate: 1 May 2027 09:00\nSubject: board meeting\nTo: Jonas"


def sections(text: str) -> list[tuple[str | None, str]]:
    """The texts below each head, after their section."""
    found: list[tuple[str | None, str]] = [(None, "")]
    for one in under_heads(list(of_plain(text)), "Re: board meeting", PEOPLE):
        if one.section is not None:
            found.append((one.section, ""))
        else:
            found[-1] = found[-1][0], f"{found[-1][1]} / {one.text}".removeprefix(" / ")
    return found


def test_signs_before_lines_and_the_line_with_a_colon() -> None:
    text = "Yes.\n\nAm 02.05.2027 schrieb Jonas:\n> 11 May?\n>\n> On 1 May Ann wrote:\n>> 9 May.\n> fine\n\nBest\n"
    assert sections(text) == [
        (None, "Yes."), ("Quoted: Am 02.05.2027 schrieb Jonas", "11 May?"), ("Quoted: On 1 May Ann wrote", "9 May."),
        ("Quoted: Am 02.05.2027 schrieb Jonas", "fine"), ("Re: board meeting", "Best"),
    ]  # fmt: skip
    assert sections("Yes.\n\nOn 4 May 2027 at 9:12 Jonas Reh <j@x.org>\nwrote:\n\n> 11 May?")[1:] == [
        ("Quoted: On 4 May 2027 at 9:12 Jonas Reh <j@x.org> wrote", "11 May?")
    ]


def test_the_head_of_a_mail_names_the_writer_in_any_language() -> None:
    assert sections(f"Yes.\n\n{OUTLOOK}\n\n11 May?\n\n--- Fwd ---\n{SECOND}\n\n9 May.") == [
        (None, "Yes."), ("Quoted: Jonas Reh, Montag, 2. Mai 2027 10:11", f"{OUTLOOK} / 11 May?"),
        ("Quoted: Ann, 1 May 2027 09:00", f"--- Fwd ---\n{SECOND} / 9 May."),
    ]  # fmt: skip


def test_a_quotation_whose_writer_nobody_names() -> None:
    assert sections("> a\n\nb") == [(None, ""), ("Quoted", "a"), ("Re: board meeting", "b")]
    assert sections("Jonas:\n> a\n>> b")[1:] == [("Quoted: Jonas", "a"), ("Quoted in: Jonas", "b")]
    inside = [Paragraph("ok"), Paragraph("On 2 May 2027 Jonas wrote:", 1), Paragraph("11 May", 1)]
    heads = [one.section for one in under_heads(inside, "x", PEOPLE) if one.section]
    assert heads == ["Quoted: On 2 May 2027 Jonas wrote"]


@pytest.mark.parametrize("text", [
    "Where: B2\nWhen: 18 May 2027\nWhat: rent", "Total: 2027\nTax: 12\nNet: 3",
    "Event: board meeting\nDate: 2027\nPlace: B2",
    "a > b\nand 5 > 4", "Please note:\nwe meet at nine",
])  # fmt: skip
def test_other_lines_are_none(text: str) -> None:
    assert sections(text) == [(None, text)]
