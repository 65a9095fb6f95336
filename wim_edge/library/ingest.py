"""Files and folders -> the documents of a library, with their titles; what is unchanged is passed over."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Literal

from wim_edge.documents import Document, read_document
from wim_edge.documents.data_files import Row, parse_rows, text_of
from wim_edge.documents.document import short, title_of
from wim_edge.documents.formats import FORMATS, MARKDOWN, TEXT
from wim_edge.documents.limits import DEFAULTS
from wim_edge.documents.plain import plain
from wim_edge.documents.readers import find_scans
from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.library.left_out import LEFT_OUT, LeftOut
from wim_edge.library.library import Library, SourceFile
from wim_edge.settings import Limits

ROWS = (".jsonl", ".jsonl.gz", ".ndjson", ".json", ".json.gz")
_TAKEN = (*(ending for one in FORMATS for ending in one.endings), *ROWS[:3])
"""The endings of the files that are taken out of a folder. A file that is named is taken whatever its ending."""
_LAYOUT = "{title, text}"
_SPEED, _SPEEDS = 300_000, dict.fromkeys((*TEXT.endings, *MARKDOWN.endings, *ROWS), 3_000_000)
"""The bytes of a file that are read in a second, about, on two cores; of plain text more."""
_LATEST = 2**63 - 1  # a time of change that SQLite holds, of the year 2262


@dataclass(frozen=True)
class IngestResult:
    """The result of adding a file."""

    path: str
    state: Literal[
        "added", "changed", "moved", "unchanged", "failed", "skipped", "gone", "removed", "waiting", "recognised"
    ]
    """The last one is of a page, and comes before the file's own result."""
    documents: int = 0
    note: str = ""
    """The reason why it failed, or what is missing of it."""


def add(
    library: Library, paths: Iterable[str | Path], *, prune: bool = False, limits: Limits = DEFAULTS
) -> Iterator[IngestResult]:
    """Adds files, folders (with all that is in them) and files of JSON lines; yields the result of each.

    A file whose size and time of change are unchanged is not read again, nor one whose bytes are those of a file that
    is gone: it was moved, and keeps its documents. One that cannot be read is reported as failed, and the library keeps
    what it has of it. ``prune``: removes what it has of files that are gone from these folders, or left out of them.
    """
    for root in dict.fromkeys(Path(os.path.abspath(path)) for path in paths):
        if is_folder := os.path.isdir(root):
            library.add_root(root)
        for result in _add_root(library, root, prune, limits, math.inf):
            if not is_folder and result.path == str(root) and result.documents:  # not one that cannot be read
                library.add_root(root)
            yield result


def sync(
    library: Library, *, prune: bool = True, limits: Limits = DEFAULTS, seconds: float = math.inf
) -> Iterator[IngestResult]:
    """Brings a library in step with the files and folders that were added to it; yields the result of each file.

    What would not be done in so many seconds waits. With ``prune`` what is gone or left out is removed; if the time is
    limited only where no file waits, which may be the same one under another name, and the folder holds some others.
    """
    deadline = time.monotonic() + seconds
    for root in library.roots():
        yield from _add_root(library, root, prune, limits, deadline)


def _add_root(
    library: Library, root: Path, prune: bool, limits: Limits, deadline: float
) -> Iterator[IngestResult]:
    known = {name: one for name, one in library.sources().items() if _is_in(name, str(root))}
    is_folder = os.path.isdir(root)
    gone = {name for name in known if _is_gone(name)}
    if not is_folder and str(root) not in known:
        gone = set()  # a folder that is not there may be a disk that is not: nothing of it is gone
    seen: set[str] = set()
    blind: list[str] = []  # folders that cannot be looked into
    waits = False
    named = library.roots(root)
    for path in files_of(root, known, named):
        if isinstance(path, IngestResult):
            if path.state == "failed":
                blind.append(path.path)
            yield path
        elif str(path) not in gone:
            seen.add(str(path))
            result, before = yield from _one(library, path, known, gone, limits, deadline)
            gone.discard(before)
            seen.add(before)
            waits |= result.state == "waiting"
            yield result
    # An empty folder may be where a disk belongs that is not there
    prune = prune and (deadline == math.inf or (is_folder and bool(seen) and not waits))
    left_out = {name for name in known.keys() - seen - gone if not any(_is_in(name, one) for one in blind)}
    for name in sorted(gone | left_out if is_folder else gone):
        if prune:
            library.remove(name)
        yield IngestResult(name, "removed" if prune else "gone", known[name].documents)


