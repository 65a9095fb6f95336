"""Install wim-edge from the folder in which this script lies, without a network: python3 install.py [FOLDER]

It makes a virtual environment in FOLDER (default: wim-edge in the home folder), installs the wheels there and puts the
models where wim-edge keeps them. Python 3.11 or newer is all that it needs.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

_MODELS = "from wim_edge.settings import Paths; print(Paths.from_environment().models)"


def install(bundle: Path, target: Path) -> Path:
    """Installs from a bundle into a folder; returns the path of the command. Raises CalledProcessError, OSError."""
    wanted = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))["requirement"]
    venv.create(target, with_pip=True, clear=False)
    programs = target / ("Scripts" if os.name == "nt" else "bin")
    python, ending = str(programs / "python"), ".exe" if os.name == "nt" else ""
    wheels = str(bundle / "wheels")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--find-links", wheels, wanted], check=True)
    kept = subprocess.run([python, "-c", _MODELS], check=True, capture_output=True, text=True).stdout.strip()
    if (bundle / "models").is_dir():
        shutil.copytree(bundle / "models", kept, dirs_exist_ok=True)
    return programs / f"wim-edge{ending}"


def main() -> None:
    """Installs into the folder that is named, and says how to ask."""
    if sys.version_info < (3, 11):  # noqa: UP036  # no pip has checked that before
        sys.exit("wim-edge needs Python 3.11 or newer")
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "~/wim-edge").expanduser().absolute()
    command = install(Path(__file__).resolve().parent, target)
    sys.stdout.write(f'installed; now: {command} ask FILE "QUESTION"\n')


if __name__ == "__main__":
    main()
