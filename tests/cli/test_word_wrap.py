"""Streamed text is broken between words."""

from __future__ import annotations

from wim_edge.cli.word_wrap import WordWrap

LONG = "verylongwordthatfitsnowhere"


def test_words_are_not_broken() -> None:
    wrap = WordWrap(20)
    pieces = ["The board deci", "ded to rep", "lace the ro", "of in Sept", "ember.\n", "Then ", "a", LONG]
    text = "".join(map(wrap, pieces)) + wrap.rest()
    assert [line.rstrip() for line in text.split("\n")] == [
        "The board decided to", "replace the roof in", "September.", "Then", "a" + LONG,
    ]  # fmt: skip


def test_scripts_that_do_not_part_words() -> None:
    wrap = WordWrap(20)
    assert wrap("卢克领先") == "卢克领", "it is shown as it comes"
    assert wrap("，擒抱118次。") == "先，擒抱118", "a mark stays with what it closes"
    assert wrap("他强迫对方两次") == "\n次。他强迫对方两", "each is two columns wide"
    assert wrap.rest() == "次"
    thai = WordWrap(10)
    shown = thai("การทดสอบการทดสอบการทดสอบ")
    assert shown, "two lines of it are shown before it ends"
    assert (shown + thai.rest()).replace("\n", "") == "การทดสอบการทดสอบการทดสอบ"
