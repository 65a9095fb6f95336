"""A wheel of wim-edge, built and installed outside of the checkout, is whole and answers."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from tests.script import ROOT

pytestmark = pytest.mark.real
SHIPPED = ("models.toml", "templates", "adapters")
"""What stands at the top of the repository, and in the package as `shipped`."""
FACTS = """
from importlib.metadata import entry_points
from pathlib import Path
import wim_edge
from wim_edge.catalog import Catalog
from wim_edge.settings import Paths
(hooks,) = {one for one in entry_points(group="pyinstaller40") if one.module.startswith("wim_edge")}
print(Path(wim_edge.__file__).parent)
print(len(list(Catalog.load())) > 10, all(Path(one).is_dir() for one in hooks.load()()))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the commands of an environment that has the wheel; what it needs is seen in this one."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=False)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    command = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*command, "--no-index", str(wheel)], check=True)
    (packages,) = (folder / "venv").rglob("site-packages")
    # Folders that a .pth file names are searched, their own .pth files, as of the checkout, are not read
    others = [place for place in sys.path if place.endswith(("site-packages", "dist-packages"))]
    (packages / "others.pth").write_text("\n".join(others), encoding="utf-8")
    return programs


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, encoding="utf-8", cwd=cwd, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_file_of_the_package_is_in_it(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "wim_edge", *SHIPPED], cwd=ROOT, capture_output=True, check=True)
    tracked = listed.stdout.decode("utf-8").splitlines()
    wanted = {path if path.startswith("wim_edge/") else f"wim_edge/shipped/{path}" for path in tracked}
    assert {"wim_edge/py.typed", "wim_edge/server/page/index.html", "wim_edge/shipped/models.toml"} <= wanted
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if PurePosixPath(name).parts[0] == "wim_edge"}
        assert {name: archive.getinfo(name).file_size for name in wanted & found} == {
            name: (ROOT / name.replace("wim_edge/shipped/", "")).stat().st_size for name in wanted & found
        }
    assert found == wanted


def test_it_answers_outside_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The lighthouse was built in 1904.", encoding="utf-8")
    assert run(installed / "wim-edge", "--version", cwd=tmp_path).startswith("wim-edge, version ")
    where, *facts = run(installed / "python", "-c", FACTS, cwd=tmp_path).splitlines()
    assert Path(where).is_relative_to(installed.parent)
    assert facts == ["True True"]
    asked = "--offline", "ask", "--no-save", "--model", "smollm2-135m", "a.txt", "When was it built?"
    assert "1904" in run(installed / "wim-edge", *asked, cwd=tmp_path)
