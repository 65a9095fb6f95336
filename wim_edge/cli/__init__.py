"""The command line: one file a command. Commands translate options to calls and events to output.

Nothing heavy is imported at the top of these files, so that `wim-edge --help` answers at once.
"""

from __future__ import annotations

from wim_edge.cli.main import main

__all__ = ["main"]
