"""The examples of docs/python.md, run as they stand there."""

from __future__ import annotations

import re

from tests.conftest import ROOT
from wim_edge.integrations import document_reader


def run_example(part: str) -> None:
    """Runs the example under a heading of the page."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    text = page.partition(f"\n## {part}\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    try:
        exec(compile(code, "docs/python.md", "exec"), {})
    finally:
        while document_reader._runtimes:  # which a program keeps to its end
            document_reader._runtimes.popitem()[1].close()
