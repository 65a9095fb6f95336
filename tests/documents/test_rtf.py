from __future__ import annotations

import time

import pytest

from wim_edge.documents.rtf import read_rtf
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

LEASE = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title The lease}{\author A}}\f0 The rent is 400\'80.\par "
    rb"Der K\'e4u\-fer \u8211? zahlt.\par\trowd\cellx1000\cellx2000 Item\intbl\cell Price\intbl\cell\row"
    rb"\trowd\cellx1000\cellx2000 Door\intbl\cell 12\intbl\cell\row\pard End.\par}"
)


def test_text_and_tables(read) -> None:
    document = read("a.rtf", LEASE)
    assert document.text == "The rent is 400€.\n\nDer Käufer – zahlt.\n\n| Item | Price\nDoor | 12\n\nEnd."
    assert document.title == "The lease"
    cells = rb"\trowd\pard\intbl %s\cell %s\cell\row"
    rows = cells % (b"Item", b"Sum") + cells % (rb"Lamp\line (black)\par new", b"10") + cells % (
        rb"{a\nestcell b\nestcell{\*\nesttableprops\trowd\nestrow}}\pard\intbl c\nestcell", b"\\u-10179?\\u-8704?")
    assert read("b.rtf", rb"{\rtf1 " + rows + rb"\pard One\par Two}").text == (
        "Item | Sum\nLamp (black) new | 10\na b; c | \U0001f600\n\nOne\n\nTwo")
    rows = rb"\pard\plain Item\cell  Sum\cell  \row\trowd\intbl A|B\cell{1}\cell{\row}"
    rows += rb"\itap2 a\nestcell\pard b\nestcell\nestrow C}"
    assert read("c.rtf", rb"{\rtf1" + rows).text == "| Item | Sum\nA\\|B | 1\n\na b; C"
    assert read("named.doc", LEASE).text == document.text  # Word writes it under this name, too


@pytest.mark.parametrize("data", [
    rb"{\rtf1" + b"{" * 200_000, rb"{\rtf1 a" + rb"\'ff" * 200_000 + b"}", rb"{\rtf1 a\bin999999999 x}",
    rb"{\rtf1 a" + b"}" * 100_000, rb"{\rtf1 a" + rb"{\footnote" * 5_000, rb"{\rtf1 a" + rb"{\v" * 5_000,
    rb"{\rtf1 a{\*\x" + rb"\y" * 100_000,
])  # fmt: skip
def test_hostile_ones_end_soon(read, refuse, data: bytes) -> None:
    began = time.monotonic()
    if data.startswith(rb"{\rtf1 a"):
        assert read("a.rtf", data).text.startswith("a")
    else:
        assert "empty" in str(refuse("a.rtf", data))
    assert time.monotonic() - began < 60


def test_refused(refuse) -> None:
    assert "damaged" in str(refuse("a.rtf", rb"{\rtf1 a\u999999999?b}"))
    with pytest.raises(DocumentError, match="larger than") as told:
        read_rtf("a.rtf", LEASE, Limits(markup_bytes=100))
    assert "WIM_EDGE_MARKUP_BYTES" in told.value.hint


def test_what_is_struck_out_hidden_raised_or_lowered(read) -> None:
    document = read("a.rtf", (
        rb"{\rtf1\ansi{\stylesheet{\s1\strike Old;}}\pard The rent is {\strike EUR 1} EUR 2{\super 1}, "
        rb"\strike gone\strike0 for 36 m{\super\fs16 2}, H{\sub 2}O, {\v hid}the 1{\super st}, "
        rb"21\super 2\nosupersub  days.\par Keys{\strike : {\i old} ones}\uc0{\v x{\b y\plain  and} z} cards\deleted x}"
    ))  # fmt: skip
    assert document.text == "The rent is EUR 2 [1], for 36 m², H₂O, the 1st, 21 [2] days.\n\nKeys and cards"
    assert document.notes == ("4 struck-out passages were left out", "3 hidden passages were left out")


def test_margins_comments_and_boxes_stand_at_the_end_and_links_show_their_text(read) -> None:
    margins = rb"{\header Contract 7\par}{\headerf\pard Contract 7\par}{\footerl Page {\strike 1}}"
    comment = rb"{\*\atnid A}\chatn{\*\annotation{\*\atnref 1}\pard See {\i rents}.}"
    link = rb'{\field{\*\fldinst{HYPERLINK "http://x.org"}}{\fldrslt {\ul here}}}'
    box = rb"{\shp{\*\shpinst{\sp{\sn a}}{\shptxt\pard A box\par}}}"
    document = read("a.rtf", rb"{\rtf1 " + margins + b"Rent 400" + comment + rb" a month.\par Ask " + link + box + b"}")
    assert document.text == "Rent 400 [a] a month.\n\nAsk here\n\nA box\n\n[a] See rents.\n\nContract 7\nPage"
    assert [mark.section for mark in document.marks] == ["Text boxes", "Comments", "Headers and footers"]
    assert read("b.rtf", rb"{\rtf1{\header H}\trowd\intbl A}").text == "A\n\nH", "a table without an end"


def test_footnotes_stand_below_the_text(read) -> None:
    note = rb"{\super\chftn{\footnote\pard\plain {\super\chftn} Net of tax {\b only}.}}"
    pets = rb"Pets{\footnote Dogs \{not\} cats.} allowed.\par"
    document = read("a.rtf", rb"{\rtf1 Rent 400" + note + rb" a month.\par " + pets + b"}")
    assert document.text.split("\n\n") == [
        "Rent 400 [1] a month.", "Pets [2] allowed.", "[1] Net of tax only.", "[2] Dogs {not} cats.",
    ]  # fmt: skip


def test_bullets_and_numbers_of_items_are_read_once_and_letters_of_fonts_of_signs_as_they_look(read) -> None:
    fonts = rb"{\fonttbl{\f0 A;}{\f1\fcharset2 Symbol;}{\f2\fcharset2{\*\panose 05}Wingdings 2;}{\f3\fcharset204 B;}}"
    items = rb"{\pntext\f1\'B7\tab}{\*\pn\pnlvlblt}One\par{\listtext\plain 2.\tab}{\pntext 2.\tab}Two\par "
    dose = rb"5 {\f1 \'6d}g, {\b\f1 a\u-3997?\plain b} {\f2 P} and \f1{\strike x}\'b3\f0\'b3 " + b"\xa4{\\f3\xc0}"
    text = read("a.rtf", rb"{\rtf1" + fonts + items + dose + b"}").text
    assert text == "• One\n\n2. Two\n\n5 μg, αχb ✓ and ≥³ ¤А"
