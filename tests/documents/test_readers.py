"""Files that cannot be read, standard input, and several files."""

from __future__ import annotations

import importlib
import io
from pathlib import Path

import pytest

from tests.documents.make import pdf, place_of
from wim_edge.documents import read_document, read_documents
from wim_edge.errors import DocumentError, InvalidRequestError


def test_missing_and_directories(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"^no\.txt: no such file$") as caught:
        read_document(tmp_path / "no.txt")
    assert str(tmp_path) in caught.value.hint
    with pytest.raises(DocumentError, match="a directory"):
        read_document(tmp_path)
    for odd in ("nul\0byte", "x" * 5000, "no.txt/deeper"):
        with pytest.raises(DocumentError, match=r"cannot be read|no such file"):
            read_document(odd)


def test_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "a.txt"
    path.write_text("x")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DocumentError, match=r"^a\.txt: permission denied$"):
        read_document(path)


@pytest.mark.parametrize(("start", "what"), [
    (b"\x89PNG\r\n\x1a\n", "picture"),
    (b"\xff\xd8\xff\xe0", "picture"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "password"),
])  # fmt: skip
def test_unsupported(refuse, start: bytes, what: str) -> None:
    assert what in str(refuse("file.bin", start + b"\n1234"))


def test_standard_input() -> None:
    document = read_document("-", io.BytesIO(b"plain"))
    assert (document.name, document.text, document.path) == ("standard input", "plain", None)
    assert read_document("-", io.BytesIO(b"<!DOCTYPE html><p>x")).text == "x"
    assert read_document("-", io.BytesIO(pdf(b"Page"))).text == "Page"
    with pytest.raises(DocumentError, match=r"^standard input: empty$"):
        read_document("-", io.BytesIO(b""))


def test_names_are_printable(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m\n\udcff.txt"
    try:
        path.write_text("x")
    except (OSError, UnicodeError):
        pytest.skip("not a name on this file system")
    assert read_document(path).name == "a\ufffd[31m\ufffd\ufffd.txt"


def test_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = []
    for folder, name in (("x", "r.txt"), ("y", "r.txt"), ("z", "r.txt (2)"), ("z", "r.txt")):
        (tmp_path / folder).mkdir(exist_ok=True)
        sources.append(tmp_path / folder / name)
        sources[-1].write_text(folder)
    names = [document.name for document in read_documents(sources)]
    assert names == ["r.txt", "r.txt (3)", "r.txt (2)", "r.txt (4)"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x")))
    assert [d.name for d in read_documents(["-", sources[0]])] == ["standard input", "r.txt"]
    with pytest.raises(InvalidRequestError, match="given twice"):
        read_documents(["-", "-"])
    assert read_documents([]) == []


@pytest.mark.parametrize(("name", "content"), [("a.pdf", b"%PDF-1.4"), ("a.html", b"<p>x"), ("a.md", b"# x")])
def test_a_missing_library_says_what_to_install(
    refuse, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", missing)
    assert refuse(name, content).hint == "pip install charset-normalizer lxml openpyxl pypdfium2 striprtf"


def test_the_room_loads_no_library_by_itself() -> None:
    import subprocess
    import sys

    heavy = "{'lxml', 'docx', 'pypdfium2', 'markdown_it', 'bs4', 'llama_cpp'}"
    code = f"import sys, wim_edge.documents; sys.exit(bool({heavy} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lines_are_told_only_where_an_editor_shows_the_same() -> None:
    page = b"<html><body><p>One.</p>\n\n\n<p>Two.</p></body></html>"
    converted = read_document("-", io.BytesIO(page))
    assert place_of(converted, "Two").line is None
    plain = read_document("-", io.BytesIO(b"One.\n\nTwo."))
    assert place_of(plain, "Two").line == 3
