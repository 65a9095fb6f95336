"""The desktop programs of examples/: the names that they use, and, where there is a display or Qt, an answer."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import wim_edge
from wim_edge import events

DESKTOP = Path(__file__).parent.parent / "examples" / "desktop"
PROGRAMS = ("tk_app", "pyside6_app")


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_uses_is_there(name: str) -> None:
    tree = ast.parse((DESKTOP / f"{name}.py").read_text(encoding="utf-8"))
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "wim_edge":
            assert {one.name for one in node.names} <= set(wim_edge.__all__)
        elif isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Attribute):
            used.add(node.cls.attr)
            assert set(node.kwd_attrs) <= {field.name for field in fields(getattr(events, node.cls.attr))}
    assert used == {"ReadingProgress", "MarginJudged", "AnswerFinished"}


def answer(name: str, tmp_path: Path, question: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "a.txt").write_text("\U0001f6a2 The ferry sails at noon.\n\nThe lighthouse was built in 1904.\n")
    return subprocess.run(
        [sys.executable, DESKTOP / f"{name}.py", tmp_path / "a.txt", question, "--answer"],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "WIM_EDGE_MODEL": "smollm2-135m", "PYTHONUTF8": "1", **variables},
    )  # fmt: skip


@pytest.mark.real
def test_the_window_of_tk_answers(tmp_path: Path) -> None:
    tk = pytest.importorskip("tkinter", reason="no display: no tkinter")
    try:
        tk.Tk().destroy()
    except tk.TclError as error:
        pytest.skip(f"no display: {error}")
    done = answer("tk_app", tmp_path, "When was the lighthouse built?")
    assert "1904" in done.stdout, done.stderr


@pytest.mark.real
def test_the_window_of_qt_answers(tmp_path: Path) -> None:
    pytest.importorskip("PySide6.QtWidgets", reason="no PySide6 on this machine")
    done = answer("pyside6_app", tmp_path, "When was the lighthouse built?", QT_QPA_PLATFORM="offscreen")
    assert "1904" in done.stdout, done.stderr
