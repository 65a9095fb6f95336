"""The process that recognises text: real pictures with the real engine, and what Tesseract tells."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.documents.make import saved
from tests.documents.scanned import picture, png, scan
from wim_edge.documents.scan_worker import Box, engine_of, pages, unread_share, upright
from wim_edge.documents.scans import sureness

LINES = ("The crane is inspected in March.", "Its keeper is Wilhelm Türk.")


def words(boxes: list[Box]) -> str:
    return " ".join(box[0] for box in boxes)


@pytest.mark.real
@pytest.mark.parametrize("turn", [0, 90, 180])
def test_a_page_is_read_however_it_lies(turn: int) -> None:
    boxes, _ = upright(engine_of("rapidocr"), np.asarray(picture(*LINES, turn=turn)))
    assert "inspected in March" in words(boxes)
    assert "Wilhelm" in words(boxes)
    assert max(box[3] for box in boxes) > 500, "of the page as it is turned"
    assert sureness(boxes) > 0.8


def test_lines_that_were_not_read_are_counted() -> None:
    page = picture(*LINES, "A third line of this page", "and a fourth one, the last")
    boxes: list[Box] = [("x", 60, 60 + 68 * at, 1000, 100 + 68 * at, 0.9) for at in range(4)]
    pixels = np.array(page)
    assert unread_share(pixels, boxes) == 0
    assert 0.15 < unread_share(pixels, boxes[:3]) < 0.4
    assert unread_share(pixels, []) == 1
    assert unread_share(np.full((300, 300), 255, np.uint8), []) == 0
    ruled = np.vstack([pixels, np.full_like(pixels, 255)])
    ruled[50:52, 40:1000] = 0  # a rule
    ruled[450:750, 200:700] = np.random.default_rng(0).integers(0, 2, (300, 500)) * 255  # a picture
    assert unread_share(ruled, boxes) < 0.1


def test_pages_of_a_pdf_and_of_a_picture() -> None:
    found = list(pages(scan([LINES, LINES, LINES]), [1, 3]))
    assert [number for number, _, _ in found] == [1, 3]
    (one,) = pages(png(*LINES), [1])
    assert one[0] == 1
    assert one[1].shape == (256, 1100)
    assert one[1].min() < 50 < 200 < one[1].max()
    large = saved(picture(*LINES).resize((9000, 1000)), "PNG")
    assert next(pages(large, [1]))[1].shape == (444, 4000)


@pytest.mark.skipif(os.name == "nt", reason="a script of a shell")
def test_tesseract_is_asked_for_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = ["4\t1\t1\t1\t1\t0\t70\t60\t400\t30\t-1\t", "5\t1\t1\t1\t1\t1\t70\t60\t50\t30\t96.5\tThe",
            "5\t1\t1\t1\t1\t2\t130\t60\t90\t30\t91\tcrane", "5\t1\t1\t1\t1\t3\t230\t60\t9\t30\t12\t "]  # fmt: skip
    script = tmp_path / "tesseract"
    script.write_text(
        "#!/bin/sh\nif [ $1 = --list-langs ]; then printf 'List:\\ndeu\\neng\\nosd\\n'; exit; fi\n"
        f'echo "$@" > {tmp_path}/asked; cat > {tmp_path}/sent; cat {tmp_path}/rows\n'
    )
    script.chmod(0o755)
    (tmp_path / "rows").write_text("\n".join([header, *rows]) + "\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    boxes = engine_of("tesseract")(np.full((40, 60), 255, np.uint8))
    assert boxes == [("The", 70, 60, 120, 90, 0.965), ("crane", 130, 60, 220, 90, 0.91)]
    assert "-l eng+deu" in (tmp_path / "asked").read_text()
    assert (tmp_path / "sent").read_bytes().startswith(b"P5 60 40 255\n")


def test_it_ends_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    script = (
        "import os, subprocess, sys; from wim_edge.system import subprocesses\n"
        "command = subprocesses.command('wim_edge.documents.scan_worker', 'rapidocr', '', str(os.getpid()))\n"
        "worker = subprocess.Popen(command, "
        "stdin=open(sys.argv[1]), stdout=subprocess.DEVNULL, start_new_session=True)\nprint(worker.pid)"
    )
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "pipe").open("r+b", buffering=0):  # which never ends
        done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "pipe")], capture_output=True, check=True)
        number = int(done.stdout)
        for _ in range(100):
            if not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE:
                return
            time.sleep(0.1)
    raise AssertionError("it is still there")
