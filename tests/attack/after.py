"""Checks that a home still has all its data: ``python -m tests.attack.after HOME [reading]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.attack.faults import SHORT
from wim_edge import Runtime, Settings
from wim_edge.library.library import Library
from wim_edge.server.history import History

home = Path(sys.argv[1])
with Runtime(Settings(model="tiny", judge="self", segment_tokens=int(SHORT[3]), answer_tokens=4)) as runtime:
    answer = runtime.ask(home / "texts/old.txt", "When does the ferry sail?")
    if "reading" in sys.argv[2:]:
        assert answer.usage.reused_tokens, "the reading is lost"
library = Library("default")
assert any(entry.title == "old" for entry in library.entries()), "a document of the library is lost"
assert [json.loads(one.read_bytes()) for one in (home / "config/tuned").glob("*.json")], "what was tuned is lost"
given = Library("given")
assert any(entry.title == "kept" for entry in given.entries()), "what was uploaded is lost"
assert any(one.text == "kept?" for one in History(given.folder / "questions").all()), "a question is lost"
