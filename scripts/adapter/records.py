"""Key-value lists as JSON, lines or tables, from which the model learns to copy a value exactly."""

from __future__ import annotations

import json
import random
import uuid

from adapter.passages import NONE, Passage, Question, fill, heading

_ASKED = (
    "What is the value of {}?", "Which value belongs to the key {}?", "{}", "What does {} map to?", 'Key: "{}"',
    "What is stored under {}?",
)  # fmt: skip
_WORDS = ("alpha", "cache", "retry", "limit", "timeout", "log", "level", "port", "host", "user", "max", "min", "path")


def record_passage(rng: random.Random) -> Passage:
    """Returns pairs of random identifiers as a passage, with questions for keys that are and are not in it."""
    make = rng.choice([_uuid, _uuid, _code, _word_code])
    pairs = {make(rng): make(rng) for _ in range(rng.randint(3, 4 if make is _uuid else 12))}
    layout = rng.choice(["json", "json", "lines", "table"])
    if layout == "json":
        text = json.dumps(pairs, indent=rng.choice([None, 1]))
        text = text if rng.random() < 0.5 else text.strip("{}").strip()
    elif layout == "lines":
        between = rng.choice([": ", " = ", " -> ", "\t"])
        text = "\n".join(f"{key}{between}{value}" for key, value in pairs.items())
    else:
        rows = [f"| {key} | {value} |" for key, value in pairs.items()]
        text = "\n".join(["| Key | Value |", "| --- | --- |", *rows])
    wording = rng.choice(_ASKED)
    answered = [Question(wording.format(key), value) for key, value in pairs.items()]
    absent = [Question(wording.format(make(rng)), NONE) for _ in range(len(pairs) // 2 + 1)]
    return Passage("records", heading(), text, fill(rng, answered, absent, 0.35))


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _code(rng: random.Random) -> str:
    letters = "".join(rng.choices("ABCDEFGHKLMNPQRSTUVWXYZ", k=rng.randint(2, 3)))
    return f"{letters}-{rng.randint(100, 99999)}"


def _word_code(rng: random.Random) -> str:
    return f"{'_'.join(rng.sample(_WORDS, 2))}_{rng.randint(1, 999)}"
