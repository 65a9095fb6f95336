"""`wim-edge mcp` as a client starts it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripted import run


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


@pytest.mark.anyio
@pytest.mark.real
async def test_the_command_serves_a_real_model(smollm2: Path, tmp_path: Path, long_text: str) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters

    (tmp_path / "gpl.txt").write_text(long_text[:1500])
    command = StdioServerParameters(
        command=sys.executable, env=dict(os.environ),
        args=["-m", "wim_edge", "mcp", str(tmp_path), "--model", str(smollm2), "--judge", "self",
              "--answer-tokens", "12"],
    )  # fmt: skip
    async with Client(command) as client:
        arguments = {"path": str(tmp_path / "gpl.txt"), "question": "Who may copy it?"}
        found = await client.call_tool("ask_document", arguments)
        assert not found.is_error, text_of(found)
        assert found.structured_content["sources"]
        readings = await client.call_tool("list_readings", {})
        assert json.loads(json.dumps(readings.structured_content))["result"]


def test_something_must_be_named_that_is_there() -> None:
    for given, code, why in (([], 2, "nothing is named"), (["--library", "papers"], 8, "no library papers")):
        done = run("mcp", *given)
        assert done.exit_code == code
        assert why in done.output
