"""Runs work on a Ray cluster. Ray Data distributes and limits the work, and repeats the work of a lost machine.

An actor is a process with one model. Results arrive one by one, in any order; those of a lost machine may arrive twice.
Ray always restarts an actor whose process ends. So code that may crash runs in a `wim_edge.worker` of the actor.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from wim_edge.errors import EngineError, InvalidRequestError, WimEdgeError, required
from wim_edge.settings import Settings
from wim_edge.system.addresses import connect

_IN_FLIGHT = 2
"""The most items that Ray sends to an actor at a time: the current item and the next."""
_LOADERS = 2
"""The number of processes that load items. Without this limit Ray starts one per item; each needs seconds to import."""

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R")


@dataclass(frozen=True)
class Cluster:
    """The address of a Ray cluster, and the resources of each actor."""

    address: str = "auto"
    """``auto`` for this machine's cluster, HOST:PORT, or ``local`` for a new cluster on this machine only."""
    cpus: float | None = None
    """The CPUs of an actor; None: those of the smallest machine, so that equal machines get one actor each."""
    gpus: float = 0
    memory: int | None = None
    """The memory of an actor, in bytes; None: no memory is reserved."""
    actors: int | None = None
    """The number of actors; None: as many as fit on the machines."""

    def run(
        self, items: Sequence[T], load: Callable[[T], U], actor: Callable[[], Callable[[U], Iterable[R]]],
        log: Callable[[str], None] = lambda _: None,
    ) -> Generator[R, None, None]:  # fmt: skip
        """Yields the results of all items. Closing the generator ends the work.

        ``load`` prepares an item on this machine, ahead of the actors. ``actor``, called in an actor's process, returns
        the function from an item to its results. ``log`` gets a line that counts actors and machines. Raises an actor's
        WimEdgeError, InvalidRequestError if there is no such cluster or no room, EngineError if Ray fails.
        """
        ray = _require_ray()
        if not items:
            return
        with _connected(ray, self.address), _row_by_row():
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            cpus = self.cpus or min((node["CPU"] for node in nodes if node.get("CPU")), default=1)
            room = self._room(nodes, cpus)
            actors = min(self.actors or room, room, len(items))
            each = f"{_many(cpus, 'CPU')}{f' and {self.gpus:g} GPU' if self.gpus else ''}"
            log(f"{_many(actors, 'actor')} of {each} on {_many(len(nodes), 'machine')}")
            try:
                found = self._dataset(ray, items, load, actor, cpus, actors)
                for batch in found.iter_batches(batch_size=None, prefetch_batches=0, batch_format="pyarrow"):
                    yield from map(pickle.loads, batch["out"].to_pylist())
            except ray.exceptions.RayError as error:
                raise _cause(error) from error

    def _dataset(self, ray: Any, items: Sequence[T], load: Any, actor: Any, cpus: float, actors: int) -> Any:
        import ray.data as data

        me = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
        rows = data.from_items([{"in": pickle.dumps(item)} for item in items], override_num_blocks=len(items))
        loaders = data.TaskPoolStrategy(size=_LOADERS)
        loaded = rows.map(_load, fn_kwargs={"load": load}, compute=loaders, num_cpus=0, label_selector=me)
        pool = data.ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=_IN_FLIGHT)
        return loaded.map_batches(
            _Act, fn_constructor_args=(actor,), batch_size=1, compute=pool, num_cpus=cpus, num_gpus=self.gpus or None,
            memory=self.memory,
        )  # fmt: skip

    def _room(self, nodes: Sequence[dict[str, float]], cpus: float) -> int:
        """Returns the number of actors that fit on these machines. Raises InvalidRequestError if none fits."""
        wanted = {"CPU": cpus, "GPU": self.gpus, "memory": self.memory or 0}
        rooms = [min(int(node.get(name, 0) / need) for name, need in wanted.items() if need) for node in nodes]
        if not sum(rooms):
            most = max(nodes, key=lambda node: node.get("CPU", 0))
            has = ", ".join(f"{name} {most.get(name, 0):,.0f}" for name, need in wanted.items() if need)
            needs = ", ".join(f"{name} {need:,.0f}" for name, need in wanted.items() if need)
            raise InvalidRequestError(
                f"no machine of the cluster has room for an actor: it needs {needs}; the largest has {has}",
                "Request less (--ray-cpus, --ray-gpus, --ctx), or use a smaller model.",
            )
        return sum(rooms)


