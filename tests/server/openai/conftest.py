"""The `openai` package's own client, and a model of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_models import FACTS
from tests.server.conftest import Client
from tests.tiny import smallest_gguf


def client_of(address: str) -> Any:
    import openai  # here, as it takes its time

    return openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, http_client=Client())


@pytest.fixture
def api(client: Client) -> Iterator[Any]:
    with client_of(str(client.base_url)) as api:
        yield api


@pytest.fixture
def own_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a model in the user's models.toml, the only one on this disk."""
    monkeypatch.setattr("wim_edge.catalog.packages.installed", lambda part: None)
    own = tmp_path / "home" / "config"
    own.mkdir(parents=True, exist_ok=True)
    (own / "mine.gguf").write_bytes(smallest_gguf())
    (own / "models.toml").write_text(f'[models.mine]\n{FACTS}[models.mine.source]\nkind = "path"\npath = "mine.gguf"\n')
    return "mine"
