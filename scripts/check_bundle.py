"""Measures an offline bundle: its bytes, and the seconds to install it and to get a first answer.

    python scripts/check_bundle.py [--model smollm2-135m] [--json]

The bundle is made here. It is installed and asked in a network namespace without interfaces (`unshare`; Linux alone).
The document has three lines. The seconds of the answer are from the command's start to its end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from options import command, parser_of

ALONE = ("unshare", "--map-root-user", "--net")


def main() -> None:
    parser = parser_of(__doc__, "model", "json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle, installed, document = folder / "bundle", folder / "wim-edge", folder / "a.txt"
        document.write_text("The ferry sails at noon.\nThe lighthouse was built in 1904.\nNobody lives there.\n")
        made, _ = seconds(sys.executable, "-m", "wim_edge", "bundle", "--model", given.model, str(bundle))
        nbytes = sum(file.stat().st_size for file in bundle.rglob("*") if file.is_file())
        os.environ["WIM_EDGE_HOME"] = str(folder / "home")
        install, _ = seconds(*ALONE, sys.executable, str(bundle / "install.py"), str(installed))
        ask = [str(installed / "bin" / "wim-edge"), "--offline", "ask", "--quiet", str(document)]
        answer, text = seconds(*ALONE, *ask, "When was the lighthouse built?")
    told = {
        "command": command(), "nbytes": nbytes,
        "seconds_make": made, "seconds_install": install, "seconds_answer": answer, "answer": text.strip(),
    }  # fmt: skip
    if given.json:
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        print(f"{nbytes / 1e6:.0f} MB; installed in {install:.0f} s, answered in {answer:.1f} s: {text.strip()}")


def seconds(*command: str) -> tuple[float, str]:
    """Returns the seconds that a command took, and its output. Raises CalledProcessError."""
    begun = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return round(time.monotonic() - begun, 2), done.stdout


if __name__ == "__main__":
    main()
