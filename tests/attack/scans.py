"""Hostile pictures and scans: large, lying and damaged ones."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator

from PIL import Image

from tests.attack import office
from tests.documents.make import saved
from tests.documents.scanned import picture, png, scan

_LINES = ("The ferry sails at noon.", "It is a small ship.")


def inputs(choose: random.Random) -> Iterator[tuple[str, str, bytes]]:
    """Yields (description, file name, content) of all of them."""
    good = {"a.png": png(*_LINES), "a.jpg": _saved("JPEG"), "a.webp": _saved("WEBP"), "a.tiff": _saved("TIFF"),
            "a.gif": _saved("GIF"), "b.pdf": scan([_LINES])}  # fmt: skip
    for name, raw in good.items():
        yield from office.variants(name, raw, choose, (0.1, 0.5, 0.99), 3)
    yield "a picture of 900 million pixels", "a.png", _empty_png(30_000, 30_000)
    yield "a picture that says it is as large as a country", "a.png", _empty_png(2**31 - 1, 2**31 - 1)
    yield "a picture one pixel high", "a.png", _empty_png(60_000, 1)
    yield "a picture of one pixel", "a.png", _empty_png(1, 1)
    yield "a picture of noise", "a.png", _noise()
    yield "a TIFF of a thousand pictures", "a.tiff", _saved("TIFF", times=1000)
    yield "a TIFF that is its own next picture", "a.tiff", _circle()
    large = scan([_LINES]).replace(b"/MediaBox [ 0 0 ", b"/MediaBox [ 0 0 9e9")
    yield "a PDF page of a picture as large as a country", "b.pdf", large


def _saved(kind: str, times: int = 1) -> bytes:
    some = [Image.new("L", (40, 40), "white")] * (times - 1)
    return saved(picture(*_LINES), kind, **({"save_all": True, "append_images": some} if some else {}))


def _empty_png(width: int, height: int) -> bytes:
    """Returns a PNG that claims so many pixels and contains few."""
    rows = zlib.compress(bytes(min(10_000_000, (width // 8 + 2) * height)))
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")]
    out = b"\x89PNG\r\n\x1a\n"
    for kind, data in parts:
        out += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return out


def _noise() -> bytes:
    return saved(Image.frombytes("L", (1500, 1500), random.Random(3).randbytes(1500 * 1500)), "PNG")


def _circle() -> bytes:
    raw = bytearray(_saved("TIFF"))
    first = struct.unpack_from("<I", raw, 4)[0]
    count = struct.unpack_from("<H", raw, first)[0]
    struct.pack_into("<I", raw, first + 2 + 12 * count, first)
    return bytes(raw)
