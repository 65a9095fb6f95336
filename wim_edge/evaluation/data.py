"""Data files -> rows: JSON or JSON lines, gzip-compressed or not, told apart by what they hold."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from wim_edge.errors import InvalidRequestError

Row = dict[str, Any]
T = TypeVar("T")


def read_rows(path: Path) -> list[Row]:
    """The rows of a data file: its lines, the list that it holds, or the list under ``data`` (SQuAD).

    Raises InvalidRequestError if the file cannot be read or holds no rows.
    """
    text = _text(path)
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        whole = [_line(path, number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if isinstance(whole, dict):
        whole = whole["data"] if isinstance(whole.get("data"), list) else [whole]
    if not isinstance(whole, list) or not whole or not all(isinstance(row, dict) for row in whole):
        raise InvalidRequestError(f"{path} holds no rows", "It takes JSON lines or a list of JSON objects.")
    return whole


def parse_rows(path: Path, parse: Callable[[Row, int], Iterable[T]], layout: str) -> list[T]:
    """What ``parse(row, number)`` makes of every row. Raises InvalidRequestError, with the expected
    ``layout`` as its hint, at the first row of another one."""
    found: list[T] = []
    for number, row in enumerate(read_rows(path)):
        try:
            found.extend(parse(row, number))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidRequestError(f"{path.name}, row {number + 1}: {what}", f"A row is {layout}.") from error
    if not found:
        raise InvalidRequestError(f"{path} holds no usable rows", f"A row is {layout}.")
    return found


def fingerprint(path: Path | None) -> dict[str, str] | None:
    """Name and SHA-256 of a data file."""
    if path is None:
        return None
    return {"name": path.name, "sha256": hashlib.sha256(_bytes(path)).hexdigest()}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"{path}: {error.strerror or error}", "Check the path.") from error


def _text(path: Path) -> str:
    data = _bytes(path)
    try:
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidRequestError(f"{path} cannot be read: {error}", "It takes UTF-8 text, or that in gzip.") from error


def _line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        hint = "It takes JSON lines or one JSON file."
        raise InvalidRequestError(f"{path}, line {number}: {error.msg}", hint) from error
