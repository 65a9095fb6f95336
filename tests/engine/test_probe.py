"""What the machine offers."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from wim_edge.engine import available_memory, probe
from wim_edge.engine.model import physical_cores

pytestmark = pytest.mark.real


def test_the_facts_of_this_machine() -> None:
    found = probe.machine()
    assert found.llama_cpp_python == version("llama-cpp-python")
    assert found.physical_cores == physical_cores() > 0
    assert 0 < found.memory_available < 1 << 50
    assert abs(found.memory_available - available_memory.available()) < 1 << 30
    assert found.build.features
