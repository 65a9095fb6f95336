"""The patterns that leave files of a folder out."""

from __future__ import annotations

from pathlib import Path

from wim_edge.library.left_out import LEFT_OUT, LeftOut


def test_patterns_are_those_of_a_gitignore_and_the_nearest_count_first(tmp_path: Path) -> None:
    (tmp_path / LEFT_OUT).write_text("*.log\n/build/\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / LEFT_OUT).write_text("!keep.log\n")
    rules = LeftOut()
    rules.read(str(tmp_path))
    rules.read(str(tmp_path / "sub"))
    top, sub = str(tmp_path), str(tmp_path / "sub")
    assert rules.match(top, "a.log")
    assert rules.match(top, "build/")
    assert not rules.match(sub, "build/")
    assert rules.match(sub, "a.log")
    assert not rules.match(sub, "keep.log")
    assert rules.match(top, "keep.log")
    assert not rules.match(f"{top}-other", "a.log")


def test_what_cannot_be_read_leaves_nothing_out(tmp_path: Path) -> None:
    (tmp_path / LEFT_OUT).mkdir()
    rules = LeftOut()
    rules.read(str(tmp_path))
    assert not rules.match(str(tmp_path), "a.log")
