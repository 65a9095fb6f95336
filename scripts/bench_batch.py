"""Compares `wim-edge batch` in one process and on a Ray cluster of two machines (both this one), one of which is lost.

    python scripts/bench_batch.py --data nq_multidoc.jsonl.gz --data hotpotqa.jsonl.gz

Each document consists of the passages of three questions (multi-document and HotpotQA, docs/evaluation.md). For each
run the script prints whether all rows are there once, with the answers of one process, and how often each machine read
a document. It also prints the run's seconds and those of the model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from wim_edge.documents.data_files import read_rows

DOCUMENTS, QUESTIONS, PASSAGES = 60, 3, 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wim-edge-bench-") as folder:
        run(given.data, Path(folder))


def run(data: list[Path], work: Path) -> None:
    questions = made(data, work)
    bench = Bench(work)
    here = bench.batch(questions, "here")
    told(here, here, bench.seconds, "one process")
    for machines, lose in ((1, False), (2, False), (2, True)):
        cluster = bench.cluster(machines)
        name = f"{machines} machines{', one of them is lost' if lose else ''}"
        rows = bench.batch(questions, name.replace(" ", ""), "--ray", cluster.address, lose=cluster if lose else None)
        told(here, rows, bench.seconds, name)
        cluster.shutdown()


class Bench:
    def __init__(self, work: Path) -> None:
        self.work, self.seconds = work, 0.0
        self._homes = 0

    def cluster(self, machines: int) -> Any:
        """Returns a Ray cluster whose machines have one CPU and a home folder of their own each."""
        from ray.cluster_utils import Cluster

        found, self.last = None, None
        for _ in range(machines):
            more = {"num_cpus": 1, "object_store_memory": 200 << 20, "env_vars": {**os.environ, **self._home()}}
            if found is None:
                found = Cluster(initialize_head=True, head_node_args={**more, "include_dashboard": False})
            else:
                self.last = found.add_node(**more)
        return found

    def _home(self) -> dict[str, str]:
        self._homes += 1
        return {"WIM_EDGE_HOME": str(self.work / f"home{self._homes}")}

    def batch(self, questions: Path, name: str, *more: str, lose: Any = None) -> list[dict[str, Any]]:
        """Returns the rows of a run. ``lose``: a cluster whose last machine is killed after a third of the rows."""
        out = self.work / name
        command = [sys.executable, "-m", "wim_edge", "batch", str(questions), "--out", str(out), "--threads", "1",
                   "--model", "smollm2-135m", "--answer-tokens", "48", *more]  # fmt: skip
        began = time.monotonic()
        log = self.work / f"{name}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(command, env={**os.environ, **self._home()}, stdout=file, stderr=file)
        third = sum(1 for _ in questions.open()) // 3
        while lose is not None and len(self._lines(out)) < third:
            time.sleep(0.2)
        if lose is not None:
            self._kill_machine(lose, self._lines(out))
        assert process.wait() == 0, log.read_text(errors="replace")
        self.seconds = time.monotonic() - began
        return self._lines(out)

    def _kill_machine(self, cluster: Any, rows: list[dict[str, Any]]) -> None:
        cluster.remove_node(self.last, allow_graceful=False)
        done = Counter(row["worker"] for row in rows)
        print(f"lost after {len(rows)} rows, of {', '.join(f'{n} by {name}' for name, n in done.items())}", flush=True)

    def _lines(self, out: Path) -> list[dict[str, Any]]:
        path = out / "results.jsonl"
        data = path.read_bytes() if path.exists() else b""
        return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def told(here: list[dict[str, Any]], there: list[dict[str, Any]], seconds: float, what: str) -> None:
    mine, theirs = ({row["id"]: row for row in rows} for rows in (here, there))
    both = [(mine[name], theirs[name]) for name in mine if name in theirs]
    same = {part: sum(one[part] == other[part] for one, other in both) for part in ("answer", "sources", "margins")}
    read: Counter[tuple[str, str]] = Counter()
    for row in there:
        if not row["error"]:
            fresh = row["usage"]["prefilled_tokens"] > 0 and not row["usage"]["reused_tokens"]
            read[row["document"], row["worker"]] += fresh
    by_two = len(read) - len({document for document, _ in read})
    work = sum(row["usage"]["seconds"]["total"] for row in there if not row["error"])
    print(f"{what}: {seconds:.1f} s, {work:.1f} s of them the model's, summed over {len({w for _, w in read})} workers")
    print(f"  {len(there)} rows, {len(mine) - len(theirs)} missing, {len(there) - len(theirs)} twice, "
          f"{sum(bool(row['error']) for row in there)} failed; "
          f"as by one process: {', '.join(f'{n} {part}' for part, n in same.items())}")  # fmt: skip
    print(f"  a worker read a document {max(read.values())} times at most; {by_two} were read by two", flush=True)


def made(data: list[Path], work: Path) -> Path:
    """Returns a file of each document's first question, then the second ones and so on; documents lie beside it."""
    asked = [one for path in data for one in map(_of_row, read_rows(path))][: QUESTIONS * DOCUMENTS]
    assert len(asked) == QUESTIONS * DOCUMENTS, f"{len(asked)} questions in the data"
    folder = work / "documents"
    folder.mkdir()
    lines = []
    for number in range(DOCUMENTS):
        mine = asked[QUESTIONS * number : QUESTIONS * (number + 1)]
        texts = [f"{one['title']}\n{one['text']}" for _, passages in mine for one in passages[:PASSAGES]]
        (folder / f"{number:03}.txt").write_text("\n\n".join(texts), encoding="utf-8")
        lines += [{"id": f"{part}-{number:03}", "document": f"{number:03}.txt", "question": question}
                  for part, (question, _) in enumerate(mine)]  # fmt: skip
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, sorted(lines, key=lambda line: line["id"]))) + "\n", encoding="utf-8")
    return path


def _of_row(row: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
    if "gold" in row:
        return row["question"], [row["gold"], *row["distractors"]]
    found = sorted(row["paragraphs"], key=lambda one: one["title"] not in row["supporting_titles"])
    return row["question"], found


if __name__ == "__main__":
    main()
