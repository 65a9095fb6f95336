"""`wim-edge bundle`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripted import run
from wim_edge import bundle


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a bundle was asked for."""
    found: list[Any] = []

    def make(target: Path, models: Any, extras: Any) -> Iterator[tuple[str, int]]:
        found.append((target, [one.name for one in models], list(extras)))
        yield "wheels", 50_000_000
        yield "smollm2-135m", 98_000_000

    monkeypatch.setattr(bundle, "make_bundle", make)
    return found


def test_it_says_what_was_gathered_and_what_to_do(tmp_path: Path, asked: list[Any]) -> None:
    done = run("bundle", "--model", "smollm2-135m", "--extra", "documents", str(tmp_path / "b"))
    assert asked == [(tmp_path / "b", ["smollm2-135m", "all-minilm-l6-v2"], ["documents"])]
    assert "wheels: 50 MB" in done.stderr
    assert "all-minilm-l6-v2 is included (25 MB)" in done.stderr
    assert "148 MB; on the other machine: python3 b/install.py" in done.stdout


def test_the_judge_goes_with_a_writer(tmp_path: Path, asked: list[Any]) -> None:
    done = run("bundle", "--model", "qwen3-8b", "--model", "qwen3-4b", str(tmp_path / "b"))
    assert asked[0][1] == ["qwen3-8b", "qwen3-4b", "smollm2-135m", "all-minilm-l6-v2"]
    assert "smollm2-135m is included (98 MB)" in done.stderr
    run("bundle", "--model", "qwen3-8b", "--alone", str(tmp_path / "b"))
    run("bundle", "--model", "embeddinggemma-300m", str(tmp_path / "b"))
    assert run("bundle", "--model", "nothing", str(tmp_path / "b")).exit_code == 4
    assert [one[1] for one in asked[1:]] == [["qwen3-8b"], ["embeddinggemma-300m"]]
