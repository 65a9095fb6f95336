"""Shared by all tests: one thread for each model, no settings of the user, the allowed skips, the models.

docs/testing.md says which layer checks what.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from filelock import FileLock

from tests.windows import Windows

ROOT = Path(__file__).resolve().parent.parent
ALLOWED_SKIPS = (
    "no Chromium on this machine",
    "no display",
    "no control group can be made here",
    "no network namespace can be made here",
    "root may read everything",
    "the file system refuses such a name",
    "this build has RPC",
    "llama.cpp's RPC was not built",
    "only the training needs it",
    "no Node on this machine",
    "no PySide6 on this machine",
)
"""Beginnings of the reasons for skips that are allowed with SKIPS=listed, as .ci/run sets it."""
hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine fails no test
hypothesis.settings.load_profile("untimed")
_SKIPS_ARE_LISTED = os.environ.get("SKIPS") == "listed"


_MEMORY_DISK = Path("/dev/shm")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--as-windows", action="store_true", help="Let each test meet what Windows refuses.")


def pytest_configure(config: pytest.Config) -> None:
    """Gives a model one thread if there are several workers, and keeps the tests' files in memory if it has room:
    thousands of small databases would wait for a disk."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    if _MEMORY_DISK.is_dir() and shutil.disk_usage(_MEMORY_DISK).free > 8 * 1024**3:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY_DISK))
    gc.disable()  # while tests are imported: what they need stays to the end


def pytest_collection_finish(session: pytest.Session) -> None:
    """Starts garbage collection, for the objects that tests make."""
    gc.freeze()
    gc.enable()


FAST = "not real"
"""The mark expression that selects the fast layer."""
_REAL_AS_A_WHOLE = re.compile(r"^pytestmark = \[?pytest\.mark\.real\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skips modules of the real layer if the fast one is selected: importing them takes seconds."""
    if config.option.markexpr != FAST or collection_path.suffix != ".py":
        return None
    return bool(_REAL_AS_A_WHOLE.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the attack layer unless it is asked for, and moves slow files to the front, so that short ones fill
    the idle workers at the end. Slow are files of the real layer; in the fast layer those of the server."""
    if "attack" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("attack")])
        items[:] = [item for item in items if not item.get_closest_marker("attack")]
    if config.option.as_windows:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("skipif")])
        items[:] = [item for item in items if not item.get_closest_marker("skipif")]
    fast = config.option.markexpr == FAST
    long = {item.path for item in items if ("server" in item.path.parts if fast else
                                            item.get_closest_marker("real"))}  # fmt: skip
    items.sort(key=lambda item: item.path not in long)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    return _checked((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    return _checked((yield))


def _checked(report: Any) -> Any:
    """Returns the report of a module or a test; a skip for a reason that is not allowed becomes a failure."""
    if _SKIPS_ARE_LISTED and report.skipped:
        xfail = getattr(report, "wasxfail", None)  # none of them is listed
        reason = str(report.longrepr[2]).removeprefix("Skipped: ") if xfail is None else f"expected to fail: {xfail}"
        if not reason.startswith(ALLOWED_SKIPS):
            report.outcome, report.longrepr = "failed", f"skipped for a reason that tests/conftest.py lacks: {reason}"
    return report


@pytest.fixture(autouse=True)
def clean_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hides the user's settings, models and files. Real models are tried once for all tests."""
    for name in list(os.environ):
        if name.startswith("WIM_EDGE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path / "home"))
    if {"smollm2_as_it_is", "gemma3"} & set(request.fixturenames):
        cache = tmp_path / "home" / "cache"
        cache.mkdir(parents=True)
        (cache / "usable").symlink_to(request.getfixturevalue("shared") / "cache" / "usable")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Windows:
    """Applies Windows' rules until the end of the test (tests/windows.py)."""
    return Windows(monkeypatch)


@pytest.fixture(autouse=True)
def as_windows(request: pytest.FixtureRequest, clean_environment: None) -> None:
    """Applies Windows' rules to every test if --as-windows is given."""
    if request.config.option.as_windows:
        request.getfixturevalue("windows")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for all workers: the first that needs a model makes, copies and tries it."""
    mine = tmp_path_factory.getbasetemp()
    folder = (mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / "shared"
    (folder / "cache" / "usable").mkdir(parents=True, exist_ok=True)
    return folder


def made_once(shared: Path, path: Path, make: Callable[[Path], object]) -> Path:
    """Returns the path of a model, which ``make`` writes if it does not exist."""
    from wim_edge.engine import load_check

    with FileLock(shared / f"{path.stem}.lock"):
        if not path.exists():
            unfinished = path.with_name(f"unfinished-{path.name}")
            make(unfinished)
            unfinished.replace(path)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("WIM_EDGE_HOME", str(shared))
                load_check.check(path)
    return path


@pytest.fixture(scope="session")
def smollm2_as_it_is() -> Path:
    """SmolLM2-135M-Instruct in Q4_1, the file that users get: plain attention."""
    from wim_edge.catalog import Catalog, locate

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WIM_EDGE_HOME", "/nonexistent")
        path = locate(Catalog.load().get("smollm2-135m"))
    assert path is not None, "pip install 'wim-edge[dev]'"
    return path


@pytest.fixture(scope="session")
def smollm2(smollm2_as_it_is: Path, shared: Path) -> Path:
    """The same model in F16: twice as fast."""
    from wim_edge.engine.bindings import requantize

    return made_once(shared, shared / "SmolLM2-135M-Instruct.F16.gguf",
                     lambda path: requantize(smollm2_as_it_is, path, "F16"))  # fmt: skip


@pytest.fixture(scope="session")
def gemma3(shared: Path) -> Path:
    """Gemma-3-270M: a sliding window of 512."""
    from wim_edge.catalog import Catalog, fetch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WIM_EDGE_HOME", str(shared))
        entry = Catalog.load().get("gemma3-270m")
        return made_once(shared, shared / entry.sources[0].file, lambda path: fetch(entry).replace(path))


@pytest.fixture(scope="session")
def model_file(smollm2: Path, gemma3: Path, shared: Path) -> Callable[[str], Path]:
    """Returns a function from a name to a model: a real one, or a tiny one of an architecture ("gemma3-tiny")."""

    def find(name: str) -> Path:
        if name in ("smollm2", "gemma3"):
            return smollm2 if name == "smollm2" else gemma3
        from tests.tiny import write_tiny

        return made_once(shared, shared / f"{name}.gguf", lambda path: write_tiny(path, name.removesuffix("-tiny")))

    return find


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A tiny model of the test's own, with random weights."""
    from tests.tiny import write_tiny

    return write_tiny(tmp_path / "tiny.gguf", "llama")


@pytest.fixture(scope="session")
def long_text() -> str:
    """A real text of some 7,600 tokens."""
    return (ROOT / "examples" / "gpl-3.0.txt").read_text(encoding="utf-8")


def written(path: Path, content: str | bytes) -> Path:
    """Returns the path of a file that has this content, in a folder that may have to be made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture
def anyio_backend() -> str:
    """What runs the tests that are coroutines, which are marked `anyio`."""
    return "asyncio"


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A file of the text that the slow scripted engine reads."""
    from tests.server.slow import TEXT

    (tmp_path / "story.txt").write_text(TEXT)
    return tmp_path / "story.txt"
