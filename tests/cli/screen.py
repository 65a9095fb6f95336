"""A terminal that a command writes to."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from tests.cli.scripted import SMALL
from wim_edge.cli import main

ASK = ["ask", *SMALL, "--answer-tokens", "32"]
SHALLOW = [*ASK, "--pattern", "wim-shallow", "--relevance", "likelihood", "--margins", "verbatim"]


def terminal(*arguments: str, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """What a command writes on a terminal, both outputs together."""
    import pty

    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100", **environment}.items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    pieces: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(ours, 65536):
                pieces.append(piece)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    with open(theirs, "w", encoding="utf-8") as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        main(list(arguments), standalone_mode=False)
    reader.join()
    os.close(ours)
    return b"".join(pieces).decode()
