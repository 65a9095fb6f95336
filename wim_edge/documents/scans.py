"""Pages that are pictures, as lines of text: recognised by a process with limits, and kept, as it takes seconds a page.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from wim_edge import subprocesses
from wim_edge.documents.pdf_lines import BROKEN, Line, Word, in_columns, line_of, rows_of
from wim_edge.errors import DocumentError
from wim_edge.settings import Paths, read_small_file

INSTALL = "pip install rapidocr onnxruntime"
_SECONDS = 120.0
"""The time for one page, on a slow machine with other work."""
_CRASHES = 2
"""The number of times in a row that the process may end without a page before the rest is given up."""
_REMEMBERED = 16
_LIKE = 0.35
"""The share by which a line's height may differ from the page's usual one and be taken for it: boxes are loose."""


_HYPHEN = re.compile(r"(?<=[^\W\d_])-$")


@dataclass(frozen=True)
class ScannedPage:
    """A page that is a picture: its lines as they are read, and the mean confidence of their characters, 0 to 1."""

    number: int
    lines: tuple[Line, ...]
    confidence: float


def engine() -> str:
    """Returns the name of the engine that recognises text on this machine; empty if there is none."""
    if getattr(sys, "frozen", False):  # sys.executable is no Python, which the process needs
        return ""
    if find_spec("rapidocr") and find_spec("onnxruntime"):
        return "rapidocr"
    return "tesseract" if shutil.which("tesseract") else ""


_remembered: dict[str, dict[int, ScannedPage]] = {}
"""The pages recognised lately, by the digest of their file."""


def known(data: bytes) -> dict[int, ScannedPage]:
    """Returns the pages of a file that were recognised before, by their numbers."""
    digest = _digest(data)
    if digest not in _remembered:
        while len(_remembered) >= _REMEMBERED:
            _remembered.pop(next(iter(_remembered)), None)
        _remembered[digest] = dict(_kept(_file(digest)))
    return _remembered[digest]


def of_pages(data: bytes, numbers: Sequence[int]) -> dict[int, ScannedPage]:
    """Returns these pages of a PDF, recognised if they were not yet; none where nothing can recognise them."""
    if not numbers or not engine():
        return {}
    if waiting := [number for number in numbers if number not in known(data)]:
        for _ in recognise(data, waiting):
            pass
    return {number: known(data)[number] for number in numbers if number in known(data)}


def of_picture(data: bytes) -> list[ScannedPage]:
    """Returns the pages of a picture likewise: one, but for a TIFF that holds several."""
    if not engine():
        return []
    if not known(data):
        for _ in recognise(data, ()):
            pass
    return sorted(known(data).values(), key=lambda page: page.number)


def unread(what: str, drawn: Sequence[int] = (1,)) -> DocumentError:
    """Returns the error for a file with drawn pages of which none was read."""
    if drawn and not engine():
        return DocumentError(what, f"{INSTALL} has it recognised; so has Tesseract, where that is installed.")
    return DocumentError(what, "Give a sharper scan, or one with text on it.")


def note(pages: Sequence[ScannedPage]) -> list[str]:
    """Returns what is told of a document with these recognised pages."""
    if not pages:
        return []
    least = min(pages, key=lambda page: page.confidence)
    mean = sum(page.confidence for page in pages) / len(pages)
    which = f"page {least.number} is a picture" if len(pages) == 1 else f"{len(pages)} pages are pictures"
    worst = f", {least.confidence:.2f} on page {least.number}" if len(pages) > 1 else ""
    return [f"{which}: the text was recognised, with confidence {mean:.2f}{worst}"]


def recognise(data: bytes, numbers: Sequence[int], *, keep: bool = False) -> Generator[ScannedPage]:
    """Recognises the pages of a PDF, or of a picture (all, if there are no numbers), and yields each.

    ``keep``: on disk, too. A page on which the engine ends is left without lines. Raises DocumentError if there is none
    that can be loaded.
    """
    pages, waiting = known(data), list(numbers)
    file = _file(_digest(data)) if keep else None
    crashes = 0
    while True:
        before = len(pages)
        with closing(_lines_of_worker(data, waiting)) as lines:
            for line in lines:
                page = _page(line)
                pages[page.number] = page
                if file is not None:
                    _append(file, line)
                yield page
        waiting = [number for number in waiting if number not in pages]
        crashes = 1 if len(pages) > before else crashes + 1
        if not numbers or not waiting:
            return
        if crashes >= _CRASHES:
            for number in waiting:
                pages[number] = ScannedPage(number, (), 0.0)
            return
        waiting = [*waiting[1:], waiting[0]]  # the one that it ended on comes last


def _lines_of_worker(data: bytes, numbers: Sequence[int]) -> Generator[str]:
    """Yields what the process says, which ends when the caller goes away or a page takes too long."""
    command = subprocesses.command("wim_edge.documents.scan_worker", engine(), ",".join(map(str, numbers)))
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=subprocesses.environment(),
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(_SECONDS, process.kill)
    try:
        timer.start()
        with suppress(OSError):
            process.stdin.write(data)
            process.stdin.close()
        for line in process.stdout:
            timer.cancel()
            if line.startswith(b'{"failed"'):
                why = json.loads(line)["failed"][:300]
                raise DocumentError(f"text cannot be recognised with {engine()} here: {why}", f"{INSTALL} mends it.")
            yield line.decode()
            timer = threading.Timer(_SECONDS, process.kill)
            timer.start()
    finally:
        timer.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


def _page(line: str) -> ScannedPage:
    said = json.loads(line)
    boxes = [(text, *place, sure) for text, *place, sure in said["boxes"]]
    letters = sum(len(box[0]) for box in boxes)
    confidence = sum(len(box[0]) * box[-1] for box in boxes) / max(1, letters)
    return ScannedPage(int(said["page"]), tuple(_lines(boxes)), round(confidence, 3))


def _lines(boxes: Sequence[tuple[Any, ...]]) -> list[Line]:
    """Returns the lines of a page of which pieces are known, each (text, left, top, right, bottom, confidence)."""
    if not boxes:
        return []
    usual = median(bottom - top for _, _, top, _, bottom, _ in boxes)
    pieces = []
    for text, left, top, right, bottom, _ in boxes:
        # As PDFium tells a hyphen that only broke the line; a recognised one may be of the word, which is rarer
        text = _HYPHEN.sub(BROKEN[0], text)
        words, middle, height = _words(text, left, right), -(top + bottom) / 2, bottom - top
        if abs(height - usual) <= _LIKE * usual:
            height = usual
        if words:
            pieces.append(line_of(words, middle - height / 2, middle + height / 2))
    pieces.sort(key=lambda piece: -piece.top)
    rows = [sorted(row, key=lambda piece: piece.left) for row in rows_of(pieces)]
    return in_columns([
        line_of([word for piece in row for word in piece.words], row[0].bottom, row[0].top) for row in rows
    ])  # fmt: skip


def _words(text: str, left: float, right: float) -> list[Word]:
    """Returns the words of a text, and about where each stands between its ends."""
    width = (right - left) / max(1, len(text))
    words, at = [], 0
    for word in text.split():
        at = text.index(word, at)
        words.append(Word(word, left + at * width, left + (at + len(word)) * width))
        at += len(word)
    return words


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def folder() -> Path:
    """Returns the folder of what was recognised."""
    return Paths.from_environment().cache / "recognised"


def forget() -> None:
    """Removes all that was recognised."""
    _remembered.clear()
    shutil.rmtree(folder(), ignore_errors=True)


def _file(digest: str) -> Path:
    name = engine()
    return folder() / f"{digest}-{name}{version(name) if name == 'rapidocr' else ''}.jsonl"


def _kept(file: Path) -> Iterator[tuple[int, ScannedPage]]:
    with suppress(OSError, ValueError, KeyError, TypeError):  # what is damaged is recognised again
        for line in read_small_file(file).decode().splitlines():
            page = _page(line)
            yield page.number, page


def _append(file: Path, line: str) -> None:
    with suppress(OSError):  # a full disk: it is recognised again
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(file, "a", encoding="utf-8", opener=_private) as out:
            out.write(line)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
