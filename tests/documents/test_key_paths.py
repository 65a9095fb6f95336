"""The sections of JSON."""

from __future__ import annotations

import json

import pytest

SAMPLE = """{
  "network": {
    "mqtt": {"port": 8883},
    "dns": [
      "9.9.9.9"
    ]
  },
  "rooms": [
    {
      "id": 4,
      "name": "Lab, \\u00e4",
      "seats": 12
    },
    {
      "seats": 30
    }
  ],
  "version": 3
}
"""


def test_values_stand_in_sections(read) -> None:
    document = read("a.json", SAMPLE.replace("\n", "\r\n"))
    assert (document.text, document.title) == (SAMPLE, "a")
    found = {}
    for value in ("8883", "9.9.9.9", "12", "30", "3\n"):
        at = document.text.rindex(value)
        place = document.place(at, at + len(value))
        found[value] = (place.section or "", place.line)
    assert found == {
        "8883": ("network", 3), "9.9.9.9": ("network > dns", 5), "12": ("rooms > Lab, ä", 12), "30": ("rooms > 2", 15),
        "3\n": ("", 18),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["{nothing", '"a text"', "[" * 5000 + "]" * 5000, "12", json.dumps(json.loads(SAMPLE)), '{"a": {"b": [\n1]}\n}'],
)
def test_what_has_no_bracket_a_line_has_no_sections(read, text: str) -> None:
    document = read("a.json", text)
    assert (document.text, document.marks) == (text, ())


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ('{"%s": {' % ("k" * 500), "k" * 60), (r'{"\ud800 b\nc": {', "\ufffd b c"), ('{"a:": [{"id": 7,\n', "a: > 7"),
        ("[" * 40, " > ".join("1" * 6)),
    ],
)  # fmt: skip
def test_odd_names(read, text: str, section: str) -> None:
    opened = [one for one in text if one in "[{"]
    closing = "\n".join("]" if one == "[" else "}" for one in reversed(opened))
    value = '"x": 1' if opened[-1] == "{" else "1"
    laid_out = text.replace("[", "[\n").replace("{", "{\n") + f"{value}\n{closing}"
    (mark,) = read("a.json", laid_out).marks
    assert mark.section == section
