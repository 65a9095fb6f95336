"""What other machines hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wim_edge.catalog import Catalog
from wim_edge.catalog.machines import held_by, memory_of
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import Paths

GIB = 1 << 30


@pytest.mark.parametrize(
    ("machine", "gib"), [("raspberry-pi-4", 4), ("Raspberry-Pi-5", 8), ("16GB", 16), ("1.5 GiB", 1.5), ("2g", 2)]
)
def test_the_memory_of_a_machine(machine: str, gib: float) -> None:
    assert memory_of(machine) == gib * GIB


@pytest.mark.parametrize("machine", ["", "pi", "0GB", "12 MB", "raspberry-pi-9"])
def test_an_unknown_machine_is_told(machine: str) -> None:
    with pytest.raises(InvalidRequestError, match="no machine"):
        memory_of(machine)


def test_what_a_machine_holds_needs_no_more_than_it_has() -> None:
    catalog = Catalog.load(Paths.from_environment())
    held = held_by(4 * GIB, catalog)
    assert held
    assert {one.name for one in held} < {one.name for one in held_by(8 * GIB, catalog)}
    for one in held:
        entry = catalog.get(one.name)
        assert one.nbytes + one.context * (entry.kv_bytes_per_token or 0) <= 0.8 * 4 * GIB
        assert one.context <= entry.context
    ranks = [catalog.get(one.name).rank for one in held]
    assert ranks == sorted(ranks, reverse=True)
    assert held_by(GIB // 4, catalog) == []


def test_an_embedding_model_answers_nothing() -> None:
    entry = Catalog.load(Paths.from_environment()).get("smollm2-135m")
    assert held_by(8 * GIB, [replace(entry, rank=0)]) == []


def test_beside_a_writer_there_is_room_for_the_judge() -> None:
    catalog = Catalog.load(Paths.from_environment())
    judge, writer = catalog.get("smollm2-135m"), catalog.get("qwen2.5-1.5b")
    memory = int((writer.bytes + 200 * 1024**2 + 10**9) / 0.8)
    (alone,) = held_by(memory, [writer])
    beside = {one.name: one for one in held_by(memory, [writer, judge])}
    each = (writer.kv_bytes_per_token or 0) + 150_000
    assert (alone.context - beside[writer.name].context) == pytest.approx((98_362_432 + 8192 * 23_040) / each, abs=2)
    assert [beside[judge.name]] == held_by(memory, [judge])
