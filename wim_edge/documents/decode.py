"""The decoding of bytes to text: encodings, line ends, and bytes that are no text at all."""

from __future__ import annotations

import codecs
import re

from wim_edge.documents.formats import ANY_OF_THEM
from wim_edge.errors import DocumentError

# The longer marks first: UTF-32's begins with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What terminals and old printers write (BEL to CR, SUB, ESC) is not held against a text.
_CONTROLS = bytes(set(range(1, 32)) - {7, 8, 9, 10, 11, 12, 13, 26, 27} | {127})
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
# Character sets of the web; not Python's other codecs, such as unicode_escape or idna.
_WEB_CODECS = re.compile(
    r"ascii|utf-8|iso8859-\d+|cp\d+|koi8-[ru]|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+"
)


def decode(name: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Returns plain text and notes about it. Raises DocumentError for bytes that are not text."""
    marked = _by_mark(name, data)
    if marked is not None:
        return tidy(marked), ()
    if b"\0" in data or 20 * (len(data) - len(data.translate(None, _CONTROLS))) > len(data):
        raise _binary(name)
    text, notes = _guess(data)
    return tidy(text), notes


def decode_markup(name: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Does what :func:`decode` does, for HTML and XML, which can declare their encoding."""
    declared = _DECLARED.search(data[:1024])
    if declared and not data.startswith(tuple(mark for mark, _ in _BYTE_ORDER_MARKS)):
        try:
            codec = codecs.lookup(declared[1].decode("ascii", "replace")).name
            # A page converted to UTF-8 often keeps its old declaration: valid UTF-8 wins.
            if _WEB_CODECS.fullmatch(codec) and (data.isascii() or not _is_utf8(data)):
                return tidy(data.decode("cp1252" if codec == "iso8859-1" else codec)), ()
        except (LookupError, UnicodeDecodeError):
            pass
    return decode(name, data)


def tidy(text: str) -> str:
    """Returns the text with ``\\n`` line ends and without NULs."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _by_mark(name: str, data: bytes) -> str | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if not data.startswith(mark):
            continue
        try:
            text = data.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError:
            if encoding == "utf-8":  # a damaged text, but a text
                return None
            raise _binary(name) from None
        if "\0" in text:
            raise _binary(name)
        return text
    return None


def _guess(data: bytes) -> tuple[str, tuple[str, ...]]:
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", "replace")
    bad = text.count("\ufffd")
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    if good > 10 * bad:
        return text, (f"damaged UTF-8: {bad} unreadable characters are shown as \ufffd",)
    return data.decode("cp1252", "replace"), ("not UTF-8: read as windows-1252",)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _binary(name: str) -> DocumentError:
    return DocumentError(f"{name}: binary, not text", f"Give a {ANY_OF_THEM} file.")
