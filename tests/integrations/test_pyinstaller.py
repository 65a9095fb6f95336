"""The hooks that PyInstaller finds (a program is frozen by hand: docs/embedding.md)."""

from __future__ import annotations

import ast
import re
from importlib.metadata import entry_points
from pathlib import Path

import wim_edge


def test_the_hooks_are_found_where_the_entry_point_says() -> None:
    (found,) = [one for one in entry_points(group="pyinstaller40") if one.value.startswith("wim_edge")]
    (folder,) = found.load()()
    assert (Path(folder) / "hook-wim_edge.py").is_file()
    named = ast.literal_eval((Path(folder) / "rthooks.dat").read_text())
    assert [(Path(folder) / "rthooks" / one).is_file() for one in named["wim_edge"]] == [True]


def test_they_name_the_libraries_of_all_formats() -> None:
    package = Path(wim_edge.__file__).parent
    hook = ast.parse((package / "integrations/pyinstaller/hook-wim_edge.py").read_text())
    named = next(
        ast.literal_eval(one.value) for one in hook.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "FORMATS"
    )  # fmt: skip
    sources = [path.read_text() for path in (package / "documents").glob("*.py")]
    assert set(named) == {name for text in sources for name in re.findall(r'require\("([\w.]+)"', text)}
