"""A Ray cluster of two machines on this one: nothing lost, nothing hidden, also where a machine is lost."""

from __future__ import annotations

import json
import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from tests.batch.test_real_batch import batch, write_documents
from wim_edge.batch.ray_cluster import Cluster, place
from wim_edge.cli import main
from wim_edge.errors import DocumentError, EngineError, InvalidRequestError, WimEdgeError
from wim_edge.evaluation import runner

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster as Machines

pytestmark = pytest.mark.real
os.environ["RAY_BACKEND_LOG_LEVEL"] = "error"  # where Ray crashes, it says where
MACHINE = {"num_cpus": 1, "object_store_memory": 100 << 20}


def same(item: Any) -> Any:
    return item


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


class Twice:
    """Tells each item twice, and where."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self, item: tuple[int, int]) -> Iterable[tuple[int, int, int, str]]:
        number, loaded_by = item
        for part in range(2):
            time.sleep(self.seconds)
            yield number, part, loaded_by, place()


class Fails:
    def __init__(self, error: WimEdgeError | None = None) -> None:
        if error is not None:
            raise error

    def __call__(self, number: int) -> Iterable[int]:
        if number == 3:
            raise DocumentError("three is none", "Take four.")
        if number == 99:
            raise TypeError("a bug of ours")
        yield number


def with_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def keys(found: Iterable[tuple[Any, ...]]) -> list[tuple[int, int]]:
    return sorted({(number, part) for number, part, *_ in found})


ALL = [(number, part) for number in range(8) for part in range(2)]


def test_all_is_told_from_every_machine(machines: Machines) -> None:
    lines: list[str] = []
    found = list(Cluster(machines.address).run(range(8), with_process, partial(Twice, 0.3), lines.append))
    assert len(found) == 16
    assert keys(found) == ALL
    assert lines == ["2 actors of 1 CPU on 2 machines"]
    of_one = {number: {where for one, _, _, where in found if one == number} for number in range(8)}
    assert all(len(places) == 1 for places in of_one.values())  # an item is one machine's
    assert len({where.split("/")[1] for places in of_one.values() for where in places}) == 2
    assert not any(loaded_by == int(where.split("/")[2]) for _, _, loaded_by, where in found)  # ahead of the actors


def test_results_come_as_they_are_there(machines: Machines) -> None:
    found = Cluster(machines.address, actors=1).run([1], with_process, partial(Twice, 1.0))
    next(found)
    began = time.monotonic()
    next(found)
    assert time.monotonic() - began > 0.5
    assert list(found) == []


def test_what_an_actor_raises_is_raised_here(machines: Machines) -> None:
    with pytest.raises(DocumentError, match=r"^three is none$") as told:
        list(Cluster(machines.address, actors=1).run(range(5), same, Fails))
    assert told.value.hint == "Take four."
    with pytest.raises(InvalidRequestError, match=r"^no room$") as wrong:
        list(Cluster(machines.address).run([1], same, partial(Fails, InvalidRequestError("no room", "Make some."))))
    assert wrong.value.hint == "Make some."
    with pytest.raises(EngineError, match=r"^Ray failed: TypeError: a bug of ours$"):
        list(Cluster(machines.address).run([99], same, Fails))


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        (lambda address: Cluster(address, cpus=64), "needs CPU 64; the largest has CPU 1"),
        (lambda address: Cluster(address, gpus=1), "GPU 1"),
        (lambda address: Cluster(address, memory=1 << 60), "memory"),
        (lambda address: Cluster("ray://127.0.0.1:10001"), "a client's address"),
        (lambda address: Cluster("127.0.0.1:1"), "no Ray cluster at 127.0.0.1:1"),
        (lambda address: Cluster("nonsense"), "no Ray cluster at nonsense"),
    ],
)
def test_a_cluster_that_does_not_do(machines: Machines, cluster: Callable[[str], Cluster], says: str) -> None:
    with pytest.raises(InvalidRequestError, match=says):
        list(cluster(machines.address).run([1], same, Fails))


def test_nothing_to_do_needs_no_cluster() -> None:
    assert list(Cluster("127.0.0.1:1").run([], same, Fails)) == []


def test_a_program_that_is_connected_stays_so(machines: Machines) -> None:
    import ray

    ray.init(address=machines.address, log_to_driver=False)
    try:
        assert list(Cluster("auto").run([1], same, Fails)) == [1]
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_a_machine_that_is_lost(machines: Machines) -> None:
    other, found, lines = machines.add_node(**MACHINE, include_dashboard=False), [], []
    for row in Cluster(machines.address).run(range(8), with_process, partial(Twice, 0.4), lines.append):
        found.append(row)
        if len(found) == 6:
            machines.remove_node(other, allow_graceful=False)
    assert keys(found) == ALL
    assert lines == ["3 actors of 1 CPU on 3 machines"]


def test_a_cluster_answers_as_one_machine_does(
    machines: Machines, model_file: Callable[[str], Path], tmp_path: Path
) -> None:
    model, documents = model_file("llama"), write_documents(tmp_path / "two", 2)
    run_local = batch(documents, tmp_path / "here", model)
    there = batch(documents, tmp_path / "there", model, "--ray", machines.address, "--parquet")
    apart = ("usage", "worker")
    assert len(run_local) == 4
    assert [{name: row[name] for name in row if name not in apart} for row in run_local] == [
        {name: row[name] for name in row if name not in apart} for row in there
    ]
    assert {row["worker"] for row in run_local} == {"local"}
    for found in (run_local, there):
        for first, second in zip(found[::2], found[1::2], strict=True):
            assert first["usage"]["reused_tokens"] == second["usage"]["prefilled_tokens"] == 0
            assert first["worker"] == second["worker"]
    assert (tmp_path / "there" / "results.parquet").exists()


def test_what_an_evaluation_sends_to_an_actor_works_on_another_machine(
    model_file: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Played without Ray, which the other tests show: all is pickled, and the actor is in another folder."""

    def played(self: Cluster, items: Any, load: Any, actor: Any, log: object = None) -> Iterator[Any]:
        load, actor, items = pickle.loads(pickle.dumps((load, actor, list(items))))
        monkeypatch.chdir(elsewhere)
        act = actor()
        for item in items:
            yield from (pickle.loads(pickle.dumps(one)) for one in act(load(item)))

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(Cluster, "run", played)
    monkeypatch.setattr(runner, "place", lambda: "machine")
    monkeypatch.setattr(runner, "threads", lambda settings: 1)
    monkeypatch.chdir(tmp_path)
    common = ("eval", "kv", "--documents", "3", "--limit", "2", "--positions", "0,2", "--pattern", "llm,wim-shallow",
              "-m", str(model_file("llama")), "--judge", "self", "--threads", "1", "--answer-tokens", "12",
              "--templates", ".")  # fmt: skip
    kept = ("id", "pattern", "resolved_pattern", "answer", "error", "scores", "gold_rank", "prefilled_tokens")
    found = []
    for name, more in (("here", ()), ("there", ("--ray", "auto"))):
        done = CliRunner().invoke(main, [*common, "--out", str(tmp_path / name), *more])
        assert done.exit_code == 0, done.output
        lines = (tmp_path / name / "examples.jsonl").read_text().splitlines()
        found.append(sorted([json.loads(line)[one] for one in kept] for line in lines))
    assert len(found[0]) == 8
    assert found[0] == found[1]
