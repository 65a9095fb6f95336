from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.attack.fork_server import ForkServer


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with closing(ForkServer()) as server:
        yield server
