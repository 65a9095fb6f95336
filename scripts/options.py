"""The options that scripts share, the command of the script that runs, as docs/results keeps it, and their tables."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from wim_edge.evaluation.example import PARTS

OPTIONS: dict[str, dict[str, Any]] = {
    "data": {"type": Path, "required": True, "metavar": "DIR", "help": "documents and questions"},
    "part": {"choices": PARTS, "default": "all", "help": "the first third of the documents, or the rest; default: all"},
    "model": {"default": "smollm2-135m", "help": "default: %(default)s"},
    "adapter": {"help": "instead of the model's own"},
    "threads": {"type": int, "metavar": "N", "help": "default: all cores"},
    "json": {"action": "store_true", "help": "the figures as JSON, as docs/results keeps them"},
}


def parser_of(doc: str | None, *names: str) -> argparse.ArgumentParser:
    """Returns a parser that shows a script's docstring and takes these of the `OPTIONS`."""
    found = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in names:
        found.add_argument(f"--{name}", **OPTIONS[name])
    return found


def command() -> str:
    """Returns the command of the script that runs."""
    return shlex.join(["python", f"scripts/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))
