"""The hooks that PyInstaller finds (a program is frozen by hand: docs/embedding.md)."""

from __future__ import annotations

import ast
from importlib.metadata import entry_points
from pathlib import Path


def test_the_hooks_are_found_where_the_entry_point_says() -> None:
    (found,) = [one for one in entry_points(group="pyinstaller40") if one.value.startswith("wim_edge")]
    (folder,) = found.load()()
    assert (Path(folder) / "hook-wim_edge.py").is_file()
    named = ast.literal_eval((Path(folder) / "rthooks.dat").read_text())
    assert [(Path(folder) / "rthooks" / one).is_file() for one in named["wim_edge"]] == [True]
