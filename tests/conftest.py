"""What all tests share: a thread for each model, no user's settings, the skips that are allowed, the models.

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
"""How the reasons of skips begin that do not fail where SKIPS=listed is set, as .ci/run does."""
hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine fails no test
hypothesis.settings.load_profile("untimed")
_SKIPS_ARE_LISTED = os.environ.get("SKIPS") == "listed"


_MEMORY_DISK = Path("/dev/shm")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--as-windows", action="store_true", help="Let each test meet what Windows refuses.")


def pytest_configure(config: pytest.Config) -> None:
    """Beside pytest-xdist's other workers a model has one thread, here and in what is started from here. What tests
    write is kept in memory, where that has room: thousands of small databases wait for a disk."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    if _MEMORY_DISK.is_dir() and shutil.disk_usage(_MEMORY_DISK).free > 8 * 1024**3:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY_DISK))
    gc.disable()  # what is imported and collected stays to the end: see below


def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on garbage is looked for again, among what the tests make."""
    gc.freeze()
    gc.enable()


FAST = "not real"
"""The expression of marks that asks for the fast layer alone."""
_REAL_AS_A_WHOLE = re.compile(r"^pytestmark = \[?pytest\.mark\.real\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves modules out, where the fast layer is asked for, that are real as a whole: importing them takes seconds."""
    if config.option.markexpr != FAST or collection_path.suffix != ".py":
        return None
    return bool(_REAL_AS_A_WHOLE.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the whole of the attacks out, unless it is asked for; the files that take long first, so that short ones
    fill what the last of them leave idle: those of the real layer, in the fast one those of the server."""
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
    """The report of a module or a test: failed where it was skipped for a reason that is not allowed."""
    if _SKIPS_ARE_LISTED and report.skipped:
        xfail = getattr(report, "wasxfail", None)  # none of them is listed
        reason = str(report.longrepr[2]).removeprefix("Skipped: ") if xfail is None else f"expected to fail: {xfail}"
        if not reason.startswith(ALLOWED_SKIPS):
            report.outcome, report.longrepr = "failed", f"skipped for a reason that tests/conftest.py lacks: {reason}"
    return report


@pytest.fixture(autouse=True)
def clean_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's settings, models or files; real models are tried once for all."""
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
    """Windows' ways from here to the end of the test, see tests/windows.py."""
    return Windows(monkeypatch)


@pytest.fixture(autouse=True)
def as_windows(request: pytest.FixtureRequest, clean_environment: None) -> None:
    """Has every test meet them, where that is asked for."""
    if request.config.option.as_windows:
        request.getfixturevalue("windows")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of all workers together: models are made, copied and tried by the first one that needs them."""
    mine = tmp_path_factory.getbasetemp()
    folder = (mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / "shared"
    (folder / "cache" / "usable").mkdir(parents=True, exist_ok=True)
    return folder


def made_once(shared: Path, path: Path, make: Callable[[Path], object]) -> Path:
    """The model at this path, which ``make`` writes to the path that it is given."""
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
    """SmolLM2-135M-Instruct: plain attention. The file that users get, in Q4_1."""
    from wim_edge.catalog import Catalog, locate
    from wim_edge.settings import Paths

    paths = Paths.from_environment({"WIM_EDGE_HOME": "/nonexistent"})
    path = locate(Catalog.load(paths).get("smollm2-135m"), paths)
    assert path is not None, "pip install 'wim-edge[dev]'"
    return path


@pytest.fixture(scope="session")
def smollm2(smollm2_as_it_is: Path, shared: Path) -> Path:
    """The same in F16, as `wim-edge tune` has it: twice as fast."""
    from wim_edge.engine.tune import requantize

    return made_once(shared, shared / "SmolLM2-135M-Instruct.F16.gguf",
                     lambda path: requantize(smollm2_as_it_is, path, "F16"))  # fmt: skip


@pytest.fixture(scope="session")
def gemma3(shared: Path) -> Path:
    """Gemma-3-270M: a sliding window of 512."""
    from wim_edge.catalog import Catalog, fetch
    from wim_edge.settings import Paths

    paths = Paths.from_environment({"WIM_EDGE_HOME": str(shared)})
    entry = Catalog.load(paths).get("gemma3-270m")
    return made_once(shared, shared / entry.sources[0].file, lambda path: fetch(entry, paths).replace(path))


@pytest.fixture(scope="session")
def model_file(smollm2: Path, gemma3: Path, shared: Path) -> Callable[[str], Path]:
    """Finds a model by name: a real one, or a tiny one of an architecture ("mamba", "gemma3-tiny"), written once."""

    def find(name: str) -> Path:
        if name in ("smollm2", "gemma3"):
            return smollm2 if name == "smollm2" else gemma3
        from tests.tiny import write_tiny

        return made_once(shared, shared / f"{name}.gguf", lambda path: write_tiny(path, name.removesuffix("-tiny")))

    return find


@pytest.fixture(scope="session")
def long_text() -> str:
    """A real text of some 7,600 tokens."""
    return (ROOT / "examples" / "gpl-3.0.txt").read_text(encoding="utf-8")
