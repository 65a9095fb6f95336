"""Ingest: adds files and folders to a library (`add`), and later updates the library from them (`sync`)."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath
from stat import S_ISDIR, S_ISREG
from typing import Any, Literal

from wim_edge.documents import Document, read_document
from wim_edge.documents.data_files import Row, parse_rows, text_of
from wim_edge.documents.document import DEFAULTS, short, title_of, well_formed, with_file_name
from wim_edge.documents.formats import FORMATS, MARKDOWN, TEXT
from wim_edge.documents.plain import plain
from wim_edge.documents.readers import find_scans
from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.library.documents_db import file_digest, state_of
from wim_edge.library.library import Library, SourceFile
from wim_edge.settings import Limits

ROWS = (".jsonl", ".jsonl.gz", ".ndjson", ".json", ".json.gz")
_TAKEN = (*(ending for one in FORMATS for ending in one.endings), *ROWS[:3])
"""The name endings of files that are read in folders. A file that the user names itself may have any ending."""
_LAYOUT = "{title, text}"
_SPEED, _SPEEDS = 300_000, dict.fromkeys((*TEXT.endings, *MARKDOWN.endings, *ROWS), 3_000_000)
"""The approximate bytes of a file that two cores read in a second: of most formats, and of plain text by ending."""
_HASHED = 200_000_000  # approximate bytes that are hashed in a second


@dataclass(frozen=True)
class IngestResult:
    """The result of `add` or `sync` for one file, or for one page of a scan."""

    path: str
    state: Literal[
        "added", "changed", "moved", "unchanged", "failed", "skipped", "gone", "removed", "waiting", "recognised"
    ]
    """``gone``: not found, but its documents stay. ``waiting``: not read yet. ``recognised``: one page of a scan."""
    documents: int = 0
    note: str = ""
    """The reason for a failure, or a remark, for example that text is missing; may be empty."""


@dataclass(frozen=True)
class _Options:
    prune: bool
    remove_missing: bool = False
    limits: Limits = DEFAULTS
    deadline: float = math.inf
    written: Container[str] = ()


def add(
    library: Library, paths: Iterable[str | Path], *, prune: bool = False, limits: Limits = DEFAULTS
) -> Iterator[IngestResult]:
    """Adds files, and all files in folders and their subfolders, to a library; yields each file's result. A file is
    read again only if its bytes or its name have changed; a moved file keeps its documents. ``prune``: also removes the
    documents of files in these folders that are now missing or excluded (see `sync`)."""
    options = _Options(prune, limits=limits)
    for root in dict.fromkeys(Path(os.path.abspath(path)) for path in paths):
        if is_folder := os.path.isdir(root):
            library.add_root(root)
        for result in _compare(library, root, options):
            if not is_folder and result.path == str(root) and result.documents:  # only if it could be read
                library.add_root(root)
            yield result


def sync(
    library: Library, *, remove_missing: bool = False, limits: Limits = DEFAULTS, seconds: float = math.inf,
    written: Container[str] = (),
) -> Iterator[IngestResult]:  # fmt: skip
    """Updates a library from the files and folders that were added to it; yields each file's result. Removes the
    documents of missing and excluded files, which `Library.restore` can restore. The documents of an empty or missing
    folder stay, because its disk may not be mounted, unless ``remove_missing``. ``seconds``: the time limit. Files that
    would take longer wait for the next call; then nothing is removed, since a waiting file may be a missing one under
    another name. ``written``: files that were just written, which are compared even if size and times are unchanged."""
    options = _Options(True, remove_missing, limits, time.monotonic() + seconds, written)
    for root in library.roots():
        yield from _compare(library, root, options)


def _compare(library: Library, root: Path, options: _Options) -> Iterator[IngestResult]:
    """Compares a file or folder with the library, updates the library, and yields each file's result."""
    known = {name: one for name, one in library.sources().items() if _is_in(name, str(root))}
    is_folder = os.path.isdir(root)
    missing = {name for name in known if _is_missing(name)}
    if not is_folder and str(root) not in known:
        if options.remove_missing:
            library.remove(str(root))
        else:
            missing = set()  # the folder is reported, not each of its files
    seen: set[str] = set()
    blind: list[str] = []  # folders that cannot be read
    waits = False
    for path in () if missing and not is_folder else files_of(root, known, library.roots(root)):
        if isinstance(path, IngestResult):
            if path.state == "failed":
                blind.append(path.path)
            yield path
        elif str(path) not in missing:
            seen.add(str(path))
            result, before = yield from _one(library, path, known, missing, options)
            missing.discard(before)
            seen.add(before)
            waits |= result.state == "waiting"
            yield result
    left_out = {name for name in known.keys() - seen - missing if not any(_is_in(name, one) for one in blind)}
    is_empty = cache(_is_empty)
    prune = options.prune and (options.deadline == math.inf or (is_folder and not waits))
    for name in sorted(missing | left_out if is_folder else missing):
        if known[name].is_restored:
            continue
        may_be_elsewhere = name in missing and is_empty(os.path.dirname(name)) and not options.remove_missing
        if prune and not may_be_elsewhere:
            library.remove(name, keep=True)
            yield IngestResult(name, "removed", known[name].documents)
        else:
            note = "its folder is empty or missing" if may_be_elsewhere else ""
            yield IngestResult(name, "gone", known[name].documents, note)


