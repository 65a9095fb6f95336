"""The command line: a file for the commands of one noun. They turn options into calls, and events into output.

These files import heavy packages only inside functions, so that `wim-edge --help` answers at once.
"""

from __future__ import annotations

from wim_edge.cli.main import main

__all__ = ["main"]
