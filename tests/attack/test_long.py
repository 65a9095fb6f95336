"""Many questions in one process use no more memory and files than the first ones."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.real
pytest.importorskip("llama_cpp")

from tests.tiny import write_tiny  # noqa: E402
from wim_edge import Document, Runtime, Settings  # noqa: E402
from wim_edge.library import ReadingStore  # noqa: E402


@pytest.mark.parametrize("n_questions", [24, pytest.param(200, marks=pytest.mark.attack)])
def test_files_memory_and_saved_readings_do_not_grow(tmp_path: Path, n_questions: int) -> None:
    model, me = write_tiny(tmp_path / "tiny.gguf", "llama"), psutil.Process()
    documents = [Document(f"part {at}", f"Ship number {at} sails at noon. " * 8) for at in range(12)]
    settings = Settings(model=str(model), judge="self", pattern="wim-shallow", segment_tokens=64, margin_tokens=8,
                        answer_tokens=4, n_threads=1, readings=tmp_path / "readings",
                        readings_bytes=4_000_000)  # fmt: skip
    held, files = [], []
    with Runtime(settings) as runtime:
        for number in range(n_questions):
            runtime.ask(documents[(number * 7) % 12], f"When does ship {number} sail?")
            held.append(me.memory_info().rss)
            files.append(len(me.open_files()))
    assert max(files[-12:]) <= max(files[:12])
    assert max(held[-12:]) < 1.05 * max(held[:12])
    assert 0 < ReadingStore.of(settings).index.total() <= 4_000_000