def _load(row: dict[str, Any], load: Callable[[Any], Any]) -> dict[str, Any]:
    """The Ray Data step that loads an item, on the machine with the files."""
    return {"in": pickle.dumps(load(pickle.loads(row["in"])))}


class _Act:
    """The Ray Data step that passes items to an actor, on a machine with the model."""

    def __init__(self, actor: Callable[[], Callable[[Any], Iterable[Any]]]) -> None:
        self.actor = actor

    @cached_property
    def act(self) -> Callable[[Any], Iterable[Any]]:
        """The actor. It is created with the first item: if a constructor fails, Ray passes on only the error's text."""
        return self.actor()

    def __call__(self, batch: dict[str, Any]) -> Iterator[dict[str, list[bytes]]]:
        for item in batch["in"]:
            for result in self.act(pickle.loads(item)):
                yield {"out": [pickle.dumps(result)]}


@contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    """Connects to the cluster for the `with` block. A program that has a connection keeps using it."""
    if ray.is_initialized():
        yield
        return
    if address.startswith("ray://"):
        raise InvalidRequestError(
            f"{address} is a client's address", "Run the command on a machine of the cluster, with --ray auto."
        )
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        listens = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
        if listens.rpartition(":")[2].isdecimal():  # Ray itself would wait for minutes
            connect(listens, seconds=5).close()
        before = signal.getsignal(signal.SIGTERM)
        dashboard = False if address == "local" else None  # nobody looks at the dashboard of a temporary cluster
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, include_dashboard=dashboard)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # Ray replaces the handler
    except (OSError, RuntimeError, ValueError, AssertionError) as error:
        why = str(error).split("\n")[0]
        raise InvalidRequestError(
            f"no Ray cluster at {address}: {why}",
            "Start one with `ray start --head`, and join it on the other machines; or take --ray local.",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _row_by_row() -> Any:
    """Returns a context manager in which Ray Data passes on each result at once, without time limit and reports."""
    from ray.data import DataContext

    context = DataContext.get_current().copy()
    context.enable_progress_bars, context.target_max_block_size = False, 1
    context.execution_no_progress_timeout_s = -1
    context.issue_detectors_config.detectors = []
    return DataContext.current(context)


def threads(settings: Settings) -> int:
    """Returns the number of threads of this actor's model: as set, or else its CPUs (at most the physical cores)."""
    from wim_edge.engine.bindings import physical_cores

    given = _require_ray().get_runtime_context().get_assigned_resources().get("CPU", 1)
    return settings.n_threads or max(1, min(int(given), physical_cores()))


def place() -> str:
    """Returns this process's name in results: the machine, its Ray node, and the process id."""
    return f"{socket.gethostname()}/{_require_ray().get_runtime_context().get_node_id()[:8]}/{os.getpid()}"


def _many(n: float, what: str) -> str:
    return f"{n:g} {what}{'' if n == 1 else 's'}"


def _require_ray() -> Any:
    # Otherwise Ray sends usage reports, and logs warnings
    for name, value in (("USAGE_STATS_ENABLED", "0"), ("DATA_LOG_LEVEL", "ERROR"), ("BACKEND_LOG_LEVEL", "fatal")):
        os.environ.setdefault(f"RAY_{name}", value)
    with required("this needs Ray", "pip install 'wim-edge[ray]'"):
        import ray
        import ray.data
    return ray


def _cause(error: Exception) -> WimEdgeError:
    """Returns the WimEdgeError that an actor raised; for another error, an EngineError with its message or Ray's."""
    ours = getattr(error, "cause", None)
    if isinstance(ours, WimEdgeError):
        return type(ours)(str(ours).split("\n")[0], ours.hint)  # Ray adds lines of its own
    # For a bug in an actor, its own first line: the last line of Ray's message is then advice
    why = f"{type(ours).__name__}: {ours}".split("\n")[0] if ours else str(error).strip().split("\n")[-1]
    return EngineError(f"Ray failed: {why}", "The logs are under /tmp/ray; the same command continues.")
