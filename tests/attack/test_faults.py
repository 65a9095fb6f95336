"""A sample of the faults: each scene is killed, and meets one of the others; `scripts/attack.py` runs all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.attack import faults

pytestmark = pytest.mark.real
OTHERS: tuple[dict[str, str], ...] = (
    {"ATTACK_HOW": "full"}, {"ATTACK_HOW": "readonly"},
    {"ATTACK_HOW": "locks", "ATTACK_PATIENCE": "1", "ATTACK_CLOCK": str(20 * 365 * 86400)},  # its clock jumps too
)  # fmt: skip


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[faults.Stage]:
    pytest.importorskip("llama_cpp")
    pytest.importorskip("huggingface_hub")
    try:
        with faults.staged(tmp_path_factory.mktemp("stage")) as stage:
            yield stage
    except FileNotFoundError as error:
        pytest.skip(f"needs {error}")


@pytest.mark.parametrize("number", range(len(faults.SCENES)), ids=[scene.name for scene in faults.SCENES])
def test_a_fault_leaves_all_data_and_a_command_that_works_again(stage: faults.Stage, number: int) -> None:
    scene = faults.SCENES[number]
    changes = stage.changes(scene)
    for fault in ({"ATTACK_HOW": "kill"}, OTHERS[number % len(OTHERS)]):
        how = fault["ATTACK_HOW"]
        at, _ = random.Random(f"{scene.name} {how}").choice(changes)
        found = stage.play(scene, f"{how} at {at}", fault if how == "locks" else {**fault, "ATTACK_AT": str(at)})
        assert found.how in ("works", "refused", *(["killed"] if how == "kill" else [])), found
