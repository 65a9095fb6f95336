"""The examples of docs/embedding.md, and what they stand on: the worker process, `astream`, events out of JSON."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.server.slow import COMMAND, SMALL, Slow
from wim_edge import Runtime

pytestmark = pytest.mark.real  # the worker is a process
DOCS = Path(__file__).parents[2] / "docs" / "embedding.md"


def example(heading: str) -> dict[str, Any]:
    """The names that an example of the documentation defines."""
    section = DOCS.read_text(encoding="utf-8").split(f"## {heading}")[1]
    code = re.search(r"```python\n(.*?)```", section, re.S)
    assert code
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code[1], heading, "exec"), names)
    return names


def test_the_asyncio_example(story: Path) -> None:
    with Runtime(SMALL, model=Slow()) as runtime:
        assert asyncio.run(example("asyncio")["main"](runtime, str(story), "Which colour?")).startswith("an answer")


def test_the_process_example(story: Path) -> None:
    main = example("A process of its own")["main"]
    assert main(str(story), "Which colour?", command=COMMAND).startswith("an answer")
    assert main("nothing.txt", "Which colour?", command=COMMAND).startswith("error: ")
