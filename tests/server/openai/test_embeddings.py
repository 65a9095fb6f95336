"""Embeddings, through the `openai` package's own client."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.embedder import FakeEmbedder
from tests.server.conftest import Client, serving
from tests.server.openai.conftest import client_of
from tests.server.slow import SMALL, Slow, until
from tests.tiny import write_tiny_embedder
from wim_edge import Runtime
from wim_edge.engine.embedding import EmbeddingModel
from wim_edge.server.app import create_app
from wim_edge.server.openai import routes
from wim_edge.settings import Settings


class SlowEmbedder(FakeEmbedder):
    """Takes its time for each text, until it is told not to."""

    seconds = 0.0

    def embed(self, inputs: Any, check: Callable[[], None]) -> Iterator[Any]:
        def slowly() -> None:
            time.sleep(self.seconds)
            check()

        return super().embed(inputs, slowly)


@pytest.fixture
def embedder() -> SlowEmbedder:
    return SlowEmbedder(lambda text: 0.6 if "mill" in text else 0.0)


@pytest.fixture
def client(make: Callable[..., Any], model: Slow, embedder: SlowEmbedder) -> Iterator[Client]:
    settings = SMALL.with_changes(embedding_model="models/e5-small.gguf")
    app = make(settings=settings, open_runtime=lambda given: Runtime(given, model=model, embedder=embedder))
    with serving(app) as address, Client(base_url=address, timeout=30) as client:
        yield client


def test_each_text_gets_its_vector(api: Any, embedder: SlowEmbedder) -> None:
    found = api.embeddings.create(model="default", input=["The mill.", "A ship."], encoding_format="float")
    assert [(one.index, one.object) for one in found.data] == [(0, "embedding"), (1, "embedding")]
    assert np.allclose([one.embedding for one in found.data], [[0.6, 0.8], [0, 1]])
    assert (found.model, found.usage.prompt_tokens, found.usage.total_tokens) == ("e5-small", 16, 16)
    assert embedder.embedded == ["The mill.", "A ship."]  # no words before them
    packed = api.embeddings.create(model="e5-small", input="The mill.")  # the client asks for base64, and unpacks it
    assert np.allclose(packed.data[0].embedding, [0.6, 0.8])
    assert api.models.retrieve("e5-small").embeds
    assert not api.models.retrieve("default").embeds


def test_tokens_are_texts_too(api: Any, embedder: SlowEmbedder) -> None:
    tokens = [*map(ord, "The mill.")]
    assert len(api.embeddings.create(model="", input=tokens).data) == 1
    assert len(api.embeddings.create(model="", input=[tokens, tokens]).data) == 2
    assert len(api.embeddings.create(model="", input=tokens, dimensions=2).data[0].embedding) == 2
    assert embedder.embedded == ["The mill."] * 4


@pytest.mark.parametrize(("body", "status", "said"), [
    ({"input": ""}, 400, "empty"), ({"input": []}, 400, "nothing to embed"), ({"input": ["a", ""]}, 400, "empty"),
    ({"input": "a" * 32_769}, 400, "input 0 has a length of 32,769"), ({"input": [1] * 8193}, 400, "8,193"),
    ({"input": ["a"] * 2049}, 400, "2,049 inputs"), ({"input": ["a" * 32_768] * 33}, 400, "too long together"),
    ({"input": "a", "dimensions": 3}, 400, "vectors of 2 dimensions"),
    ({"input": "a", "encoding_format": "x"}, 422, ""),
    ({"input": "a", "model": "text-embedding-3-small"}, 404, "no embedding model of that name"),
    ({"input": [{}] * 200_000}, 422, ""), ({"input": [[1.5] * 9] * 9}, 422, ""), ({}, 422, "input"),
])  # fmt: skip
def test_what_cannot_be_embedded_is_an_error(client: Client, body: dict[str, Any], status: int, said: str) -> None:
    response = client.post("/v1/embeddings", json=body)
    assert response.status_code == status, response.text
    assert said in response.json()["error"]["message"]


def test_without_an_embedding_model_the_error_says_how_to_get_one(make: Callable[..., Any]) -> None:
    with serving(make()) as address, Client(base_url=address, timeout=30) as client:
        response = client.post("/v1/embeddings", json={"input": "a"})
    assert response.status_code == 400
    assert "--embedding-model" in response.json()["error"]["hint"]


def test_a_model_that_only_reads_embeds_nothing(
    client: Client, own_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    response = client.post("/v1/embeddings", json={"input": "a", "model": own_model})
    assert response.status_code == 400
    assert "is no embedding model" in response.json()["error"]["message"]
    monkeypatch.setattr(routes, "is_embedding_model", lambda path: True)
    named = routes._settings_for(Settings(), own_model)
    assert (named[0], named[1].embedding_model) == (own_model, own_model)


def test_who_goes_away_cancels(client: Client, embedder: SlowEmbedder) -> None:
    embedder.seconds = 0.05
    with pytest.raises(httpx.ReadTimeout):
        client.post("/v1/embeddings", json={"input": ["a"] * 2000}, timeout=0.5)
    until(lambda: not client.ok(client.get("/api/status"))["waiting"])
    assert len(embedder.embedded) < 200  # of two thousand


def test_a_full_line_is_told(client: Client, embedder: SlowEmbedder) -> None:
    embedder.seconds = 0.5
    with ThreadPoolExecutor(8) as threads:
        answers = [*threads.map(lambda _: client.post("/v1/embeddings", json={"input": "a"}), range(8))]
    full = [answer for answer in answers if answer.status_code == 429]
    assert len(full) >= 3  # one runs, three or four wait
    assert {answer.status_code for answer in answers} == {200, 429}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in full)


@pytest.mark.real
def test_a_real_model_embeds(smollm2: Path, tmp_path: Path) -> None:
    file = write_tiny_embedder(tmp_path / "tiny.gguf")
    settings = Settings(model=str(smollm2), embedding_model=str(file), n_threads=1)
    texts = ["The mill stands on the Dove.", "A ship.", "One two three. " * 40]
    with serving(create_app(settings)) as address, client_of(address) as api, EmbeddingModel(file, settings) as model:
        expected = list(model.embed(map(model.tokenize, texts)))
        for form in ("float", "base64"):
            found = api.embeddings.create(model="tiny", input=texts, encoding_format=form)
            data = [np.frombuffer(base64.b64decode(one.embedding), "<f4") if isinstance(one.embedding, str)
                    else one.embedding for one in found.data]  # fmt: skip
            assert np.allclose(data, expected, atol=1e-5)
            assert np.allclose(np.linalg.norm(data, axis=1), 1, atol=1e-5)
        assert found.usage.total_tokens == sum(len(model.tokenize(text)) for text in texts)
        by_tokens = api.embeddings.create(model="tiny", input=model.tokenize(texts[0])).data[0].embedding
        assert np.allclose(by_tokens, expected[0], atol=1e-5)
        import openai

        with pytest.raises(openai.BadRequestError, match="has the tokens 0 to"):
            api.embeddings.create(model="tiny", input=[10**6])
        assert api.chat.completions.create(model="", messages=[{"role": "user", "content": "a"}], max_tokens=2)
