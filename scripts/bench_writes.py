"""Measures the bytes that a reading writes to the disk, which wear out a memory card such as a Raspberry Pi's.

    python scripts/bench_writes.py --data DIR --part report --library passages.jsonl.gz --tokens 20000,100000 --json

The books are those of bench_book.py. For each, with a KV cache of f16 and of q8_0: `read` reads the whole book ahead
(`wim-edge read`), `known` asks a question on the same book afterwards, and `asked` asks a question on a book without a
saved reading, of which only promising segments are read. The system counts the bytes for the process (``ru_oublock``):
files must lie on a disk, not in memory (TMPDIR names the folder). `per_token` is for `read`.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_book import book, drawn, passages
from options import command, parser_of

from wim_edge.evaluation.example import take_part
from wim_edge.evaluation.tasks.documents import load_documents, load_questions

BLOCK = 512  # bytes, in which getrusage counts


def main() -> None:
    parser = parser_of(__doc__, "data", "part", "model", "json")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--tokens", default="20000,100000")
    given = parser.parse_args()
    documents = load_documents(given.data)
    (question,) = drawn(take_part(load_questions(given.data), given.part, lambda one: one.document), 1)
    told: dict[str, object] = {"command": command()}
    for size in map(int, given.tokens.split(",")):
        text = book(documents[question.document].text, passages(given.library, 0), size, random.Random("0 0"))
        for kind in ("f16", "q8_0"):
            with tempfile.TemporaryDirectory() as folder:
                told[f"{size}-{kind}"] = row = written(Path(folder), text, question.question, kind, given.model)
            print(f"{size} tokens, {kind}: {row}", file=sys.stderr if given.json else sys.stdout, flush=True)
    if given.json:
        print(json.dumps(told, indent=1))


def written(folder: Path, text: str, question: str, kind: str, model: str) -> dict[str, float]:
    path = folder / "book.txt"
    path.write_text(text, encoding="utf-8")
    options = ["--json", "--model", model, "--kv-type", kind]
    asked, _ = run(folder / "asked", "ask", *options, str(path), question)
    read, tokens = run(folder / "read", "read", *options, str(path))
    known, _ = run(folder / "read", "ask", *options, str(path), question)
    bytes_of = {"asked_bytes": asked, "read_bytes": read, "known_bytes": known}
    return {"tokens": tokens, **bytes_of, "per_token": read / tokens}


def run(readings: Path, *words: str) -> tuple[int, int]:
    """Runs a command. Returns the bytes that it wrote, and the number of the document's tokens."""
    environment = {**os.environ, "WIM_EDGE_READINGS": str(readings)}
    command = [sys.executable, "-m", "wim_edge", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        events = [json.loads(line) for line in process.stdout]
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if events[-1]["type"] == "error":
        raise SystemExit(f"{shlex.join(command)}: {events[-1]}")
    return usage.ru_oublock * BLOCK, next(one["tokens"] for one in events if one["type"] == "reading.started")


if __name__ == "__main__":
    main()
