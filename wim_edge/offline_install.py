"""Install wim-edge from the folder of this script, without a network: python3 install.py [FOLDER]

The script creates a virtual environment in FOLDER (default: wim-edge in the home folder), installs the wheels there,
and copies the models to wim-edge's folder of models. It needs only Python 3.11 or newer.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

_MODELS = "from wim_edge.settings import Paths; print(Paths.from_environment().models)"


def install(bundle: Path, target: Path) -> Path:
    """Installs a bundle into ``target``; returns the path of the command. Raises CalledProcessError, OSError."""
    made = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    venv.create(target, with_pip=True, clear=False)
    programs = target / ("Scripts" if os.name == "nt" else "bin")
    python, ending = str(programs / "python"), ".exe" if os.name == "nt" else ""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--find-links", str(bundle / "wheels"), made["requirement"]], check=True)
    asked = subprocess.run([python, "-X", "utf8", "-c", _MODELS], check=True, capture_output=True, encoding="utf-8")
    for file in (one for one in (bundle / "models").rglob("*") if one.is_file()):
        _copy(file, Path(asked.stdout.strip(), file.relative_to(bundle / "models")))
    command = programs / f"wim-edge{ending}"
    for model in made.get("models", ()):  # verifies the file, and makes its requantized copy
        subprocess.run([str(command), "--offline", "models", "pull", model, "--alone"], check=True)
    return command


def _copy(file: Path, target: Path) -> None:
    """Copies a model file under a temporary name, then renames the copy: a running program keeps its open file."""
    if target.is_file() and target.stat().st_size == file.stat().st_size:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        shutil.copyfile(file, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def main() -> None:
    """Installs wim-edge into the folder named on the command line, and prints how to ask a question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="~/wim-edge", help="default: %(default)s")
    given = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036  # no pip has checked the version
        sys.exit("wim-edge needs Python 3.11 or newer")
    target = Path(given.folder).expanduser().absolute()
    command = install(Path(__file__).resolve().parent, target)
    sys.stdout.write(f'installed; now: {command} ask FILE "QUESTION"\n')


if __name__ == "__main__":
    main()
