"""The rows (JSON objects) of data files: JSON or JSON lines, gzip-compressed or not, recognised by content."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from wim_edge.documents.document import read_whole
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import Limits

Row = dict[str, Any]
T = TypeVar("T")

_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_rows(path: Path, limits: Limits | None = None) -> list[Row]:
    """Returns the JSON objects of a data file: one per line, or the items of its list or of its "data" list (SQuAD).
    Raises InvalidRequestError if the file cannot be read or has no rows, and DocumentError if it is too large."""
    text = text_of_file(path, limits)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = [_line(path, number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if _LONE_SURROGATE.search(text):  # half a character, which cannot be encoded as UTF-8
        whole = json.loads(json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace"))
    if isinstance(whole, dict):
        whole = whole["data"] if isinstance(whole.get("data"), list) else [whole]
    if not isinstance(whole, list) or not whole or not all(isinstance(row, dict) for row in whole):
        raise InvalidRequestError(f"{path} holds no rows", "It takes JSON lines or a list of JSON objects.")
    return whole


def parse_rows(
    path: Path, parse: Callable[[Row, int], Iterable[T]], layout: str, limits: Limits | None = None
) -> list[T]:
    """Returns all items that ``parse(row, number)`` yields for a data file's rows, ``number`` from 0. Raises
    InvalidRequestError if ``parse`` fails, or if no row yields an item. ``layout`` describes a row in the hint."""
    found: list[T] = []
    for number, row in enumerate(read_rows(path, limits)):
        try:
            found.extend(parse(row, number))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidRequestError(f"{path.name}, row {number + 1}: {what}", f"A row is {layout}.") from error
    if not found:
        raise InvalidRequestError(f"{path} holds no usable rows", f"A row is {layout}.")
    return found


def text_of(value: Any) -> str:
    """Returns ``value`` if it is a string. Raises TypeError otherwise."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} where a text should be")
    return value


def bytes_of_file(path: Path, limits: Limits | None = None) -> bytes:
    """Returns a file's bytes. Raises InvalidRequestError if it cannot be read, DocumentError if above ``limits``."""
    try:
        if path.exists() and not path.is_file():  # such as a pipe, which can be read only once
            raise InvalidRequestError(f"{path} is no regular file", "Write it to a file first.")
        with path.open("rb") as file:
            return read_whole(path.name, file, limits) if limits else file.read()
    except OSError as error:
        raise InvalidRequestError(f"{path}: {error.strerror or error}", "Check the path.") from error


def text_of_file(path: Path, limits: Limits | None = None) -> str:
    """Returns a UTF-8 or gzip file's text. Raises InvalidRequestError if unreadable, DocumentError if too large."""
    data = bytes_of_file(path, limits)
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as file:
                data = read_whole(path.name, file, limits) if limits else file.read()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{path} is not UTF-8", "Save it as UTF-8 (in Excel: CSV UTF-8).") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidRequestError(f"{path} cannot be read: {error}", "It takes UTF-8 text, or that in gzip.") from error


def _line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"{path}, line {number}: {error}", "It takes JSON lines or one JSON file.") from error
