"""All of the attacks, which take hours: `pytest -m attack`. `scripts/attack.py` prints how each part ended."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.attack.parts import PARTS

pytestmark = [pytest.mark.real, pytest.mark.attack]


@pytest.mark.parametrize("part", PARTS)
def test_every_attack_ends_well(part: str, tmp_path: Path) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda case: case(), PARTS[part](tmp_path, stack))
        assert [one for one in found if one.how in ("CRASH", "HANG")] == []
