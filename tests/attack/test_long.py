"""Many questions in one process: nothing is held that was not held after the first ones."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.real
pytest.importorskip("llama_cpp")

from tests.tiny import write_tiny  # noqa: E402
from wim_edge import Document, Runtime, Settings  # noqa: E402
from wim_edge.library import ReadingStore  # noqa: E402


def test_files_memory_and_saved_readings_do_not_grow(tmp_path: Path) -> None:
    model, me = write_tiny(tmp_path / "tiny.gguf", "llama"), psutil.Process()
    documents = [Document(f"part {at}", f"Ship number {at} sails at noon. " * 8) for at in range(20)]
    settings = Settings(model=str(model), pattern="wim-shallow", segment_tokens=64, margin_tokens=8, answer_tokens=4,
                        n_threads=1, readings=tmp_path / "readings", readings_bytes=4_000_000)  # fmt: skip
    held, files = [], []
    with Runtime(settings) as runtime:
        for number in range(50):
            runtime.ask(documents[(number * 7) % 20], f"When does ship {number} sail?")
            held.append(me.memory_info().rss)
            files.append(len(me.open_files()))
    assert max(files[-20:]) <= max(files[:20])
    assert max(held[-20:]) < 1.05 * max(held[:20])
    assert 0 < ReadingStore.of(settings).index.total() <= 4_000_000