def _is_in(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder.rstrip(os.sep) + os.sep)


def _is_gone(name: str) -> bool:
    """Tells whether there is no such file; one in a folder that cannot be looked into is not gone."""
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def files_of(
    root: Path, known: Container[str] = (), named: Iterable[Path] = ()
) -> Iterator[Path | IngestResult]:
    """Yields the files of a folder, those of other kinds only where they are ``known``, and none that a `LEFT_OUT` file
    names unless it was ``named`` itself; and a result for each path that is of no kind of ours or cannot be looked
    into."""
    if not os.path.isdir(root):
        yield root
        return
    failed: list[OSError] = []
    rules, found = LeftOut(), set[Path]()
    for folder, folders, files in os.walk(root, onerror=failed.append):
        if LEFT_OUT in files:
            rules.read(folder)
        folders[:] = sorted(one for one in folders if not one.startswith(".") and not rules.match(folder, f"{one}/"))
        for name in sorted(files):
            if name.startswith(".") or rules.match(folder, name):
                continue
            path = Path(folder, name)
            if (name.lower().endswith(_TAKEN) or str(path) in known) and (path.is_file() or not path.exists()):
                found.add(path)
                yield path
            else:
                yield IngestResult(_printable(path), "skipped")
    yield from (path for path in named if path not in found and path.is_file())
    for error in failed:
        yield IngestResult(_printable(Path(error.filename or root)), "failed", note=error.strerror or str(error))


def _printable(path: Path) -> str:
    return str(path).encode("utf-8", "replace").decode()


def _one(
    library: Library, path: Path, known: Mapping[str, SourceFile], gone: Container[str], limits: Limits,
    deadline: float,
) -> Generator[IngestResult, None, tuple[IngestResult, str]]:  # fmt: skip
    """Returns the result for a file, and the path that it had before if it was moved, else nothing; yields one for each
    page whose text is recognised."""
    name = str(path)
    had = known.get(name)
    try:
        name.encode()
        stat = path.stat()
        if not S_ISREG(stat.st_mode):
            raise DocumentError("it is no file" if not S_ISDIR(stat.st_mode) else "it is a folder")
        changed = min(stat.st_mtime_ns, _LATEST)
        if had is not None and (had.mtime_ns, had.size) == (changed, stat.st_size):
            return IngestResult(name, "unchanged", had.documents), ""
        if time.monotonic() + stat.st_size / _SPEEDS.get(path.suffix.lower(), _SPEED) > deadline:
            return IngestResult(name, "waiting", had.documents if had else 0), ""
        digest = _digest(path) if stat.st_size <= limits.document_bytes else b""
        same = [one for one in known.values() if digest and (one.digest, one.size) == (digest, stat.st_size)]
        moved = next((one for one in same if one.path == name), None)
        before = moved or next((one for one in same if one.path in gone), None)
        # A title may be the file's name: under another one the file is read again
        if before is not None and (moved is not None or Path(before.path).stem == path.stem):
            library.move(before.path, name, changed)
            return IngestResult(name, "unchanged" if before is had else "moved", before.documents), before.path
        for scan in find_scans([path], limits):
            if deadline < math.inf:
                return IngestResult(name, "waiting", had.documents if had else 0), ""
            of = f" of {len(scan.pages)}" if scan.pages else ""
            for done, page in enumerate(scan.recognise(limits, keep=True), 1):
                note = f"{done}{of}, with confidence {page.confidence:.2f}"
                yield IngestResult(name, "recognised", note=f"page {page.number}, {note}")
        documents, note = _documents(path, limits)
        if before is not None:
            library.remove(before.path)
        n = library.put(name, changed, stat.st_size, documents, digest)
    except UnicodeEncodeError:
        return IngestResult(_printable(path), "failed", note="its name is no Unicode"), ""
    except (OSError, ValueError, DocumentError, InvalidRequestError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        kept = "; what was there of it stays" if had is not None else ""
        note = why.removeprefix(f"{path.name}: ") + kept
        return IngestResult(name, "failed", had.documents if had else 0, note), ""
    if before is not None:
        return IngestResult(name, "moved", n, note), before.path
    return IngestResult(name, "added" if had is None else "changed", n, note), ""


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


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
