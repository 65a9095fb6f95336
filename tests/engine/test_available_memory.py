"""Memory limits of control groups and the address space."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge.engine import available_memory
from wim_edge.errors import MemoryBudgetError

MIB = 1 << 20


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(available_memory, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(available_memory, "_OWN", tmp_path / "own")
    return tmp_path / "groups"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_the_lowest_limit_counts_without_reclaimable_pages(groups: Path, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/user.slice/wim.scope\n")
    none = {"memory__current": "0\n", "memory__stat": ""}
    write(groups, memory__max="max\n", **none)
    write(groups / "user.slice", memory__max=f"{300 * MIB}\n", memory__current=f"{100 * MIB}\n",
          memory__stat=f"anon 1\nactive_file {10 * MIB}\ninactive_file {20 * MIB}\n")  # fmt: skip
    write(groups / "user.slice/wim.scope", memory__max=f"{400 * MIB}\n", **none)
    assert available_memory.total() == 300 * MIB
    assert available_memory.available() == (300 - 100 + 30) * MIB


def test_version_1_in_a_container_with_the_hosts_path(groups: Path, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("4:memory:/docker/1234\n1:cpu:/\n0::/\n")
    write(groups / "memory", memory__limit_in_bytes=f"{200 * MIB}\n", memory__usage_in_bytes=f"{50 * MIB}\n",
          memory__stat=f"cache 9\ntotal_inactive_file {5 * MIB}\n")  # fmt: skip
    assert (available_memory.total(), available_memory.available()) == (200 * MIB, 155 * MIB)


@pytest.mark.parametrize("text", ["", "no cgroups", "0::/\n", "4:memory:/\n"])
def test_without_limits_the_machines_memory_counts(groups: Path, tmp_path: Path, text: str) -> None:
    import psutil

    (tmp_path / "own").write_text(text)
    write(groups, memory__max="max\n", memory__current="5\n", memory__stat="")
    assert available_memory.total() == psutil.virtual_memory().total
    assert available_memory.available() > 0


def test_the_hint_names_the_limit_or_other_programs(groups: Path, tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/\n")
    write(groups, memory__max="max\n", memory__current="5\n", memory__stat="")
    assert available_memory.memory_hint() == "close programs"
    write(groups, memory__max=f"{100 * MIB}\n")
    assert available_memory.memory_hint() == "raise this process's memory limit"


def test_a_tiny_address_space_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (150 * MIB, resource.RLIM_INFINITY))
    with pytest.raises(MemoryBudgetError, match="150 MiB"):
        available_memory.require_minimum()
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (resource.RLIM_INFINITY,) * 2)
    available_memory.require_minimum()
