"""A sample of the mutated model files in the load check; scripts/attack.py asks each a question."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.real
pytest.importorskip("llama_cpp")

from tests.attack.fork_server import ForkServer  # noqa: E402
from tests.attack.models import absurd, changed, truncated  # noqa: E402
from tests.tiny import write_tiny  # noqa: E402
from wim_edge.engine import load_check  # noqa: E402
from wim_edge.errors import ModelFileError  # noqa: E402


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ForkServer) -> None:
    """Forks the children that try a file, and gives them little time: one of the files takes for ever."""

    def run(command: Sequence[str], *, timeout: float, env: Mapping[str, str], **_: Any) -> CompletedProcess[bytes]:
        with TemporaryFile(dir=tmp_path) as out, TemporaryFile(dir=tmp_path) as err:
            code, _ = server.run("tests.attack.tried", command[-1:], env, timeout, out.fileno(), err.fileno())
            if code is None:
                raise TimeoutExpired(command, timeout)
            out.seek(0)
            err.seek(0)
            return CompletedProcess(command, code, out.read(), err.read())

    monkeypatch.setattr(load_check, "subprocess", SimpleNamespace(run=run, TimeoutExpired=TimeoutExpired))


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba", "lfm2"])
def test_a_damaged_file_is_refused_or_works(tmp_path: Path, architecture: str, forked: None) -> None:
    good = write_tiny(tmp_path / "good.gguf", architecture).read_bytes()
    load_check.check(tmp_path / "good.gguf")
    draw = random.Random(f"{architecture} 2")
    refused, others = [*truncated(good), *absurd(good, random.Random(3))], [*changed(good)]
    sample = [*draw.sample(refused, 5), *draw.sample(others, 7)]

    def tried(case: tuple[str, bytes]) -> str:
        path = tmp_path / f"{hash(case)}.gguf"
        path.write_bytes(case[1])
        try:
            load_check.check(path)
        except ModelFileError as error:
            return str(error)
        finally:
            path.unlink()
        return "works"

    with ThreadPoolExecutor(2) as pool:
        told = set(pool.map(tried, sample))
    assert "works" in told
    assert len(told) > 2
    assert not any("Traceback" in one for one in told)
