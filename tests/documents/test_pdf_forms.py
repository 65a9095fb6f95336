"""The fields of a PDF's form are lines with their labels and values."""

from __future__ import annotations

import pytest
from reportlab.pdfgen.canvas import Canvas

from wim_edge.documents.document import Document

pytest.importorskip("pypdfium2")


def form(*, hints: bool = False) -> bytes:
    canvas = Canvas("", pagesize=(595, 842))
    field = canvas.acroForm
    labels = ["Surname", "Date of move", "Parking space", "Cellar", "Payment", "Key sets", "Pets"]
    for number, label in enumerate(labels):
        canvas.drawString(60, 704 - 30 * number, label)
    canvas.drawString(222, 584, "Standing order")
    canvas.drawString(352, 584, "Card")
    hint = {"tooltip": "Name of the tenant (surname)"} if hints else {}
    field.textfield(name="f1", value="Okafor", x=200, y=700, width=200, height=18, **hint)
    field.textfield(name="f2", value="14 March 2026", x=200, y=670, width=200, height=18)
    field.checkbox(name="f3", checked=True, x=200, y=640, size=14)
    field.checkbox(name="f4", checked=False, x=200, y=610, size=14)
    field.radio(name="f5", value="a", selected=True, x=200, y=580, size=14)
    field.radio(name="f5", value="b", selected=False, x=330, y=580, size=14)
    field.choice(name="f6", value="3", options=["1", "2", "3"], x=200, y=550, width=60, height=18)
    field.textfield(name="f7", value="", x=200, y=520, width=200, height=18)
    return canvas.getpdfdata()


def test_each_field_is_a_line_with_its_label(read) -> None:
    document: Document = read("a.pdf", form())
    assert document.text.split("\n") == [
        "Surname: Okafor", "Date of move: 14 March 2026", "Parking space: Yes", "Cellar: No",
        "Payment: Standing order", "Key sets: 3", "", "Pets", "", "Card: No",
    ]  # fmt: skip
    # A hint says more than the page
    assert read("a.pdf", form(hints=True)).text.startswith("Name of the tenant (surname): Okafor\nDate of move: 14")


def test_a_question_with_a_box_for_each_answer(read) -> None:
    canvas = Canvas("", pagesize=(595, 842))
    for text, x in (("Pets:", 60), ("allowed", 222), ("not allowed", 352)):
        canvas.drawString(x, 704, text)
    canvas.acroForm.checkbox(name="a", checked=True, x=200, y=700, size=14)
    canvas.acroForm.checkbox(name="b", checked=False, x=330, y=700, size=14)
    assert read("a.pdf", canvas.getpdfdata()).text.split("\n") == ["Pets, allowed: Yes", "Pets, not allowed: No"]


def test_labels_above_fields_and_tables_of_fields(read) -> None:
    canvas = Canvas("", pagesize=(595, 842))
    canvas.drawString(60, 722, "First name")
    canvas.drawString(320, 722, "Surname")
    for value, x, y in (("Ada", 60, 700), ("Okafor", 320, 700), ("7", 200, 600), ("9", 300, 600)):
        canvas.acroForm.textfield(name=value, value=value, x=x, y=y, width=80, height=18)
    for text, x, y in (("Before", 200, 640), ("After", 300, 640), ("Rooms", 60, 604)):
        canvas.drawString(x, y, text)
    lines = read("a.pdf", canvas.getpdfdata()).text.split("\n")
    assert {"First name: Ada", "Surname: Okafor"} <= {*lines}
    assert {"Rooms, Before: 7", "Rooms, After: 9"} <= {*lines}
