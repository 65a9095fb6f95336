"""PyInstaller hooks: they name the files that a frozen program needs for wim-edge. An entry point announces them."""

from __future__ import annotations

from pathlib import Path


def hook_folders() -> list[str]:
    """Returns the paths of the folders that contain hooks. PyInstaller calls this function."""
    return [str(Path(__file__).parent)]
