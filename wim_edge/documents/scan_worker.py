"""The process that recognises text on pages that are pictures: it reads the file from standard input and writes one
line of JSON per page. The engine is RapidOCR, whose package contains the models, or else the machine's Tesseract."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from wim_edge.documents.formats import is_pdf
from wim_edge.documents.scans import Box, sureness
from wim_edge.system import subprocesses

Pixels: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"
"""A greyscale page: an array of shape (rows, columns)."""
Engine: TypeAlias = Callable[[Pixels], list[Box]]

_DPI = 200
_MOST_PIXELS = 4000  # of a page's longer side
_UNSURE = 0.8  # the confidence below which a page may be upside down
_LANGUAGES = 4  # most languages that Tesseract looks for
_SQUARE, _INK, _FREE = 12, (0.06, 0.6), 4
"""The pixels of a square on a page without text; the least and most ink in a square with letters; the number of squares
above and below a line, at least one of which is free. `unread_share` uses them."""
_ADDRESS_SPACE, _SECONDS_A_PAGE, _MOST_PAGES = 6 * 2**30, 240, 1000  # bytes, seconds; pages if the number is unknown


def pages(data: bytes, numbers: Sequence[int]) -> Iterator[tuple[int, Pixels, float]]:
    """Yields (number, pixels, points per pixel) for the pages ``numbers`` (from 1) of a PDF or a picture file."""
    if is_pdf(data):
        import pypdfium2

        pdf = pypdfium2.PdfDocument(data)
        for number in numbers:
            page = pdf[number - 1]
            scale = min(_DPI / 72, _MOST_PIXELS / max(page.get_size()))
            bitmap = page.render(scale=scale, grayscale=True)
            yield number, np.array(bitmap.to_numpy(), np.uint8).reshape(bitmap.height, bitmap.width), 1 / scale
            page.close()
        return
    from PIL import Image, ImageFile, ImageOps

    ImageFile.LOAD_TRUNCATED_IMAGES = True  # reads a truncated file as far as it goes
    with Image.open(BytesIO(data)) as picture:
        for number in numbers:
            picture.seek(number - 1)
            upright = ImageOps.exif_transpose(picture).convert("RGBA")
            paper = Image.new("RGBA", upright.size, "white")
            paper.alpha_composite(upright)
            paper.thumbnail((_MOST_PIXELS, _MOST_PIXELS))
            yield number, np.asarray(paper.convert("L")), 72 / _DPI


def count(data: bytes) -> int:
    """Returns how many pages a picture file has; 0 for a PDF, whose pages the caller lists."""
    from PIL import Image

    if is_pdf(data):
        return 0
    with Image.open(BytesIO(data)) as picture:
        return int(getattr(picture, "n_frames", 1))


def upright(engine: Engine, pixels: Pixels) -> tuple[list[Box], Pixels]:
    """Turns a page so that the engine is most confident. Returns (boxes, pixels) of the turned page."""
    boxes = engine(pixels)
    if not boxes or (sureness(boxes) >= _UNSURE and not _is_lying(boxes)):
        return boxes, pixels
    turned = [(boxes, pixels)]
    for turns in (1, 2, 3) if not _is_lying(boxes) else (1, 3):
        page = np.ascontiguousarray(np.rot90(pixels, turns))
        turned.append((engine(page), page))
    return max(turned, key=lambda found: sureness(found[0]) * (1 - 0.5 * _is_lying(found[0])))


def unread_share(pixels: Pixels, boxes: Sequence[Box]) -> float:
    """Returns the share (0 to 1) of the lines of ink on a page that no box covers, estimated in squares of half a
    line's height. Pictures do not count: unlike lines, they have no free paper above and below."""
    heights = [box[4] - box[2] for box in boxes]
    size = max(4, round(median(heights) / 2)) if heights else _SQUARE
    rows, columns = pixels.shape[0] // size, pixels.shape[1] // size
    if not rows or not columns:
        return 0.0
    paper, ink = np.percentile(pixels, (50, 1))
    dark = pixels[: rows * size, : columns * size] < (paper + ink) / 2
    dark[:, 1:] &= dark[:, :-1] | np.roll(dark, 1, axis=0)[:, 1:]  # a single dark pixel is no part of a letter
    squares = dark.reshape(rows, size, columns, size)
    share = squares.mean(axis=(1, 3))
    is_ink = (share > _INK[0]) & (share < _INK[1])
    n_full = squares.all(axis=3).sum(axis=1)
    is_ink &= (n_full == 0) | (n_full > size / 4)  # excludes rules, but not a fold across a line, which is thicker
    free = np.pad(share < _INK[0], ((_FREE, _FREE), (0, 0)), constant_values=True)
    is_line = is_ink & np.any([free[at : at + rows] for at in range(_FREE)], axis=0)
    is_line &= np.any([free[at + 1 : at + 1 + rows] for at in range(_FREE, 2 * _FREE)], axis=0)
    is_line[:, 1:-1] &= is_ink[:, :-2] | is_ink[:, 2:]
    is_read = np.zeros_like(is_line)
    for _, left, top, right, bottom, _ in boxes:
        is_read[int(top // size) : int(bottom // size) + 1, int(left // size) : int(right // size) + 1] = True
    return float((is_line & ~is_read).sum() / max(1, is_line.sum()))


def _is_lying(boxes: Sequence[Box]) -> bool:
    """Returns whether a page is on its side: most texts of over three characters are taller than wide."""
    long = [box for box in boxes if len(box[0]) > 3]
    return bool(long) and median((box[4] - box[2]) - (box[3] - box[1]) for box in long) > 0


def engine_of(name: str) -> Engine:
    return _rapidocr() if name == "rapidocr" else _tesseract()


def _rapidocr() -> Engine:
    from rapidocr import RapidOCR

    # The classifier for upside-down lines also turns some upright ones
    more = {"Global.log_level": "error", "Global.use_cls": False, "Det.limit_type": "max", "Det.limit_side_len": 1280}
    read = RapidOCR(params=more)

    def boxes(pixels: Pixels) -> list[Box]:
        coloured = np.repeat(pixels[:, :, None], 3, axis=2)
        try:
            found = read(coloured)
        except Exception:  # noqa: BLE001 - any error of the engine, as for a page of an unusual size
            return []
        if found.boxes is None or found.txts is None:
            return []
        return [
            (text, *corners.min(axis=0).tolist(), *corners.max(axis=0).tolist(), float(sure))
            for corners, text, sure in zip(found.boxes, found.txts, found.scores, strict=True)
        ]

    return boxes


def _tesseract() -> Engine:
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, encoding="locale", check=True).stdout
    languages = [one for one in listed.split("\n")[1:] if one and one != "osd"]
    some = sorted(languages, key=lambda one: one != "eng")[:_LANGUAGES]
    command = ["tesseract", "-", "-", "--dpi", str(_DPI), "-l", "+".join(some), "tsv"]

    def boxes(pixels: Pixels) -> list[Box]:
        height, width = pixels.shape
        done = subprocess.run(
            command, input=b"P5 %d %d 255\n" % (width, height) + pixels.tobytes(), capture_output=True, check=True
        )
        rows = [row.split("\t") for row in done.stdout.decode("utf-8", "replace").split("\n")[1:]]
        words: list[Box] = []
        for row in rows:
            if len(row) == 12 and row[0] == "5" and row[11].strip() and float(row[10]) >= 0:
                left, top, across, down, percent = map(float, row[6:11])
                words.append((row[11].strip(), left, top, left + across, top + down, percent / 100))
        return words

    return boxes


def _end_with(parent: int) -> None:
    """Waits until the parent process has ended, for whatever reason, and then ends this process."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main(name: str, numbers: Sequence[int], parent: int) -> None:
    if os.name == "posix":  # elsewhere a launcher may be between parent and child
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    subprocesses.limit(_ADDRESS_SPACE, _SECONDS_A_PAGE * (len(numbers) or _MOST_PAGES))
    data = sys.stdin.buffer.read()
    n_pages = count(data)
    _send({"count": n_pages})
    engine: Engine | None = None
    for number, pixels, points in pages(data, numbers or range(1, n_pages + 1)):
        try:
            engine = engine or engine_of(name)
        except (ImportError, OSError, subprocess.SubprocessError) as error:  # a partly installed package
            _send({"failed": f"{type(error).__name__}: {error}"})
            return
        boxes, page = upright(engine, pixels)
        placed = [
            (text, *[round(points * at, 1) for at in box], round(min(max(float(np.nan_to_num(sure)), 0.0), 1.0), 3))
            for text, *box, sure in boxes
        ]
        _send({"page": number, "boxes": placed, "unread": round(unread_share(page, boxes), 3)})


def _send(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], [int(number) for number in sys.argv[2].split(",") if number], int(sys.argv[3]))
