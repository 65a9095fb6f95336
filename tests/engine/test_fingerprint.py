"""A fingerprint covers header, blocks of the weights, size and build, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tiny import write_tiny
from wim_edge.engine import fingerprint
from wim_edge.engine.gguf import read_header

pytestmark = pytest.mark.real  # the build of llama.cpp is part of it


def name_of(path: Path) -> str:
    return fingerprint.fingerprint(read_header(path))


def test_a_copy_has_the_same_fingerprint_and_a_changed_file_another(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "tiny.gguf", "llama")
    first = name_of(path)
    assert len(first) == 32
    assert name_of(Path(shutil.copy(path, tmp_path / "copy.gguf"))) == first
    data = path.read_bytes()
    header = read_header(path)
    weights = sum(tensor.nbytes or 0 for tensor in header.tensors)
    for at in (len(data) - weights, len(data) - 1):  # the first and the last block of the weights
        changed = bytearray(data)
        changed[at] ^= 1
        path.write_bytes(changed)
        assert name_of(path) != first
    path.write_bytes(data + b"\0" * 32)
    assert name_of(path) != first


def test_weights_and_tokenizer_change_it(tmp_path: Path) -> None:
    names = {name_of(write_tiny(tmp_path / f"{number}.gguf", "llama", **made))  # type: ignore[arg-type]
             for number, made in enumerate(({}, {"seed": 8}, {"space_prefix": True}))}  # fmt: skip
    assert len(names) == 3


def test_the_build_changes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny(tmp_path / "tiny.gguf", "llama")
    first = name_of(path)
    monkeypatch.setattr(fingerprint, "BUILD", "0.0.0")
    assert name_of(path) != first
