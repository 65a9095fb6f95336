"""A journal of a run: what is written goes on after a stop."""

from __future__ import annotations

import json
from pathlib import Path

from wim_edge.journal import write_json


def test_paths_that_are_no_utf8_are_written(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"command": "wim-edge --out o\udc80"})
    assert json.loads((tmp_path / "x.json").read_text()) == {"command": "wim-edge --out o\udc80"}
