"""Questions that people typed into a search engine (Natural Questions), on gold passages and on other passages.

Only rows of the part to choose settings on are used, never reported rows (`wim_edge/evaluation/example.py`).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from adapter.passages import NONE, Passage, Question, contains, fill, heading
from adapter.squad import CHARACTERS
from wim_edge.documents.data_files import read_rows
from wim_edge.evaluation.example import Part, take_part

_OTHERS = 6


def rows(data: Path, part: Part = "choose") -> list[dict[str, Any]]:
    """Returns the rows of a part, each with its passages."""
    return take_part(read_rows(data / "nq_multidoc_dev.jsonl.gz"), part, lambda row: row["question"])


def natural_passage(rng: random.Random, rows: list[dict[str, Any]]) -> Passage:
    """Returns a random row's gold passage or one of its eight nearest distractors, with the questions of this row and
    of others. A question whose answer is not in the passage has the target "none"."""
    row = rng.choice(rows)
    page = row["gold"] if rng.random() < 0.55 else rng.choice(row["distractors"][:8])
    text = page["text"][: CHARACTERS[1]]
    answers = [answer for answer in row["answers"] if answer in text and len(answer) > 1]
    answered, absent = [], []
    if answers:
        mark = "?" if rng.random() < 0.3 else ""
        answered.append(Question(row["question"] + mark, max(answers, key=len)))
    elif not any(contains(text, answer) for answer in row["answers"]):
        absent.append(Question(row["question"], NONE))
    for other in rng.sample(rows, min(_OTHERS, len(rows))):
        if not any(contains(text, answer) for answer in other["answers"]):
            absent.append(Question(other["question"], NONE))
    above = heading(page["title"] if rng.random() < 0.8 else "")
    return Passage("natural", above, text, fill(rng, answered, absent[: 2 if answered else _OTHERS], 0.5))
