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


def ask(*args: str, **more: Any) -> Result:
    return run("ask", *SMALL, *args, **more)


def run(*args: object, stdin: str | None = None, code: int | None = None, **environment: str) -> Result:
    """Runs a command. If a code is given, the command must end with it."""
    result = CliRunner(env=environment).invoke(main, list(map(str, args)), input=stdin)
    assert code in (None, result.exit_code), result.output
    return result


def listed() -> list[dict[str, object]]:
    return json.loads(run("readings", "list", "--json").stdout)  # type: ignore[no-any-return]
