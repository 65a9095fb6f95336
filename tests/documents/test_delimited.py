from __future__ import annotations

import csv

import pytest


@pytest.mark.parametrize(("name", "data", "text"), [
    ("a.csv", "Name,Room\nAnna,\"B, 12\"\n", "| Name | Room\nAnna | B, 12"),
    ("a.csv", "Name;Price\nRopé;4,5\n", "| Name | Price\nRopé | 4,5"),
    ("a.tsv", "Name\tRoom\nAnna\t\"12\nleft\"\n", "| Name | Room\nAnna | 12 left"),
    ("a.csv", "sep=;\r\nName;Price, net\r\nRope;4,5\r\n", "| Name | Price, net\nRope | 4,5"),
    ("a.csv", "1,2\n3,4\n", "1 | 2\n3 | 4"),
    ("a.csv", "# of May\n# by tool\nName,Room\nAnna,4\n", "# of May\n\n# by tool\n\n| Name | Room\nAnna | 4"),
    ("a.csv", "one line of words, and no more\n", "one line of words, and no more\n"),
    ("a.csv", "Bread\nMilk, two\nEggs\nSalt\n", "Bread\nMilk, two\nEggs\nSalt\n"),
    ("a.txt", "Name,Room\nAnna,12\n", "Name,Room\nAnna,12\n"),
    ("a.csv", "Name,Room\nMüller,4\n".encode("utf-16"), "| Name | Room\nMüller | 4"),
])  # fmt: skip
def test_rows(read, name: str, data: str | bytes, text: str) -> None:
    assert read(name, data).text == text


def test_hostile_cells_cost_no_time_and_leave_no_trace(read) -> None:
    before = csv.field_size_limit()
    long = read("a.csv", "a,b\n" + "x" * 3_000_000 + ",y\n")
    assert "x" * 3_000_000 in long.text  # as it stands: no table
    assert csv.field_size_limit() == before
    assert len(read("b.csv", "a,b\n" + '"' * 200_000).text) > 1
    assert len(read("d.csv", "name,1\n" * 200_000).text) == len("name | 1\n" * 200_000) - 1
    assert read("c.csv", ("," * 2000 + "\n") * 200 + "x,y\n").text == "x | y"


def test_without_a_cell_it_is_empty(refuse) -> None:
    assert "empty" in str(refuse("a.csv", ",,,\n,,,\n"))


def test_lines_of_another_form_above_a_table(read) -> None:
    above = "Wharfe Motion Ltd;LX range - data, issue 9, January\nKeighley BD21, UK;sales@wharfe.example\n"
    rows = "Model;Stroke mm;Supply V DC;Max load N;Mass kg\n" + "LX20-050-12;50;12;800;0.92\nLX60;150;24;6000;7.5\n" * 9
    document = read("a.csv", (above + rows).encode())
    assert "| Model | Stroke mm | Supply V DC | Max load N | Mass kg\nLX20-050-12 | 50 |" in document.text
