"""Checks that the dependencies of wim-edge exist as wheels for other systems.

    pip install uv && python scripts/check_wheels.py [--extra documents] [--python 3.13]

Resolves the base install and each extra for every system and version of Python, with wheels alone. That system's
markers count (`pip download --platform` ignores them). llama-cpp-python is left out, because it is compiled. Nothing is
installed, and only the metadata of a wheel is fetched. Prints a line for each case; the exit code is 1 if a wheel is
missing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILED = "llama-cpp-python"
SYSTEMS = {
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS arm64": "aarch64-apple-darwin",
    "Windows amd64": "x86_64-pc-windows-msvc",
}
"""The systems, each with uv's name for it."""
PYTHONS = ("3.11", "3.13")


def main() -> None:
    needs = requirements(ROOT / "pyproject.toml")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", action="append", choices=list(needs), help="default: all, and the base install")
    parser.add_argument("--python", action="append", help=f"default: {' and '.join(PYTHONS)}")
    options = parser.parse_args()
    uv = shutil.which("uv") or sys.exit("this needs uv: pip install uv")
    missing = 0
    for version in options.python or PYTHONS:
        for system, platform in SYSTEMS.items():
            for extra in options.extra or needs:
                wheels, why = resolve(uv, [*needs["base"], *needs[extra]], platform, version)
                print(f"{'ok     ' if not why else 'MISSING'} {system}, Python {version}, {extra}: "
                      f"{why or f'{wheels} wheels'}", flush=True)  # fmt: skip
                missing += bool(why)
    sys.exit(missing > 0)


def requirements(project: Path) -> dict[str, list[str]]:
    """Returns the needs of the base install and of each extra, without llama-cpp-python and the extras all and dev."""
    found = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    base = [one for one in found["dependencies"] if not one.startswith(COMPILED)]
    extras = found["optional-dependencies"]
    return {"base": base} | {name: needs for name, needs in extras.items() if name not in ("all", "dev")}


def resolve(uv: str, needs: list[str], platform: str, version: str) -> tuple[int, str]:
    """Returns the number of wheels that are needed, and the error if one is missing, else an empty text."""
    command = [uv, "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:",
               "--python-platform", platform, "--python-version", version]  # fmt: skip
    done = subprocess.run(command, input="\n".join(needs), capture_output=True, encoding="utf-8", check=False)
    said = [line.strip(" ╰─▶│×") for line in done.stderr.splitlines()]
    return len(re.findall(r"^\S+==", done.stdout, re.M)), " ".join(filter(None, said)) if done.returncode else ""


if __name__ == "__main__":
    main()
