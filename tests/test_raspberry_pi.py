"""The examples for a Raspberry Pi that serves the page: what they start is reached from the home network."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from wim_edge.cli.serve import serve
from wim_edge.server.guard import hosts_of

PI = Path(__file__).parent.parent / "examples" / "raspberry-pi"


def of_the_unit() -> str:
    return re.findall(r"^ExecStart=(.*)$", (PI / "wim-edge.service").read_text(encoding="utf-8"), re.MULTILINE)[0]


def of_the_container() -> str:
    found = re.findall(r"^CMD (.*)$", (PI / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)[0]
    shell, option, line = json.loads(found)
    assert (shell, option) == ("/bin/sh", "-c")
    return str(line).replace("${WIM_EDGE_NAME:-raspberrypi.local}", "raspberrypi.local")


@pytest.mark.parametrize("line", [of_the_unit(), of_the_container()])
def test_the_page_is_served_by_the_name_that_is_opened(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIM_EDGE_TOKEN", "secret")
    words = shlex.split(line)
    options = serve.make_context("serve", words[words.index("serve") + 1 :]).params
    assert "raspberrypi.local" in hosts_of(options["host"], options["names"])
    assert options["token"] == "secret"  # from the environment: a command line is everybody's to read
    assert "--token" not in words
