"""Check that what wim-edge needs comes as wheels, on systems that are not here.

    pip install uv && python scripts/check_wheels.py [--extra documents] [--python 3.13]

Resolves the base install and each extra for every system and version of Python, as that system would (its markers
count, unlike with `pip download --platform`), with wheels alone; llama-cpp-python, which is compiled, is left out.
Nothing is installed, and of a wheel no more is fetched than what it says of itself. Prints a line for each, and ends
with 1 where a wheel is missing.
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
"""uv's names of the systems."""
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
    """Returns what the base install and each extra need, without what is compiled and what names other extras."""
    found = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    base = [one for one in found["dependencies"] if not one.startswith(COMPILED)]
    extras = found["optional-dependencies"]
    return {"base": base} | {name: needs for name, needs in extras.items() if name not in ("all", "dev")}


def resolve(uv: str, needs: list[str], platform: str, version: str) -> tuple[int, str]:
    """Returns how many wheels are needed, and why they are not to be had; nothing if they are."""
    command = [uv, "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:",
               "--python-platform", platform, "--python-version", version]  # fmt: skip
    done = subprocess.run(command, input="\n".join(needs), capture_output=True, encoding="utf-8", check=False)
    said = [line.strip(" ╰─▶│×") for line in done.stderr.splitlines()]
    return len(re.findall(r"^\S+==", done.stdout, re.M)), " ".join(filter(None, said)) if done.returncode else ""


if __name__ == "__main__":
    main()
