"""Pictures of text, as a scanner makes them, and a script in the place of what recognises it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.documents.make import saved
from wim_edge.documents import scans
from wim_edge.system import subprocesses

Runs = list[list[str]]


def picture(*lines: str, turn: int = 0, size: int = 34) -> Image.Image:
    """Return a page in grey with these lines, turned by degrees."""
    page = Image.new("L", (1100, 120 + 2 * size * len(lines)), "white")
    font = ImageFont.load_default(size=size)
    for at, line in enumerate(lines):
        ImageDraw.Draw(page).text((70, 60 + 2 * size * at), line, font=font, fill="black")
    return page.rotate(turn, expand=True)


def png(*lines: str, turn: int = 0) -> bytes:
    return saved(picture(*lines, turn=turn), "PNG")


def scan(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF whose pages are pictures."""
    first, *others = [picture(*lines) for lines in pages]
    return saved(first, "PDF", save_all=True, append_images=others, resolution=100)


def said(page: int, *boxes: tuple[object, ...]) -> str:
    """Return what the process says of a page; a box is (text, left, top, right, bottom, confidence)."""
    return json.dumps({"page": page, "size": [600, 800], "boxes": boxes})


def scripted(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Have a script in the place of the process: each of its runs says the next entry's lines, then ends with 1."""
    runs: Runs = []

    def command(module: str, *arguments: str) -> list[str]:
        script = "import sys, time; sys.stdin.buffer.read()\nfor line in sys.argv[1:]:\n"
        script += " time.sleep(60) if line == 'hang' else print(line, flush=True)\nsys.exit(1)"
        return [sys.executable, "-c", script, *runs.pop(0)]

    monkeypatch.setattr(scans, "engine", lambda: "rapidocr")
    monkeypatch.setattr(subprocesses, "command", command)
    scans._known.cache_clear()
    return runs
