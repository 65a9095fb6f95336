"""Shared fixtures. Tests marked `real` use the native library and real models; the rest need neither."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's settings, models or files."""
    for name in list(os.environ):
        if name.startswith("WIM_EDGE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct: plain attention."""
    from wim_edge.catalog import Catalog, locate
    from wim_edge.settings import Paths

    paths = Paths.from_environment({"WIM_EDGE_HOME": "/nonexistent"})
    path = locate(Catalog.load(paths).get("smollm2-135m"), paths)
    assert path is not None, "pip install 'wim-edge[dev]'"
    return path


@pytest.fixture(scope="session")
def gemma3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gemma-3-270M: a sliding window of 512."""
    from wim_edge.catalog import Catalog, fetch
    from wim_edge.settings import Paths

    paths = Paths.from_environment({"WIM_EDGE_HOME": str(tmp_path_factory.mktemp("models"))})
    return fetch(Catalog.load(paths).get("gemma3-270m"), paths, lambda done, total: None)


@pytest.fixture(scope="session")
def long_text() -> str:
    """A real text of some 7,600 tokens."""
    return (ROOT / "examples" / "gpl-3.0.txt").read_text(encoding="utf-8")
