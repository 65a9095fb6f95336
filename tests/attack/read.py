"""Reads one document: ``python -m tests.attack.read FILE``. Exit code 3 for a DocumentError."""

from __future__ import annotations

import sys

from wim_edge.documents import read_document
from wim_edge.errors import DocumentError

try:
    document = read_document(sys.argv[1])
    assert document.text.encode("utf-8")
    sys.stdout.write(f"{len(document.text)}\n")
except DocumentError as error:
    sys.stderr.write(f"error: {error}\nhint: {error.hint}\n")
    sys.exit(3)
