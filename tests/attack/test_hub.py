"""A misbehaving hub and the real client: a clear error, no wrong file, and a good hub works afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.attack import hub
from tests.attack.fork_server import ForkServer
from tests.attack.run import Outcome
from tests.tiny import write_tiny

pytestmark = pytest.mark.real

pytest.importorskip("huggingface_hub")
SAMPLE = (
    "as it should", hub.ELSEWHERE, "hangs up on the file", "speaks no HTTP", "says more than it sends",
    "sends without an end", "sends other bytes", "sends a page", "redirects to a file", "answers 401", "answers 404",
    "asks for terms",
)  # fmt: skip
"""One fault of each kind; `scripts/attack.py hub` has all, among them those that are retried for half a minute."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf", "llama").read_bytes()


def test_hubs_that_misbehave(data: bytes, tmp_path: Path, server: ForkServer) -> None:
    def attacked(what: str) -> Outcome:
        return hub.attack(server, what, data, tmp_path / what, known=True)

    with ThreadPoolExecutor(8) as pool:  # they wait for each other more than they work
        found = list(pool.map(attacked, SAMPLE))
    works = {"as it should", hub.ELSEWHERE}
    assert [one for one in found if one.how != ("works" if one.what in works else "refused")] == []
