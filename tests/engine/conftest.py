"""A case of each kind of memory, and two real models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.engine.cases import REAL, TINY, Case

if TYPE_CHECKING:
    from wim_edge.engine.model import Model


@pytest.fixture(scope="module", params=TINY)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, long_text: str) -> Iterator[Case]:
    from tests.tiny import write_tiny

    kind, swa_full, size = (TINY | REAL)[request.param]
    if request.param in TINY:
        architecture = request.param.split()[1]
        path = write_tiny(tmp_path_factory.mktemp("tiny") / f"{architecture}.gguf", architecture)
    else:
        path = request.getfixturevalue(request.param.split()[0])
    case = Case(path, long_text, kind, swa_full, size)
    yield case
    case.model.close()


@pytest.fixture(scope="module", params=["smollm2", "gemma3"])
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    from wim_edge.engine.model import Model

    with Model(request.getfixturevalue(request.param)) as model:
        yield model
