"""The public names, the settings and the errors: one list, one default, one tree."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import wim_edge
from wim_edge.settings import Settings


def test_the_public_names() -> None:
    assert sorted(wim_edge.__all__) == [
        "AnswerFinished", "Decision", "Document", "Runtime", "Settings", "WimEdgeError", "events",
        "read_document", "stop_after", "stop_at",
    ]  # fmt: skip
    for name in wim_edge.__all__:
        assert getattr(wim_edge, name) is not None
    with pytest.raises(AttributeError):
        _ = wim_edge.nonsense


def test_import_is_light() -> None:
    code = "import sys, wim_edge; print(sorted({'llama_cpp', 'numpy', 'click', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_the_engine_imports_llama_cpp() -> None:
    root = Path(wim_edge.__file__).parent
    importers = {
        path.relative_to(root).parts[0]
        for path in root.rglob("*.py")
        if re.search(r"^\s*(import|from) llama_cpp", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert importers == {"engine"}


def test_every_setting_is_documented_with_its_default() -> None:
    text = (Path(__file__).parent.parent / "docs" / "python.md").read_text(encoding="utf-8")
    for field in fields(Settings):
        assert f"| `{field.name}` | `{field.default}` |" in text