def _is_empty(folder: str) -> bool:
    """Returns True for a missing or unreadable folder, or one without visible entries (a disk that is not mounted)."""
    try:
        return all(name.startswith(".") for name in os.listdir(folder))
    except OSError:
        return True


def _is_in(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder.rstrip(os.sep) + os.sep)


def _is_missing(name: str) -> bool:
    """Returns True if no file has this path. A file in a folder that cannot be read does not count as missing."""
    try:
        os.stat(name)
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


def files_of(root: Path, known: Container[str] = (), named: Iterable[Path] = ()) -> Iterator[Path | IngestResult]:
    """Yields the paths to read under ``root``: files of a known format or in ``known`` that no `LEFT_OUT` file
    excludes, then the files ``named``. Also yields an IngestResult for each skipped file and unreadable folder."""
    if not os.path.isdir(root):
        yield root
        return
    failed: list[OSError] = []
    rules, found = LeftOut(), set[Path]()
    for folder, folders, files in os.walk(root, onerror=failed.append):
        if LEFT_OUT in files:
            rules.read(folder)
        folders[:] = sorted(one for one in folders if not one.startswith(".") and not rules.match(folder, f"{one}/"))
        for name in sorted(one for one in files if not one.startswith(".") and not rules.match(folder, one)):
            path = Path(folder, name)
            if (name.lower().endswith(_TAKEN) or str(path) in known) and (path.is_file() or not path.exists()):
                found.add(path)
                yield path
            else:
                yield IngestResult(well_formed(str(path)), "skipped")
    yield from (path for path in named if path not in found and path.is_file())
    for error in failed:
        yield IngestResult(well_formed(str(error.filename or root)), "failed", note=error.strerror or str(error))


