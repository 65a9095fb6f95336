"""Text recognition of pages that are pictures, and the reader of picture files. A child process recognises the text."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.pdf_lines import Line, in_columns, line_of, rows_of
from wim_edge.documents.pdf_words import BROKEN, Word
from wim_edge.documents.reflow import reflow
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits, Paths, read_small_file
from wim_edge.system import subprocesses
from wim_edge.system.atomic_files import replace_file

INSTALL = "pip install rapidocr onnxruntime"
_SECONDS, _POLL = 180.0, 0.25
"""The most seconds for one page, on a slow, busy machine; the seconds between two polls of ``is_stopped``."""
_CRASHES = 3  # the most times that the process is restarted after it ended on its first page
_REMEMBERED = 16  # most files whose recognised pages stay in memory
_NAMED_PAGES = 5  # most pages that a note lists
_LIKE = 0.35  # a line's height counts as the page's usual one if it differs by at most this share: boxes are loose

_LOST_SPACE = re.compile(r"(?<=[a-zß-ÿ]{2})(?=\d{2})|(?<=\d)(?=[a-zß-ÿ]{3})|(?<=[a-zß-ÿ][.,;:!?])(?=[A-Z])")
"""The places where the engines lose a space most often: "to985 pounds", "28days", "dog.Clause"."""
_HYPHEN, _WORD = re.compile(r"(?<=[^\W\d_])-$"), re.compile(r"\S+")

_Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Box: TypeAlias = tuple[str, float, float, float, float, _Share]
"""A text, its place (left, top, right, bottom; from the page's upper left corner), and the engine's confidence."""


class ScannedPage(Struct, dict=True):
    """The recognised text of a page that is a picture, as the worker process sends it. The boxes are in points."""

    number: Annotated[int, Meta(ge=1, le=10**6)] = msgspec.field(name="page")
    boxes: list[Box]
    unread: _Share = 0.0
    """The share of the page's visible lines that were not read."""

    @cached_property
    def lines(self) -> list[Line]:
        """The page's lines in reading order."""
        usual = median([box[4] - box[2] for box in self.boxes] or [0.0])
        pieces = []
        for text, left, top, right, bottom, _ in self.boxes:
            # A hyphen at the end counts as PDFium's, which only breaks the line: few belong to the word
            text = _HYPHEN.sub(BROKEN[0], _LOST_SPACE.sub(" ", text))
            width = (right - left) / max(1, len(text))  # of a letter: words' places are estimated
            words = [Word(one[0], left + one.start() * width, left + one.end() * width) for one in _WORD.finditer(text)]
            middle, height = -(top + bottom) / 2, bottom - top
            if abs(height - usual) <= _LIKE * usual:
                height = usual
            if words:
                pieces.append(line_of(words, middle - height / 2, middle + height / 2))
        pieces.sort(key=lambda piece: -piece.top)
        rows = [sorted(row, key=lambda piece: piece.left) for row in rows_of(pieces)]
        return in_columns([
            line_of([word for piece in row for word in piece.words], row[0].bottom, row[0].top) for row in rows
        ])  # fmt: skip

    @property
    def confidence(self) -> float:
        """The mean confidence of the page's characters, times the share of its visible lines that were read."""
        return round(sureness(self.boxes) * (1 - self.unread), 3)


class _Pages(Struct):
    """A file's recognised pages, as stored on disk. ``count``: the number of a picture file's pages; 0 if unknown."""

    pages: list[ScannedPage] = []
    count: Annotated[int, Meta(ge=0)] = 0


def engine() -> str:
    """Returns the name of the engine that recognises text on this machine; an empty string if there is none."""
    if not subprocesses.has_python():
        return ""
    if find_spec("rapidocr") and find_spec("onnxruntime"):
        return "rapidocr"
    return "tesseract" if shutil.which("tesseract") else ""


@dataclass
class Recognised:
    """A file's recognised pages by number. ``count``: a picture file's number of pages, or 0; ``failed``: the pages on
    which the engine failed; ``was_tried``: whether all pages were tried since this program started."""

    pages: dict[int, ScannedPage]
    count: int = 0
    failed: set[int] = field(default_factory=set)
    was_tried: bool = False


def known(data: bytes) -> Recognised:
    """Returns the recognised pages of the file with the bytes ``data``. `recognise` adds further ones to the result."""
    return _known(_file(data))


@lru_cache(maxsize=_REMEMBERED)
def _known(file: Path) -> Recognised:
    with suppress(OSError, ValueError, RecursionError):  # damaged: recognised again
        kept = msgspec.json.decode(read_small_file(file), type=_Pages)
        return Recognised({page.number: page for page in kept.pages}, kept.count)
    return Recognised({})


def waits(picture: bytes, most: int) -> bool:
    """Returns whether any of the first ``most`` pages of a picture file is still to be recognised."""
    found = known(picture)
    return not found.was_tried and (not found.count or bool(_missing(found, most)))


def _missing(found: Recognised, most: int) -> list[int]:
    return [number for number in range(1, min(found.count, most) + 1) if number not in found.pages]


def of_pages(data: bytes, numbers: Sequence[int]) -> dict[int, ScannedPage]:
    """Returns {number: page} for the PDF's pages ``numbers``; recognises new ones. Without an engine, returns {}."""
    if not numbers or not engine():
        return {}
    there = known(data).pages
    if waiting := [number for number in numbers if number not in there]:
        deque(recognise(data, waiting), maxlen=0)
    return {number: there[number] for number in numbers if number in there}


def unread(what: str, drawn: Sequence[int] = (1,)) -> DocumentError:
    """Returns the DocumentError ``what``, with a hint, for a file without text. ``drawn``: pages that are pictures."""
    install = f"{INSTALL} has it recognised; so has Tesseract, where that is installed."
    return DocumentError(what, install if drawn and not engine() else "Give a sharper scan, or one with text on it.")


def on_pages(numbers: Sequence[int], what: str) -> list[str]:
    """Returns [note], a note that the pages ``numbers`` have ``what``, such as "no text layer"; [] without pages."""
    if len(numbers) < 2:
        return [f"page {number} has {what}" for number in numbers]
    named = ", ".join(map(str, numbers[:_NAMED_PAGES]))
    more = f" and {len(numbers) - _NAMED_PAGES} more" if len(numbers) > _NAMED_PAGES else ""
    return [f"pages {named}{more} have {what}"]


def note(pages: Sequence[ScannedPage]) -> list[str]:
    """Returns [note], a note that these pages were recognised, with which confidence; [] without pages."""
    if not pages:
        return []
    least = min(pages, key=lambda page: page.confidence)
    mean = sum(page.confidence for page in pages) / len(pages)
    which = f"page {least.number} is a picture" if len(pages) == 1 else f"{len(pages)} pages are pictures"
    worst = f", {least.confidence:.2f} on page {least.number}" if len(pages) > 1 else ""
    return [f"{which}: the text was recognised, with confidence {mean:.2f}{worst}"]


def read_picture(name: str, data: bytes, limits: Limits) -> Document:
    """Returns the recognised text of a picture file. Raises DocumentError if it has no text, or there is no engine."""
    most = limits.scan_pages if engine() else 0
    found = known(data) if most else Recognised({})
    if most and waits(data, most):
        deque(recognise(data, (), most=most), maxlen=0)
    pages = [found.pages[number] for number in sorted(found.pages) if number <= most]
    draft = DocumentBuilder()
    for page, text in zip(pages, reflow([page.lines for page in pages]), strict=True):
        draft.mark(page=page.number if found.count > 1 else None, confidence=page.confidence)
        draft.paragraph(text)
    if draft.empty:
        raise unread(f"{name}: a picture, on which no text was recognised")
    read = [page for page in pages if page.lines]
    silent = {*range(1, min(found.count, most) + 1)} - {page.number for page in read}
    draft.notes += on_pages(sorted(silent), "no text that was recognised")
    if found.count > most:
        draft.notes.append(f"pages {most + 1} to {found.count} are left out: text is recognised on no more")
    draft.notes += note(read)
    return draft.document(name)


def recognise(
    data: bytes, numbers: Sequence[int], *, most: int = sys.maxsize, keep: bool = False,
    is_stopped: Callable[[], bool] = bool,
) -> Generator[ScannedPage]:  # fmt: skip
    """Recognises the pages ``numbers`` (if empty, a picture's first ``most``) and yields each; ``keep`` also stores
    each on disk. A page on which the engine fails has no lines. Raises DocumentError if the engine cannot be loaded."""
    found, crashes = known(data), 0
    waiting = list(numbers) or _missing(found, most)
    try:
        while not is_stopped():
            before = len(found.pages)
            with closing(_lines_of_worker(data, waiting, is_stopped)) as lines:
                for line in lines:
                    if line.startswith(b'{"count"'):
                        found.count = msgspec.json.decode(line, type=_Pages).count
                        waiting = waiting or _missing(found, most)
                        continue
                    page = msgspec.json.decode(line, type=ScannedPage)
                    found.pages[page.number] = page
                    yield page
                    if found.pages.keys() >= {*waiting}:
                        break
            waiting = [number for number in waiting if number not in found.pages]
            is_last = is_stopped() or crashes >= _CRASHES
            if waiting and len(found.pages) == before and not is_last:  # the process ended on its first page
                crashes += 1
                failed = ScannedPage(waiting.pop(0), [])
                found.failed.add(failed.number)
                found.pages[failed.number] = failed
                yield failed
            if is_last or not waiting:
                break
        found.was_tried = not is_stopped()
    finally:
        if keep:
            file, kept = _file(data), [page for number, page in found.pages.items() if number not in found.failed]
            with suppress(OSError):  # a full disk: it is recognised again
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with replace_file(file, private=True) as part:
                    part.write_bytes(msgspec.json.encode(_Pages(kept, found.count)))


def _lines_of_worker(data: bytes, numbers: Sequence[int], is_stopped: Callable[[], bool]) -> Generator[bytes]:
    """Starts the worker and yields the lines of its output. Kills it if the caller stops or a page takes too long."""
    given = ",".join(map(str, numbers))
    command = subprocesses.command("wim_edge.documents.scan_worker", engine(), given, str(os.getpid()))
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=subprocesses.environment(), **subprocesses.own_group(),
    )  # fmt: skip
    said: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_converse, args=(process, data, said), daemon=True).start()
    try:
        due = time.monotonic() + _SECONDS
        while not is_stopped() and time.monotonic() < due:
            try:
                line = said.get(timeout=_POLL)
            except queue.Empty:
                continue
            if not line:
                return
            if line.startswith(b'{"failed"'):
                why = json.loads(line)["failed"][:300]
                raise DocumentError(f"text cannot be recognised with {engine()} here: {why}", f"{INSTALL} mends it.")
            yield line
            due = time.monotonic() + _SECONDS
    finally:
        process.kill()
        process.wait()


def _converse(process: subprocess.Popen[bytes], data: bytes, said: queue.SimpleQueue[bytes]) -> None:
    """Sends the file to the worker. Puts each line of the worker's output into the queue, and b"" at the end."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError, ValueError), process.stdin as given:
        given.write(data)
    with suppress(OSError, ValueError), process.stdout as lines:
        for line in lines:
            said.put(line)
    said.put(b"")


def sureness(boxes: Sequence[Box]) -> float:
    """Returns the mean confidence of a page's characters; 0 if there are none."""
    return sum(len(box[0]) * box[-1] for box in boxes) / max(1, sum(len(box[0]) for box in boxes))


def folder() -> Path:
    """Returns the folder in which recognised pages are stored."""
    return Paths.from_environment().cache / "recognised"


def forget() -> None:
    """Deletes all recognised pages, in memory and on disk."""
    _known.cache_clear()
    shutil.rmtree(folder(), ignore_errors=True)


def _file(data: bytes) -> Path:
    """Returns the path at which the pages of a file with these bytes are stored; each engine has its own path."""
    digest, name = hashlib.sha256(data).hexdigest()[:32], engine()
    return folder() / f"{digest}-{name}{version(name) if name == 'rapidocr' else ''}.json"
