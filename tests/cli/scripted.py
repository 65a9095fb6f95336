"""Commands on the scripted engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from wim_edge.cli import main
from wim_edge.loaded_models import LoadedModels
from wim_edge.testing import FakeModel

SMALL = [
    "--pattern", "wim", "--relevance", "verdict", "--margins", "free",
    "--segment-tokens", "160", "--margin-tokens", "24",
]  # fmt: skip


def give(monkeypatch: pytest.MonkeyPatch, model: FakeModel) -> None:
    """Gives this model to every runtime that a command opens."""
    begin = LoadedModels.__init__

    def given(self: LoadedModels, settings: Any, _model: object = None, *args: Any, **named: Any) -> None:
        begin(self, settings, model, *args, **named)

    monkeypatch.setattr(LoadedModels, "__init__", given)


def ask(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["ask", *SMALL, *args], input=stdin)


def run(*args: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(map(str, args)), input=stdin)


def listed() -> list[dict[str, object]]:
    return json.loads(run("readings", "list", "--json").stdout)  # type: ignore[no-any-return]
