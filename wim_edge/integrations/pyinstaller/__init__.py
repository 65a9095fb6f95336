"""PyInstaller hooks, which name the files that a frozen program with wim-edge needs. An entry point leads to them."""

from __future__ import annotations

from pathlib import Path


def hook_folders() -> list[str]:
    """Returns the folders with hooks, for PyInstaller."""
    return [str(Path(__file__).parent)]
