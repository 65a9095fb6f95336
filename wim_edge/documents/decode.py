"""The decoding of bytes to text: encodings, line ends, and the detection of binary files."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from contextlib import suppress

from wim_edge.documents.archive import damaged
from wim_edge.documents.formats import ANY_OF_THEM, BINARY_ENDINGS
from wim_edge.errors import DocumentError

_BYTE_ORDER_MARKS = (  # UTF-32 before UTF-16: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_SAMPLE = 1 << 16  # bytes for detecting UTF-16 and UTF-32
# Control characters of terminals and old printers (BEL to CR, SUB, ESC) do not make a file binary.
_CONTROLS = bytes(set(range(1, 32)) - {7, 8, 9, 10, 11, 12, 13, 26, 27} | {127})
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
# Only encodings of the web: Python has other codecs too, such as unicode_escape and idna.
_WEB_CODECS = re.compile(
    r"ascii|utf-8|iso8859-\d+|cp\d+|koi8-[ru]|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+"
)
_ESCAPED = re.compile("[\udc80-\udcff]+")  # bytes that are not UTF-8
_OLD = ["cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874", "cp932", "cp949", "gb18030", "big5"]
_ASCII, _ENOUGH = bytes(range(128)), 20  # the least bytes that are not ASCII for a guess from the letters
_NO_LETTERS = bytes(one for one in _ASCII if not chr(one).isalpha())
_LABELS = {"iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
"""The codecs that browsers and mail programs use, by the codec that a file declares (WHATWG Encoding Standard)."""


def decode(name: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Returns (text, notes). Notes report a guessed encoding or damage. Raises DocumentError for binary data."""
    encoding = next((one for mark, one in _BYTE_ORDER_MARKS if data.startswith(mark)), "")
    try:
        marked = data.decode(encoding).removeprefix("\ufeff") if encoding else None
    except UnicodeDecodeError:
        marked = None if encoding == "utf-8" else "\0"  # bad UTF-8 is still text: `_guess` decodes it
    if marked is not None and "\0" in marked:
        raise _binary(name)
    if marked is not None:
        return tidy(marked), ()
    if b"\0" in data and (encoding := _by_zeros(data)):
        return tidy(data.decode(encoding)), (f"no byte order mark: read as {encoding.upper()}",)
    if b"\0" in data or 20 * (len(data) - len(data.translate(None, _CONTROLS))) > len(data):
        raise _binary(name)
    text, notes = _guess(data)
    return tidy(text), notes


def decode_markup(name: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """Decodes HTML or XML like `decode`, but tries the declared encoding first if the bytes are not valid UTF-8."""
    declared = _DECLARED.search(data[:1024])
    if declared and not data.startswith(tuple(mark for mark, _ in _BYTE_ORDER_MARKS)):
        with suppress(UnicodeDecodeError):
            codec = codec_of(declared[1].decode("ascii", "replace"))
            # A page converted to UTF-8 often keeps its old declaration: valid UTF-8 wins.
            if codec and (data.isascii() or data.decode("utf-8", "ignore").encode() != data):
                return tidy(data.decode(codec)), ()
    return decode(name, data)


def codec_of(label: str) -> str:
    """Returns the Python codec for an encoding label of the web: "cp1252" for "latin-1"; "" for an unknown label."""
    with suppress(LookupError, ValueError):
        codec = codecs.lookup(label).name
        return _LABELS.get(codec, codec) if _WEB_CODECS.fullmatch(codec) else ""
    return ""


def tidy(text: str) -> str:
    """Returns the text with ``\\n`` line ends, without NULs and soft hyphens."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").replace("\u00ad", "")


def _by_zeros(data: bytes) -> str:
    """Returns the codec of UTF-16 or UTF-32 without a byte order mark, seen by its high bytes; "" for other data."""
    sample = data[: _SAMPLE - _SAMPLE % 4]
    for encoding, size, high in (("utf-32-le", 4, 3), ("utf-32-be", 4, 0), ("utf-16-le", 2, 1), ("utf-16-be", 2, 0)):
        highs, units = Counter(sample[high::size]), len(sample) // size
        is_text = highs[0] >= units / 10 and sum(n for _, n in highs.most_common(2)) >= 0.9 * units
        text = data.decode(encoding, "replace") if is_text else "\0"
        n_odd = sum(not (one.isprintable() or one.isspace()) for one in text[:_SAMPLE])
        if "\0" not in text and "\ufffd" not in text and 20 * n_odd <= units:
            return encoding
    return ""


def _guess(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Returns (text, notes). Lines that are not UTF-8 are read in a guessed encoding; single errors become U+FFFD."""
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8"), ()
    lines, n_bad, n_other, n_good = [], 0, 0, 0
    for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        text = line.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        good = len(text) - len(text.encode("ascii", "ignore")) - bad
        n_good += good > bad
        if bad and good <= 10 * bad:
            text, n_other = line.decode("utf-8", "surrogateescape"), n_other + 1
            text = _ESCAPED.sub(lambda one: one[0].encode("utf-8", "surrogateescape").decode("cp1252", "replace"), text)
        else:
            n_bad += bad
        lines.append(text)
    if n_other and not n_good and (encoding := _by_letters(data)):
        return data.decode(encoding, "replace"), (f"not UTF-8: read as {encoding}",)
    notes = []
    if n_bad:
        notes.append(f"damaged UTF-8: {n_bad} unreadable characters are shown as \ufffd")
    if n_other:
        where = f" in {n_other:,} of {len(lines):,} lines" if n_good else ""
        notes.append(f"not UTF-8{where}: read as windows-1252")
    return "\n".join(lines), tuple(notes)


def _by_letters(data: bytes) -> str:
    """Returns the likely encoding of text in mostly non-Latin letters; "" for Latin text, where guesses often err."""
    sample = data if len(data) <= _SAMPLE else data[: data.rfind(b"\n", 0, _SAMPLE) + 1]  # ends with a whole letter
    n_high, n_letters = len(sample.translate(None, _ASCII)), len(sample.translate(None, _NO_LETTERS))
    with suppress(ImportError):
        from charset_normalizer import from_bytes

        if n_high >= _ENOUGH and 2 * n_high >= n_letters and (best := from_bytes(sample, cp_isolation=_OLD).best()):
            return best.encoding
    return ""


def _binary(name: str) -> DocumentError:
    if name.lower().endswith(BINARY_ENDINGS):
        return damaged(name)
    return DocumentError(f"{name}: this type of file is not supported", f"Give a {ANY_OF_THEM} file.")
