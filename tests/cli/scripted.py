"""Commands on the scripted engine."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from wim_edge.cli import main

SMALL = [
    "--pattern", "wim", "--relevance", "verdict", "--margins", "free",
    "--segment-tokens", "160", "--margin-tokens", "24",
]  # fmt: skip


def ask(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["ask", *SMALL, *args], input=stdin)


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def listed() -> list[dict[str, object]]:
    return json.loads(run("readings", "list", "--json").stdout)  # type: ignore[no-any-return]
