"""A memory limit is a clear error, or it works: during load, and during reading. With less than 64 MiB Python and numpy
themselves do not start."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.attack import memory
from tests.tiny import write_tiny

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")]


def asking(folder: Path) -> list[str]:
    """A question of a text of some segments."""
    model, text = write_tiny(folder / "tiny.gguf", "llama"), folder / "text.txt"
    text.write_text("The ferry sails at noon. " * 200)
    return ["ask", str(text), "When?", "--model", str(model), "--judge", "self", "--segment-tokens", "256",
            "--answer-tokens", "4"]


EITHER = ("works", "refused")


@pytest.mark.parametrize(("mib", "how"), [
    (100, ["refused"]), (150, ["refused"]), (200, ["refused"]), (300, EITHER), (400, EITHER), (500, EITHER),
    (600, ["works"]), (1000, ["works"]),
])  # fmt: skip
def test_so_many_addresses(mib: int, how: Sequence[str], tmp_path: Path) -> None:
    found = memory.in_address_space(f"{mib} MiB", asking(tmp_path), tmp_path / "home", mib)
    assert found.how in how, found


@pytest.mark.parametrize(("mib", "how"), [(80, EITHER), (120, EITHER), (200, ["works"])])
def test_so_much_memory(mib: int, how: Sequence[str], tmp_path: Path) -> None:
    found = memory.in_group(f"{mib} MiB", asking(tmp_path), tmp_path / "home", mib)
    if found is None:
        pytest.skip("no control group can be made here")
    assert found.how in how, found
