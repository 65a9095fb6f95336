"""The live display and its parts, on a recording console."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from tests.reading.story import reply, run
from wim_edge.cli.display import Live, WordWrap
from wim_edge.testing import FakeModel


def shown(width: int, *, color: str | None = "standard") -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=color, highlight=False)  # type: ignore[arg-type]
    with Live(console) as display:
        for event in run(FakeModel(reply)):
            display.show(event)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [10, 40, 100])
def test_live_at_any_width(width: int) -> None:
    text = shown(width)
    lines = re.split(r"[\r\n]", re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text))
    assert max(map(len, lines)) <= width
    assert "●" in text
    assert "○" in text
    assert "Answer" in text
    assert "Sources" in text


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
