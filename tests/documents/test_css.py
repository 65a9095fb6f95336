"""Style sheets: which rules apply to an element, and what they make of it."""

from __future__ import annotations

import time

import pytest

from wim_edge.documents.css import StyleSheet
from wim_edge.documents.runs import HIDDEN, LOWERED, RAISED, STRUCK

CLIPPED = "position:absolute; width:1px; height:1px; clip:rect(0, 0, 0, 0)"


@pytest.mark.parametrize(("css", "tag", "attributes", "look"), [
    ("", "p", {}, ""), ("body{display:none}", "body", {}, ""),
    ("", "dialog", {}, HIDDEN), ("", "dialog", {"class": "x"}, HIDDEN), ("", "dialog", {"open": ""}, ""),
    ("", "p", {"hidden": ""}, HIDDEN), ("", "p", {"popover": "auto"}, HIDDEN),
    ("", "p", {"style": "DISPLAY : None"}, HIDDEN),
    ("", "p", {"style": "visibility:hidden"}, HIDDEN), ("", "del", {}, STRUCK), ("", "sup", {}, RAISED),
    ("", "sub", {}, LOWERED), (".a, p.gone{display:none}", "p", {"class": "x gone"}, HIDDEN),
    ("p.gone{display:none}", "li", {"class": "gone"}, ""), ("#n{display:none}", "p", {"id": "n"}, HIDDEN),
    ("aside{display:none}", "aside", {}, HIDDEN),
    (".o{text-decoration: line-through red}", "b", {"class": "o"}, STRUCK),
    (".o{text-decoration-line:line-through}", "b", {"class": "o"}, STRUCK),
    (".u{vertical-align:super}", "b", {"class": "u"}, RAISED), (f".sr{{{CLIPPED}}}", "b", {"class": "sr"}, HIDDEN),
    (".sr{position:absolute;left:-9999px}", "b", {"class": "sr"}, HIDDEN),
    (".sr{position:absolute;clip-path:inset(50%)}", "b", {"class": "sr"}, HIDDEN),
    (".dot{width:1px;height:1px}", "b", {"class": "dot"}, ""),
    ("p{display:none} .on{display:block}", "p", {"class": "on"}, ""),
    (".a{display:none}.a{display:flex}", "p", {"class": "a"}, ""),
    (".a{display:none!important} #b{display:block}", "p", {"class": "a", "id": "b"}, HIDDEN),
    (".a{display:none}", "p", {"class": "a", "style": "display:block"}, ""), ("s{text-decoration:none}", "s", {}, ""),
    ("@media print{.a{display:none}}", "p", {"class": "a"}, ""),
    ("@media screen{.a{display:none}}", "p", {"class": "a"}, HIDDEN),
    (".a{display:none}@media(min-width:48em){.a{display:block}}", "p", {"class": "a"}, ""),
    ("@media print,not all and (min-width:2000px){.a{display:none}}", "p", {"class": "a"}, HIDDEN),
    ("@media only screen and (max-width:767.98px),(40rem<=width<60rem){p{display:none}}", "p", {}, ""),
    ("@media (40rem<=width<90rem){@layer x{p{display:none}}}@media (hover){p{display:block}}", "p", {}, HIDDEN),
    ("@import 'x'; .a{display:none}", "p", {"class": "a"}, HIDDEN),
    ("/* .a{ */ .b .a, .a:hover{display:none}", "p", {"class": "a"}, ""),
    ("p[x]{display:none", "p", {}, ""), (".a{}}{display:none}", "p", {"class": "a"}, ""),
])  # fmt: skip
def test_looks(css: str, tag: str, attributes: dict[str, str], look: str) -> None:
    assert StyleSheet(css).look(tag, attributes)[0] == look


@pytest.mark.parametrize("css", [one * 100_000 for one in ("{", "@media{", "/*", "a{b:c", "}", "a,")])
def test_hostile_sheets_cost_no_more_than_their_length(css: str) -> None:
    began = time.process_time()
    assert StyleSheet(css).look("p", {}) == ("", "")
    assert time.process_time() - began < 5
