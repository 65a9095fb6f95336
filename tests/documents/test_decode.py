"""Encodings, line ends, and what is no text."""

from __future__ import annotations

import codecs
import random

import pytest

from wim_edge.documents.decode import decode_markup


@pytest.mark.parametrize("name", ["a.txt", "a.py", "a.log", "a.csv", "a.rst", "README", "a.unknown"])
def test_any_text_is_read_as_it_is(read, name: str) -> None:
    document = read(name, "# é日🙂\n  x = 1\n")
    assert document.text == "# é日🙂\n  x = 1\n"
    assert document.marks == document.notes == ()


@pytest.mark.parametrize(("data", "text", "note"), [
    (b"a\r\nb\rc\n\r\nd", "a\nb\nc\n\nd", ""),
    ("the of\u00adfi\u00adcial fee".encode(), "the official fee", ""),
    (b"\x1b[31mred\x1b[0m\n" * 9, "\x1b[31mred\x1b[0m\n" * 9, ""),  # colours of a terminal are text
    (codecs.BOM_UTF8 + "né日".encode(), "né日", ""),
    ("né日".encode("utf-16"), "né日", ""),
    (codecs.BOM_UTF16_BE + "né日".encode("utf-16-be"), "né日", ""),
    ("né日".encode("utf-32"), "né日", ""),
    ("“naïve” – 5 €".encode("cp1252"), "“naïve” – 5 €", "not UTF-8: read as windows-1252"),
    ("日本語の長い文章です。".encode() + b"\xff!", "日本語の長い文章です。\ufffd!",
     "damaged UTF-8: 1 unreadable characters are shown as \ufffd"),
    ("Küche – 5 €\nplain\n".encode() + "Müll – 40 €\n".encode("cp1252"), "Küche – 5 €\nplain\nMüll – 40 €\n",
     "not UTF-8 in 1 of 4 lines: read as windows-1252"),
    ("Küche ".encode() + "Müll".encode("cp1252"), "Küche Müll", "not UTF-8: read as windows-1252"),
])  # fmt: skip
def test_line_ends_byte_order_marks_and_stated_fallbacks(read, data: bytes, text: str, note: str) -> None:
    document = read("a.txt", data)
    assert (document.text, document.notes) == (text, (note,) * bool(note))


@pytest.mark.parametrize(("encoding", "text"), [
    ("cp1251", "Арендная плата составляет 45 000 рублей в месяц."),
    ("cp932", "商品,価格,在庫\n電気ケトル,4500,12\nトースター,3800,7"),
    ("gb18030", "商品,价格,库存\n电热水壶,45,12\n烤面包机,38,7"),
    ("cp949", "임차인은 매월 450,000원을 지급한다. 기간은 1년이다."),
])  # fmt: skip
def test_old_encodings_of_other_letters(read, encoding: str, text: str) -> None:
    document = read("a.txt", text.encode(encoding))
    assert document.text == text
    assert document.notes == (f"not UTF-8: read as {encoding}",)


@pytest.mark.parametrize("data", [
    b"text\0text",
    b"text\0tex",
    bytes(range(256)) * 4,
    random.Random(1).randbytes(5000),
    bytes(range(1, 256)),
    "a\0b".encode("utf-16"),
    codecs.BOM_UTF16_LE + b"\x00\xd8\x41",
    b"GGUF" + bytes(50),
])  # fmt: skip
def test_binary(refuse, data: bytes) -> None:
    assert "not supported" in str(refuse("a.txt", data))
    assert "damaged" in str(refuse("a.DOCX", data))


@pytest.mark.parametrize("data", [b"", b" \r\n\t ", codecs.BOM_UTF8, "\ufeff \n".encode("utf-16"), "\u3000".encode()])
def test_empty(refuse, data: bytes) -> None:
    assert "empty" in str(refuse("a.txt", data))


def test_declared_encodings() -> None:
    def text(declared: str, data: bytes) -> str:
        return decode_markup("n", f'<meta charset="{declared}">'.encode() + data)[0].partition(">")[2]

    assert text("shift_jis", "日本".encode("shift_jis")) == "日本"
    assert text("iso-2022-jp", "日本".encode("iso-2022-jp")) == "日本"
    assert text("iso-8859-1", "“é”".encode("cp1252")) == "“é”"
    assert text("iso-8859-1", "“é”".encode()) == "“é”"  # converted, the declaration left behind
    for nonsense in ("unicode_escape", "utf-7", "hex", "nope", "idna"):
        assert text(nonsense, rb"\ud800 +2AA-") == rb"\ud800 +2AA-".decode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["Backup host: Zürich, 5 €\n", "Привет, мир. Ещё раз\n"])
def test_no_byte_order_mark(read, encoding: str, text: str) -> None:
    document = read("a.log", text.encode(encoding))
    assert (document.text, document.notes) == (text, (f"no byte order mark: read as {encoding.upper()}",))
