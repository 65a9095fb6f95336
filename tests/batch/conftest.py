"""A Ray cluster of two machines on this one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from wim_edge.batch.questions import BatchQuestion, read_questions

if TYPE_CHECKING:  # packages take their time to import, of every worker
    from ray.cluster_utils import Cluster as Machines

os.environ["RAY_worker_niceness"] = "0"  # of 15 unless told otherwise: they would wait for all other tests  # noqa: SIM112
MACHINE = {"num_cpus": 1, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Each machine has a home of its own. Not kept any longer: Ray's processes are never quite idle."""
    from ray.cluster_utils import Cluster as Machines

    found = Machines()
    for number in range(2):
        home = {"WIM_EDGE_HOME": str(tmp_path_factory.mktemp(f"machine{number}"))}
        found.add_node(**MACHINE, env_vars={**os.environ, **home}, include_dashboard=False)
    yield found
    found.shutdown()


@pytest.fixture
def questions(tmp_path: Path) -> list[BatchQuestion]:
    rows = []
    for number in range(3):
        text = " ".join(f"Sentence {n} tells of the {n}th stone in wall {number}." for n in range(30))
        (tmp_path / f"{number}.txt").write_text(text)
    for part in range(2):
        rows += [{"document": f"{n}.txt", "question": f"Which {n} {part}?", "id": f"{n}/{part}"} for n in range(3)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return read_questions(tmp_path / "q.jsonl")
