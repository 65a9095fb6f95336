"""Bad model files are clear errors in Python, before llama.cpp opens them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.attack.models import File
from tests.conftest import written
from tests.tiny import N_EMBD, N_LAYER, smallest_gguf, write_tiny, write_tiny_embedder
from wim_edge.engine import memory_estimate
from wim_edge.engine.gguf import is_embedding_model, read_header
from wim_edge.errors import ModelFileError


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("gguf") / "tiny.gguf", "llama")


def test_a_good_header(tiny: Path) -> None:
    header = read_header(tiny)
    assert header.architecture == "llama"
    assert header.number("block_count") == N_LAYER
    assert header.n_vocab == 354
    assert header.nbytes == tiny.stat().st_size
    assert header.tensors[0].shape[0] == N_EMBD
    assert header.chat_template is None


def test_embedding_models_are_recognized(tiny: Path, tmp_path: Path) -> None:
    assert is_embedding_model(write_tiny_embedder(tmp_path / "bert.gguf"))
    assert not is_embedding_model(tiny)
    broken = written(tmp_path / "broken.gguf", b"GGUF")
    assert not is_embedding_model(broken)


def test_per_layer_lists(tmp_path: Path) -> None:
    header = read_header(write_tiny(tmp_path / "tiny.gguf", "lfm2"))
    assert header.per_layer("attention.head_count_kv") == [0, 4, 0, 4]
    # Two of four layers have a cache: 2 layers x 4 heads x (16 + 16) x 2 bytes x 1,024 cells
    cache = memory_estimate.kv_bytes(header, 1024) - memory_estimate.kv_bytes(header, 0)
    assert cache == 2 * 4 * 32 * 2 * 1024


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.9999])
def test_truncated_anywhere(tiny: Path, tmp_path: Path, share: float) -> None:
    data = tiny.read_bytes()
    cut = written(tmp_path / "cut.gguf", data[: int(len(data) * share)])
    with pytest.raises(ModelFileError) as caught:
        read_header(cut)
    assert caught.value.hint


@settings(max_examples=100)
@given(at=st.integers(4, 3000), value=st.integers(0, 255))
def test_a_damaged_header_is_read_or_refused(tiny: Path, at: int, value: int) -> None:
    data = bytearray(tiny.read_bytes())
    data[at] = value
    damaged = tiny.with_name("damaged.gguf")
    damaged.write_bytes(data)
    with contextlib.suppress(ModelFileError):
        assert read_header(damaged).tensors


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04" * 100, b"GGUF" + b"\xff" * 100, b"\0" * 1000])
def test_foreign_files(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path / "foreign.gguf", content)
    with pytest.raises(ModelFileError, match=r"not a GGUF file|GGUF version"):
        read_header(path)


def test_missing_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(ModelFileError, match="not a file"):
        read_header(tmp_path)


KINDS = {int: 4, float: 6, bytes: 8, tuple: 9}


def refusal(path: Path, change: Callable[[File], object] = lambda made: None) -> str:
    """Returns the error for the smallest file after a change; empty for none."""
    made = File.of(smallest_gguf())
    change(made)
    path.write_bytes(made.whole())
    try:
        memory_estimate.estimate(read_header(path), 1024)
    except ModelFileError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"llama.block_count": 0}, "0 layers"),
        ({"llama.block_count": 513}, "513 layers"),
        ({"tokenizer.ggml.tokens": (8, [b"a", b"a"])}, "a token twice"),
        ({"llama.rope.scaling.type": b"magic"}, "unknown rope scaling"),
        ({"llama.expert_count": 2, "llama.expert_used_count": 3}, "3 of 2 experts"),
        ({"general.type": b"adapter"}, "holds a adapter"),
        ({"llama.expert_count": 2}, "0 of 2 experts"),
        ({"llama.attention.layer_norm_rms_epsilon": -1.0}, "epsilon is -1"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "epsilon is nan"),
        ({"llama.attention.key_length": 8, "llama.rope.dimension_count": 16}, "rotates 16 dimensions of heads of 8"),
        ({"llama.attention.sliding_window": b"abc"}, "not a number"),
        ({"general.alignment": b"x"}, "damaged"),
        ({"general.alignment": 1}, "damaged"),
        ({"tokenizer.ggml.model": b"bert"}, "embedding model"),
    ],
)
def test_headers_that_abort_llama_cpp_are_refused(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    def change(made: File) -> None:
        for key, value in values.items():
            made.set(key, value, KINDS[type(value)])

    assert message in refusal(tmp_path / "bad.gguf", change)


def test_what_every_file_has(tmp_path: Path) -> None:
    path = tmp_path / "file.gguf"
    assert refusal(path) == ""
    assert "names no architecture" in refusal(path, lambda made: made.metadata.pop(0))
    assert "no vocabulary" in refusal(path, lambda made: made.metadata.pop())
    assert "no weights" in refusal(path, lambda made: made.tensors.clear())
    assert "cut short" in refusal(path, lambda made: made.tensors[0].dims.append(1 << 40))


def test_parts_of_a_split_model(tiny: Path, tmp_path: Path) -> None:
    data = tiny.read_bytes()
    first = written(tmp_path / "m-00001-of-00002.gguf", data)
    with pytest.raises(ModelFileError, match=r"00002-of-00002\.gguf: a part of the model is missing"):
        read_header(first)
    second = written(tmp_path / "m-00002-of-00002.gguf", data)
    assert read_header(first).nbytes == 2 * len(data)
    with pytest.raises(ModelFileError, match="part 2"):
        read_header(second)
