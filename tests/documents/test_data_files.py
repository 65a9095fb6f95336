"""Data files: their rows in every form, and what is none."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.evaluation.stub import write
from wim_edge.documents.data_files import parse_rows, read_rows, text_of
from wim_edge.errors import InvalidRequestError


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.json.gz", "rows.jsonl.gz"])
def test_every_form_of_a_file(tmp_path: Path, name: str) -> None:
    rows = [{"a": 1}, {"a": "ü\u2028"}]
    assert read_rows(write(tmp_path / name, rows, lines="jsonl" in name)) == rows


def test_a_single_line_and_a_list_under_data(tmp_path: Path) -> None:
    assert read_rows(write(tmp_path / "one", [{"a": 1}], lines=True)) == [{"a": 1}]
    assert read_rows(write(tmp_path / "squad", {"version": 1, "data": [{"a": 1}]})) == [{"a": 1}]


@pytest.mark.parametrize(("content", "message"), [
    (None, "No such file"),
    (b"", "holds no rows"),
    (b"[]", "holds no rows"),
    (b"[1, 2]", "holds no rows"),
    (b'{"a": 1}\n{"a": \n', "line 2"),
    (gzip.compress(b'{"a": 1}', mtime=0)[:-4], "cannot be read"),
    (b"\xff\xfe\x00", "is not UTF-8"),
    (b"[" * 100_000, "line 1"),
    (b'{"a": ' + b"1" * 5000 + b"}", "line 1"),
])  # fmt: skip
def test_bad_files(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(InvalidRequestError, match=message):
        read_rows(tmp_path / "bad.json")


def test_half_characters_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(r'{"a": "x\ud800y", "b": "\ud83d\ude00"}')
    assert read_rows(tmp_path / "d.json") == [{"a": "x?y", "b": "\U0001f600"}]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidRequestError, match="no regular file"):
        read_rows(tmp_path / "pipe")


def test_rows_are_parsed_and_the_first_of_another_layout_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [{"a": "x"}, {"a": "y"}], lines=True)
    assert parse_rows(path, lambda row, number: [f"{number}{row['a']}"] * 2, "{a}") == ["0x", "0x", "1y", "1y"]
    with pytest.raises(InvalidRequestError, match=r"rows\.jsonl, row 1: no 'b'") as caught:
        parse_rows(path, lambda row, number: row["b"], "{b: a text}")
    assert caught.value.hint == "A row is {b: a text}."
    with pytest.raises(InvalidRequestError, match="holds no usable rows"):
        parse_rows(path, lambda row, number: [], "{a}")


@pytest.mark.parametrize("value", [3, None])
def test_a_value_that_is_no_text_is_told(value: object) -> None:
    with pytest.raises(TypeError, match="where"):
        text_of(value)
