"""A memory limit is a clear error, or it works: during load, and during reading. With less than 64 MiB Python and numpy
themselves do not start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.attack import memory
from tests.tiny import write_tiny

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")]


def asking(folder: Path) -> list[str]:
    """A question of a text of some segments."""
    model, text = write_tiny(folder / "tiny.gguf", "llama"), folder / "text.txt"
    text.write_text("The ferry sails at noon. " * 200)
    return ["ask", str(text), "When?", "--model", str(model), "--segment-tokens", "256", "--answer-tokens", "4"]


@pytest.mark.parametrize("mib", [100, 150, 200, 300, 400, 500, 600, 1000])
def test_so_many_addresses(mib: int, tmp_path: Path) -> None:
    found = memory.in_address_space(f"{mib} MiB", asking(tmp_path), tmp_path / "home", mib)
    assert found.how == ("works" if mib >= 600 else found.how), found
    assert found.how in ("works", "refused"), found


@pytest.mark.parametrize("mib", [80, 120, 200])
def test_so_much_memory(mib: int, tmp_path: Path) -> None:
    found = memory.in_group(f"{mib} MiB", asking(tmp_path), tmp_path / "home", mib)
    if found is None:
        pytest.skip("no control group can be made here")
    assert found.how in ("works", "refused"), found
