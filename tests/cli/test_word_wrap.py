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