def _one(
    library: Library, path: Path, known: Mapping[str, SourceFile], missing: Container[str], options: _Options
) -> Generator[IngestResult, None, tuple[IngestResult, str]]:
    """Updates the library from one file; yields a result for each recognised page of a scan. Returns (the file's
    result, the path at which the library had a file with the same bytes, or an empty text)."""
    name = str(path)
    had = known.get(name)
    n_had = had.documents if had else 0
    try:
        name.encode()
        stat = path.stat()
        if not S_ISREG(stat.st_mode):
            raise DocumentError("it is no file" if not S_ISDIR(stat.st_mode) else "it is a folder")
        state = state_of(stat)
        if had is not None and had.state.stamp == state.stamp and name not in options.written:
            return IngestResult(name, "unchanged", n_had), ""
        if time.monotonic() + state.size / _HASHED > options.deadline:
            return IngestResult(name, "waiting", n_had), ""
        if state.size <= options.limits.document_bytes:
            state = replace(state, digest=file_digest(path))
        same = [one for one in known.values()
                if state.digest and (one.state.digest, one.state.size) == (state.digest, state.size)]  # fmt: skip
        unchanged = next((one for one in same if one.path == name), None)
        before = unchanged or next((one for one in same if one.path in missing), None)
        # The file's name is part of the heading, so a renamed file is read again
        if before and (unchanged or with_file_name("", before.path) == with_file_name("", path)):
            library.move(before.path, name, state)
            return IngestResult(name, "unchanged" if unchanged else "moved", before.documents), before.path
        if time.monotonic() + state.size / _SPEEDS.get(path.suffix.lower(), _SPEED) > options.deadline:
            return IngestResult(name, "waiting", n_had), ""
        for scan in find_scans([path], options.limits):
            if options.deadline < math.inf:
                return IngestResult(name, "waiting", n_had), ""
            of = f" of {len(scan.pages)}" if scan.pages else ""
            for done, page in enumerate(scan.recognise(options.limits, keep=True), 1):
                note = f"{done}{of}, with confidence {page.confidence:.2f}"
                yield IngestResult(name, "recognised", note=f"page {page.number}, {note}")
        documents, note = documents_in(path, options.limits)
        if before is not None:
            library.remove(before.path)
        n = library.put(name, documents, state)
    except UnicodeEncodeError:
        return IngestResult(well_formed(str(path)), "failed", note="its name is not Unicode"), ""
    except (OSError, ValueError, DocumentError, InvalidRequestError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        kept = "; what was there of it stays" if had is not None else ""
        return IngestResult(name, "failed", n_had, why.removeprefix(f"{path.name}: ") + kept), ""
    if before is not None:
        return IngestResult(name, "moved", n, note), before.path
    return IngestResult(name, "added" if had is None else "changed", n, note), ""


def documents_in(path: Path, limits: Limits | None = None) -> tuple[list[tuple[str, Document]], str]:
    """Returns a file's (title, document) pairs, and a note on missing text (may be empty). ``limits`` None: no limit on
    rows. Raises DocumentError, InvalidRequestError."""
    if path.name.lower().endswith(ROWS):
        try:
            rows = parse_rows(path, lambda row, number: [_row(path, row, number)], _LAYOUT, limits)
            full = [(title, document) for title, document in rows if document.text.strip()]
            if not full:
                raise DocumentError(f"{path.name}: no row holds any text")
            return full, f"{len(rows) - len(full)} rows hold no text" if len(full) < len(rows) else ""
        except (DocumentError, InvalidRequestError):
            if path.suffix.lower() != ".json":  # any other JSON file is read as text
                raise
    document = read_document(path, limits=limits or DEFAULTS)
    return [(title_of(document), document)], "; ".join(document.notes)


def _row(path: Path, row: Row, number: int) -> tuple[str, Document]:
    """Returns (title, document) for {title, text}, {title, body}, or KILT's {wikipedia_title, text: [paragraphs]}."""
    title = text_of(row.get("title") or row.get("wikipedia_title") or "")
    text = row.get("text") or row.get("body") or ""
    if isinstance(text, list):
        text = "".join(map(text_of, text))
    title = short(title) or f"{path.name.partition('.')[0]} {number + 1}"
    return title, replace(plain(title, text_of(text)), path=path)


LEFT_OUT = ".wimignore"


class LeftOut:
    """The patterns of the `LEFT_OUT` files read so far. The patterns of a file apply to the content of its folder."""

    def __init__(self) -> None:
        self._rules: list[tuple[str, Any]] = []

    def read(self, folder: str) -> None:
        """Reads the patterns in a folder's `LEFT_OUT` file; a file that cannot be read excludes nothing."""
        from pathspec import GitIgnoreSpec

        with suppress(OSError, ValueError), Path(folder, LEFT_OUT).open(encoding="utf-8", errors="replace") as file:
            self._rules.append((folder, GitIgnoreSpec.from_lines(file)))

    def match(self, folder: str, name: str) -> bool:
        """Returns True if the file ``name`` in ``folder`` is excluded. The name of a subfolder must end in a slash."""
        for base, spec in reversed(self._rules):  # the nearest folder's first
            if folder == base or folder.startswith(base + os.sep):
                found = spec.check_file(os.path.join(os.path.relpath(folder, base), name)).include
                if found is not None:
                    return bool(found)
        return False


SECONDS = 5.0
"""The most seconds that a question waits until a library's new and changed files are read."""
_AGAIN = 30.0

_SHOWN = 3
_DONE = {"added": "new", "changed": "changed", "moved": "moved", "removed": "deleted or left out"}
_LEFT = {"waiting": "new or changed, but not read yet", "gone": "not there, but still in the library"}
"""The words for files of each `IngestResult.state` in the message of `InStep.bring`."""


class InStep:
    """Updates libraries from their files, each library at most once in `_AGAIN` seconds."""

    def __init__(self) -> None:
        self._compared: dict[str, float] = {}

    def bring(self, library: Library, limits: Limits) -> str:
        """Updates a library for about `SECONDS`. Returns a message on changed and still unread files; may be empty."""
        now = time.monotonic()
        if now - self._compared.get(library.name, -_AGAIN) < _AGAIN:
            return ""
        files: dict[str, list[str]] = {}
        roots = set(map(str, library.roots()))
        for one in sync(library, limits=limits, seconds=SECONDS):
            is_gone = one.state == "failed" and one.path in roots and not os.path.exists(one.path)
            state = "gone" if is_gone else one.state
            files.setdefault(state, []).append(PurePath(one.path).name)
        self._compared[library.name] = time.monotonic()
        told, left = ([f"{words}: {_names(files[one])}" for one, words in of.items() if one in files]
                      for of in (_DONE, _LEFT))  # fmt: skip
        rest = f"; wim-edge library sync {library.name}" if left else ""
        return f"library {library.name}: {'; '.join([*told, *left])}{rest}" if told or left else ""


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
