"""Data files: their rows in every form, and what is none."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.evaluation.stub import write
from wim_edge.documents.data_files import answers_of, fingerprint, flag_of, list_of, parse_rows, read_rows, text_of
from wim_edge.errors import InvalidRequestError


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.json.gz", "rows.jsonl.gz"])
def test_every_form_of_a_file(tmp_path: Path, name: str) -> None:
    rows = [{"a": 1}, {"a": "ü\u2028"}]
    assert read_rows(write(tmp_path / name, rows, lines="jsonl" in name)) == rows


def test_a_single_line_and_a_list_under_data(tmp_path: Path) -> None:
    assert read_rows(write(tmp_path / "one", [{"a": 1}], lines=True)) == [{"a": 1}]
    assert read_rows(write(tmp_path / "squad", {"version": 1, "data": [{"a": 1}]})) == [{"a": 1}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no rows"),
        (b"[]", "holds no rows"),
        (b"[1, 2]", "holds no rows"),
        (b'{"a": 1}\n{"a": \n', "line 2"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-4], "cannot be read"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"[" * 100_000, "line 1"),
        (b'{"a": ' + b"1" * 5000 + b"}", "line 1"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
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


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="No such file"):
        read_rows(tmp_path / "none.json")


def test_the_fingerprint_is_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert fingerprint(tmp_path / "abc") == {
        "name": "abc", "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    }  # fmt: skip


def test_rows_are_parsed_and_the_first_of_another_layout_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [{"a": "x"}, {"a": "y"}], lines=True)
    assert parse_rows(path, lambda row, number: [f"{number}{row['a']}"] * 2, "{a}") == ["0x", "0x", "1y", "1y"]
    with pytest.raises(InvalidRequestError, match=r"rows\.jsonl, row 1: no 'b'") as caught:
        parse_rows(path, lambda row, number: row["b"], "{b: a text}")
    assert caught.value.hint == "A row is {b: a text}."
    with pytest.raises(InvalidRequestError, match="holds no usable rows"):
        parse_rows(path, lambda row, number: [], "{a}")


@pytest.mark.parametrize(
    ("read", "value"),
    [(text_of, 3), (text_of, None), (list_of, "ab"), (list_of, {}), (answers_of, True), (answers_of, [None]),
     (answers_of, {"a": 1}), (flag_of, "false"), (flag_of, None), (flag_of, 2)],
)  # fmt: skip
def test_a_value_of_another_type_is_told(read: Callable[[object], object], value: object) -> None:
    with pytest.raises(TypeError, match="where"):
        read(value)


def test_values_as_they_are_meant() -> None:
    assert (answers_of("a"), answers_of([1, "b"]), answers_of(2.5)) == (("a",), ("1", "b"), ("2.5",))
    assert (flag_of(1), flag_of(False)) == (True, False)


def test_a_folders_fingerprint_is_of_the_named_files_and_their_names(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(b"same")
    both = fingerprint(tmp_path, paths)
    assert both == fingerprint(tmp_path, [*paths[::-1], paths[0]])
    assert both != fingerprint(tmp_path, paths[:1])
    paths[1].rename(tmp_path / "c")
    assert both != fingerprint(tmp_path, [paths[0], tmp_path / "c"])
    assert fingerprint(None) is None
