"""Every catalog test has a home of its own, no Hugging Face cache, and no network."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import written
from tests.tiny import smallest_gguf
from wim_edge.catalog import HubSource, ModelEntry, PackagePart
from wim_edge.settings import Paths

Make = Callable[..., ModelEntry]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Puts a download that writes these bytes, or raises this error, in place of the real one."""
    module = pytest.importorskip("huggingface_hub")

    def use(data: bytes = b"", error: Exception | None = None) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def download(repo: str, file: str, *, revision: str, local_dir: Path, tqdm_class: type | None = None) -> str:
            calls.append({"repo": repo, "file": file, "revision": revision})
            if error is not None:
                raise error
            assert tqdm_class
            with tqdm_class(total=len(data), initial=0, unit="B", desc=file) as bar:
                bar.update(len(data))
            path = written(Path(local_dir) / file, data)
            (Path(local_dir) / ".cache/huggingface").mkdir(parents=True, exist_ok=True)
            (Path(local_dir) / ".cache/huggingface/x.metadata").touch()
            return str(path)

        monkeypatch.setattr("wim_edge.catalog.hub._check_answers", lambda *_: None)
        monkeypatch.setattr(module, "hf_hub_download", download)
        return calls

    return use


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """Puts a pip that has wheels of these files, or fails with this text, in place of the real one."""

    def use(files: dict[str, tuple[str, bytes]] | None = None, stderr: str = "") -> list[list[str]]:
        calls: list[list[str]] = []

        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            calls.append(command)
            assert command[1:4] == ["-m", "pip", "download"]
            assert {"--no-deps", "--only-binary"} <= set(command)
            if stderr:
                return subprocess.CompletedProcess(command, 1, "", stderr)
            member, data = (files or {})[command[-1]]
            wheel = Path(command[command.index("--dest") + 1]) / "tiny-1.0-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("tiny/__init__.py", "")
                archive.writestr(member, data)
            return subprocess.CompletedProcess(command, 0, "", "")

        monkeypatch.setattr(subprocess, "run", run)
        return calls

    return use


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[PackagePart, bytes], Path]:
    """Installs a package that holds this file, and that nobody may import."""
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))

    def install(what: PackagePart, data: bytes) -> Path:
        file = folder / what.module / what.resource
        file.parent.mkdir(parents=True)
        (folder / what.module / "__init__.py").write_text("raise AssertionError('imported')")
        file.write_bytes(data)
        importlib.invalidate_caches()
        return file

    return install


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Leaves so many bytes of the disk free."""
    return lambda free: monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    return tmp_path / "home"


@pytest.fixture
def paths(home: Path) -> Paths:
    return Paths.from_environment()


@pytest.fixture
def gguf() -> bytes:
    return smallest_gguf()


@pytest.fixture
def own_models(paths: Paths) -> Callable[[str], Path]:
    """Writes the user's own models.toml."""

    def write(text: str) -> Path:
        return written(paths.config / "models.toml", text)

    return write


@pytest.fixture
def make_entry(gguf: bytes) -> Callable[..., ModelEntry]:
    """An entry of which only what matters is given; ``source`` is its only one."""

    def make(**changes: object) -> ModelEntry:
        if source := changes.pop("source", None):
            changes["sources"] = (source,)
        facts: dict[str, object] = {
            "name": "tiny",
            "description": "A tiny model",
            "licence": "MIT",
            "parameters": "1",
            "context": 128,
            "rank": 1,
            "bytes": len(gguf),
            "sources": (HubSource("owner/tiny-GGUF", "tiny.gguf"),),
        }
        return ModelEntry(**(facts | changes))  # type: ignore[arg-type]

    return make
