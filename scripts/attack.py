"""Attacks wim-edge as a user's machine may, and prints how the attacks ended.

    python scripts/attack.py                    all parts
    python scripts/attack.py models --every 10  a tenth of the mutated model files

Each case is a run in a process of its own, of the command line or, for documents, of what reads them. It must work, or
end with a clear error and its exit code, within the time; CRASH and HANG are faults of ours, listed in full.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.attack import documents, faults, hub, models
from tests.attack.run import Outcome, command
from tests.tiny import write_tiny

TEXT = "The ferry sails at noon. It is a small ship, and the harbour is cold in winter. " * 4
SECONDS = 20.0
MEMORY_BYTES = 3 * 1024**3
"""Of address space, for a document; an archive or a PDF may hold 512 MiB."""


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
    """Print a line of the table, and what failed; whether anything did."""
    n = Counter("works" if one.how == "killed" else one.how for one in found)
    slowest, most = max(one.seconds for one in found), max(one.bytes for one in found)
    print(f"{part:<24}{len(found):>7}{n['works']:>7}{n['refused']:>9}{n['CRASH']:>7}{n['HANG']:>6}"
          f"{slowest:>8.1f} s{most / 1e6:>7.0f} MB", flush=True)  # fmt: skip
    for one in found:
        if one.how in ("CRASH", "HANG"):
            print(f"  {one.how} {one.what} ({one.seconds:.1f} s): {one.said}")
    return bool(n["CRASH"] or n["HANG"])


Case = Callable[[], Outcome]


def model_files(folder: Path, _stack: ExitStack, architecture: str) -> Iterator[Case]:
    """Mutations of a tiny model, each asked a question."""
    text = folder / "text.txt"
    text.write_text(TEXT)
    good = write_tiny(folder / f"{architecture}.gguf", architecture).read_bytes()
    for number, (what, data) in enumerate(models.mutations(good)):

        def case(number: int = number, what: str = what, data: bytes = data) -> Outcome:
            path = folder / f"{architecture}-{number}.gguf"
            path.write_bytes(data)
            try:
                return command(
                    what, ["ask", str(text), "When?", "--model", str(path), "--answer-tokens", "4", "--no-save"],
                    folder / "home", seconds=SECONDS,
                )  # fmt: skip
            finally:
                path.unlink()

        yield case


def document_files(folder: Path, _stack: ExitStack) -> Iterator[Case]:
    """Hostile documents, each read in a process that may have so much memory."""
    for number, (what, name, data) in enumerate(documents.inputs()):

        def case(number: int = number, what: str = what, name: str = name, data: bytes = data) -> Outcome:
            path = folder / f"{number}-{name}"
            path.write_bytes(data)
            try:
                return command(what, [str(path)], folder, seconds=SECONDS, most_bytes=MEMORY_BYTES,
                               module="tests.attack.read")  # fmt: skip
            finally:
                path.unlink()

        yield case


def hubs(folder: Path, _stack: ExitStack) -> Iterator[Case]:
    """Hubs that misbehave, each pulled from."""
    return hub.cases(folder, write_tiny(folder / "hub.gguf", "llama").read_bytes())


def faulty(folder: Path, stack: ExitStack, cases: Callable[[faults.Stage], Iterator[Case]]) -> Iterator[Case]:
    """Commands and the server in whose work something goes wrong."""
    return cases(stack.enter_context(faults.staged(folder)))


PARTS: dict[str, Callable[[Path, ExitStack], Iterator[Case]]] = {
    "documents": document_files,
    "hub": hubs,
    "kill at moments": partial(faulty, cases=faults.at_moments),
    "kill at changes": partial(faulty, cases=partial(faults.at_changes, how="kill")),
    "disk full": partial(faulty, cases=partial(faults.at_changes, how="full")),
    "disk read-only": partial(faulty, cases=partial(faults.at_changes, how="readonly")),
    "locks and clocks": partial(faulty, cases=faults.throughout),
}
for _name in ("llama", "gemma3", "mamba", "lfm2"):
    PARTS[f"models {_name}"] = partial(model_files, architecture=_name)

if __name__ == "__main__":
    main()
