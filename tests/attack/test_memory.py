"""Under a memory limit a command works or ends with a clear error, at load and while it reads. Below 64 MiB Python and
numpy themselves do not start."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.attack.fork_server import ForkServer
from tests.attack.memory import MIB, group
from tests.attack.run import Outcome, command
from tests.tiny import write_tiny

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")]
EITHER = ("works", "refused")


@pytest.fixture(scope="module")
def bare() -> Iterator[ForkServer]:
    """Has imported nothing, so that a command has the memory of a fresh interpreter."""
    with closing(ForkServer(())) as server:
        yield server


def asked(bare: ForkServer, folder: Path, **limits: object) -> Outcome:
    """Asks a question about a text of some segments."""
    model, text = write_tiny(folder / "tiny.gguf", "llama"), folder / "text.txt"
    text.write_text("The ferry sails at noon. " * 200)
    asking = ["ask", str(text), "When?", "--model", str(model), "--judge", "self", "--segment-tokens", "256",
              "--answer-tokens", "4"]  # fmt: skip
    run = partial(command, bare, "a question", asking, folder / "home", seconds=300)
    return run(**limits)


@pytest.mark.parametrize(("mib", "how"), [
    (150, ["refused"]), (300, EITHER), (500, EITHER), (600, ["works"]),
])  # fmt: skip
def test_limits_of_the_address_space(bare: ForkServer, mib: int, how: Sequence[str], tmp_path: Path) -> None:
    found = asked(bare, tmp_path, most_bytes=mib * MIB)
    assert found.how in how, found


@pytest.mark.parametrize(("mib", "how"), [(80, EITHER), (200, ["works"])])
def test_limits_of_a_control_group(bare: ForkServer, mib: int, how: Sequence[str], tmp_path: Path) -> None:
    with group(mib) as folder:
        if folder is None:
            pytest.skip("no control group can be made here")
        found = asked(bare, tmp_path, group=folder)
    assert found.how in how, found
