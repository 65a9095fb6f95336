"""Attacks wim-edge with hostile files, hubs and machines, and prints how the attacks ended.

    python scripts/attack.py                    all parts
    python scripts/attack.py models --every 10  a tenth of the mutated model files

Each case runs the command line, or the reader of documents, in a process of its own. The case must work, or end in time
with a clear error and its exit code. CRASH and HANG are bugs, which are listed in full.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.attack.parts import PARTS
from tests.attack.run import Outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--every", type=int, default=1, help="only each n-th case")
    parser.add_argument("--first", type=int, default=0, help="and only from this one on")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once")
    given = parser.parse_args()
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    failed = False
    print(f"{'part':<24}{'cases':>7}{'works':>7}{'refused':>9}{'CRASH':>7}{'HANG':>6}{'slowest':>10}{'memory':>10}")
    for part in given.parts or PARTS:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            pool = stack.enter_context(ThreadPoolExecutor(given.jobs))
            cases = list(PARTS[part](folder, stack))[given.first :: given.every]
            failed |= tell(part, list(pool.map(lambda case: case(), cases)))
    sys.exit(failed)


def tell(part: str, found: list[Outcome]) -> bool:
    """Prints a part's row of the table, and its bugs. Returns True if there are bugs."""
    n = Counter("works" if one.how == "killed" else one.how for one in found)
    slowest, most = max(one.seconds for one in found), max(one.bytes for one in found)
    print(f"{part:<24}{len(found):>7}{n['works']:>7}{n['refused']:>9}{n['CRASH']:>7}{n['HANG']:>6}"
          f"{slowest:>8.1f} s{most / 1e6:>7.0f} MB", flush=True)  # fmt: skip
    for one in found:
        if one.how in ("CRASH", "HANG"):
            print(f"  {one.how} {one.what} ({one.seconds:.1f} s): {one.said}")
    return bool(n["CRASH"] or n["HANG"])


if __name__ == "__main__":
    main()
