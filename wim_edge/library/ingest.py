"""Files and folders -> the documents of a library, with their titles; what is unchanged is passed over."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Literal

from wim_edge.documents import Document, read_document
from wim_edge.documents.data_files import Row, parse_rows, text_of
from wim_edge.documents.document import short
from wim_edge.documents.formats import FORMATS
from wim_edge.documents.limits import DEFAULTS
from wim_edge.documents.plain import plain
from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.library.library import Library, SourceFile
from wim_edge.settings import Limits

ROWS = (".jsonl", ".jsonl.gz", ".ndjson", ".json", ".json.gz")
_TAKEN = (*(ending for one in FORMATS for ending in one.endings), *ROWS[:3])
"""The endings of the files that are taken out of a folder. A file that is named is taken whatever its ending."""
_LAYOUT = "{title, text}"
_LATEST = 2**63 - 1  # a time of change that SQLite holds, of the year 2262
_NO_HEADING = re.compile(r"chapter \d+")  # our own name for what an EPUB calls nothing


@dataclass(frozen=True)
class IngestResult:
    """The result of adding a file."""

    path: str
    state: Literal["added", "changed", "unchanged", "failed", "skipped", "gone", "removed"]
    documents: int = 0
    note: str = ""
    """The reason why it failed, or what is missing of it."""


def add(
    library: Library, paths: Iterable[str | Path], *, prune: bool = False, limits: Limits = DEFAULTS
) -> Iterator[IngestResult]:
    """Adds files, folders (with all that is in them) and files of JSON lines; yields the result of each.

    A file whose size and time of change are unchanged is not read again. One that cannot be read is reported as failed,
    and the library keeps what it has of it. ``prune``: removes what it has of files that are gone from these folders.
    """
    for root in dict.fromkeys(Path(os.path.abspath(path)) for path in paths):
        known = library.sources()
        gone = [name for name in known if Path(name).is_relative_to(root) and _is_gone(name)]
        if not os.path.isdir(root) and str(root) not in known:
            gone = []  # a folder that is not there may be a disk that is not: nothing of it is gone
        for path in files_of(root, known):
            if isinstance(path, IngestResult):
                yield path
            elif str(path) not in gone:
                yield _one(library, path, known.get(str(path)), limits)
        for name in gone:
            if prune:
                library.remove(name)
            yield IngestResult(name, "removed" if prune else "gone", known[name].documents)


def _is_gone(name: str) -> bool:
    """Tells whether there is no such file; one in a folder that cannot be looked into is not gone."""
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def title_of(document: Document) -> str:
    """Returns the title that the file itself gives, else its first heading, else the file's name."""
    # Of a PDF the first bookmark is one of many sections: its marks begin with a page alone
    heading = document.marks[0].section if document.marks else None
    if not heading or _NO_HEADING.fullmatch(heading):
        heading = document.path.stem if document.path else document.name
    return short(document.title) or short(heading) or "untitled"


def files_of(root: Path, known: Container[str] = ()) -> Iterator[Path | IngestResult]:
    """Yields the files of a folder, those of other kinds only where they are ``known``; and a result for each path that
    is of no kind of ours or cannot be looked into."""
    if not os.path.isdir(root):
        yield root
        return
    failed: list[OSError] = []
    for folder, folders, files in os.walk(root, onerror=failed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if name.startswith("."):
                continue
            if (name.lower().endswith(_TAKEN) or str(path) in known) and (path.is_file() or not path.exists()):
                yield path
            else:
                yield IngestResult(_printable(path), "skipped")
    for error in failed:
        yield IngestResult(_printable(Path(error.filename or root)), "failed", note=error.strerror or str(error))


def _printable(path: Path) -> str:
    return str(path).encode("utf-8", "replace").decode()


def _one(library: Library, path: Path, known: SourceFile | None, limits: Limits) -> IngestResult:
    name = str(path)
    try:
        name.encode()
        stat = path.stat()
        if not S_ISREG(stat.st_mode):
            raise DocumentError("it is no file" if not S_ISDIR(stat.st_mode) else "it is a folder")
        changed = min(stat.st_mtime_ns, _LATEST)
        if known is not None and (known.mtime_ns, known.size) == (changed, stat.st_size):
            return IngestResult(name, "unchanged", known.documents)
        documents, note = _documents(path, limits)
        n = library.put(name, changed, stat.st_size, documents)
    except UnicodeEncodeError:
        return IngestResult(_printable(path), "failed", note="its name is no Unicode")
    except (OSError, ValueError, DocumentError, InvalidRequestError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        kept = "; what was there of it stays" if known is not None else ""
        return IngestResult(name, "failed", known.documents if known else 0, why.removeprefix(f"{path.name}: ") + kept)
    return IngestResult(name, "added" if known is None else "changed", n, note)


def _documents(path: Path, limits: Limits | None) -> tuple[list[tuple[str, Document]], str]:
    """Returns a file's documents with their titles, and what is missing. Raises DocumentError, InvalidRequestError."""
    if not path.name.lower().endswith(ROWS):
        return _whole(path, limits)
    try:
        return _rows(path, limits)
    except (DocumentError, InvalidRequestError):
        if path.suffix.lower() != ".json":
            raise
        return _whole(path, limits)  # a JSON file of any other kind is a text


def _whole(path: Path, limits: Limits | None) -> tuple[list[tuple[str, Document]], str]:
    document = read_document(path, limits=limits or DEFAULTS)
    return [(title_of(document), document)], "; ".join(document.notes)


def _rows(path: Path, limits: Limits | None) -> tuple[list[tuple[str, Document]], str]:
    rows = parse_rows(path, lambda row, number: [_row(path, row, number)], _LAYOUT, limits)
    full = [(title, document) for title, document in rows if document.text.strip()]
    if not full:
        raise DocumentError(f"{path.name}: no row holds any text")
    return full, f"{len(rows) - len(full)} rows hold no text" if len(full) < len(rows) else ""


def rows_of(path: Path) -> list[tuple[str, Document]]:
    """Returns the documents of a file of rows, each with its title. Raises DocumentError, InvalidRequestError."""
    return _documents(path, None)[0]


def _row(path: Path, row: Row, number: int) -> tuple[str, Document]:
    """Parses {title, text}, {title, body}, or KILT's knowledge source: {wikipedia_title, text: [paragraphs]}."""
    title = text_of(row.get("title") or row.get("wikipedia_title") or "")
    text = row.get("text") or row.get("body") or ""
    if isinstance(text, list):
        text = "".join(map(text_of, text))
    title = short(title) or f"{path.name.partition('.')[0]} {number + 1}"
    return title, replace(plain(title, text_of(text)), path=path)
