"""Bad model files are clear errors in Python, before llama.cpp opens them."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.tiny import N_EMBD, N_LAYER, write_tiny, write_tiny_embedder
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
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
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
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(data[: int(len(data) * share)])
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
    path = tmp_path / "foreign.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"not a GGUF file|GGUF version"):
        read_header(path)


def test_missing_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(ModelFileError, match="not a file"):
        read_header(tmp_path)


def write_header(path: Path, metadata: list[bytes], tensors: list[bytes] = ()) -> Path:  # type: ignore[assignment]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    path.write_bytes(head + b"".join(metadata) + b"".join(tensors) + b"\0" * 4096)
    return path


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def string(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", 8) + text(value)


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def real(key: str, value: float) -> bytes:
    return text(key) + struct.pack("<If", 6, value)


def tokens(*values: str) -> bytes:
    return text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


TENSOR = text("t") + struct.pack("<IQIQ", 1, 32, 0, 0)
GOOD = [string("general.architecture", "llama"), number("llama.block_count", 2), tokens("a", "b")]


def test_the_smallest_accepted_header(tmp_path: Path) -> None:
    assert read_header(write_header(tmp_path / "good.gguf", GOOD, [TENSOR])).n_vocab == 2


@pytest.mark.parametrize(
    ("metadata", "tensors", "message"),
    [
        (GOOD[1:], [TENSOR], "names no architecture"),
        ([GOOD[0], number("llama.block_count", 0), GOOD[2]], [TENSOR], "0 layers"),
        ([GOOD[0], number("llama.block_count", 513), GOOD[2]], [TENSOR], "513 layers"),
        ([*GOOD[:2], tokens("a", "a")], [TENSOR], "a token twice"),
        (GOOD[:2], [TENSOR], "no vocabulary"),
        (GOOD, [], "no weights"),
        ([*GOOD, string("llama.rope.scaling.type", "magic")], [TENSOR], "unknown rope scaling"),
        ([*GOOD, number("llama.expert_count", 2), number("llama.expert_used_count", 3)], [TENSOR], "3 of 2 experts"),
        ([*GOOD, string("general.type", "adapter")], [TENSOR], "holds a adapter"),
        ([*GOOD, number("llama.expert_count", 2)], [TENSOR], "0 of 2 experts"),
        ([*GOOD, real("llama.attention.layer_norm_rms_epsilon", -1.0)], [TENSOR], "epsilon is -1"),
        ([*GOOD, real("llama.attention.layer_norm_rms_epsilon", float("nan"))], [TENSOR], "epsilon is nan"),
        (
            [*GOOD, number("llama.attention.key_length", 8), number("llama.rope.dimension_count", 16)],
            [TENSOR],
            "rotates 16 dimensions of heads of 8",
        ),
        ([*GOOD, string("llama.attention.sliding_window", "abc")], [TENSOR], "not a number"),
        ([*GOOD, string("general.alignment", "x")], [TENSOR], "damaged"),
        ([*GOOD, number("general.alignment", 1)], [TENSOR], "damaged"),
        ([*GOOD, string("tokenizer.ggml.model", "bert")], [TENSOR], "embedding model"),
        (GOOD, [text("t") + struct.pack("<IQIQ", 1, 1 << 40, 0, 0)], "cut short"),
    ],
)
def test_headers_that_abort_llama_cpp_are_refused(
    tmp_path: Path, metadata: list[bytes], tensors: list[bytes], message: str
) -> None:
    with pytest.raises(ModelFileError, match=message):
        memory_estimate.estimate(read_header(write_header(tmp_path / "bad.gguf", metadata, tensors)), 1024)


def test_parts_of_a_split_model(tiny: Path, tmp_path: Path) -> None:
    data = tiny.read_bytes()
    first = tmp_path / "m-00001-of-00002.gguf"
    first.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"00002-of-00002\.gguf: a part of the model is missing"):
        read_header(first)
    second = tmp_path / "m-00002-of-00002.gguf"
    second.write_bytes(data)
    assert read_header(first).nbytes == 2 * len(data)
    with pytest.raises(ModelFileError, match="part 2"):
        read_header(second)
