"""A hub that misbehaves, with the real client: a clear error, nothing wrong on the disk, and a good hub works after."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack import hub
from tests.tiny import write_tiny

pytest.importorskip("huggingface_hub")
SLOW = {"never answers", "stalls half-way", "sends a byte now and then, and stops", "answers 429", "answers 500",
        "answers 429 to the file", "answers 503"}  # fmt: skip
"""The package tries again for up to half a minute; `scripts/attack.py hub` waits for them."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf", "llama").read_bytes()


@pytest.mark.parametrize("what", [what for what in hub.FAULTS if what not in SLOW])
def test_a_hub_that_misbehaves(what: str, data: bytes, tmp_path: Path) -> None:
    found = hub.attack(what, data, tmp_path, known=True)
    assert found.how == ("works" if what in ("as it should", hub.ELSEWHERE) else "refused"), found
