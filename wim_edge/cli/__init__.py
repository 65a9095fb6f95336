"""The command line, with one file per command. Commands translate options to calls, and events to output.

The tops of these files import nothing heavy, so that `wim-edge --help` answers at once.
"""

from __future__ import annotations

from wim_edge.cli.main import main

__all__ = ["main"]
