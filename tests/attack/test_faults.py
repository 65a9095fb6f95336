"""A sample of the faults; `scripts/attack.py` runs all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.attack import faults

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[faults.Stage]:
    pytest.importorskip("llama_cpp")
    pytest.importorskip("huggingface_hub")
    try:
        with faults.staged(tmp_path_factory.mktemp("stage")) as stage:
            yield stage
    except FileNotFoundError as error:
        pytest.skip(f"needs {error}")


@pytest.fixture(scope="module", params=faults.SCENES, ids=lambda scene: scene.name)
def scene(request: pytest.FixtureRequest) -> faults.Scene:
    return request.param


@pytest.fixture(scope="module")
def changes(stage: faults.Stage, scene: faults.Scene) -> list[tuple[int, str]]:
    return stage.changes(scene)


@pytest.mark.parametrize("how", ["kill", "full", "readonly"])
def test_a_fault_at_a_change_of_a_file(
    stage: faults.Stage, scene: faults.Scene, changes: list[tuple[int, str]], how: str
) -> None:
    at, _ = random.Random(f"{scene.name} {how}").choice(changes)
    found = stage.play(scene, f"{how} at {at}", {"ATTACK_HOW": how, "ATTACK_AT": str(at)})
    assert found.how in ("works", "refused", *(["killed"] if how == "kill" else [])), found


def test_without_locks_and_with_a_clock_that_jumps(stage: faults.Stage, scene: faults.Scene) -> None:
    fault = {"ATTACK_HOW": "locks", "ATTACK_PATIENCE": "1", "ATTACK_CLOCK": str(20 * 365 * 86400)}
    found = stage.play(scene, "jumps", fault)
    assert found.how in ("works", "refused"), found
