"""The attacks, in parts: what is done to the program as a user runs it, thousands of times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.attack import documents, faults, hub, models
from tests.attack.run import Outcome, command
from tests.tiny import write_tiny

TEXT = "The ferry sails at noon. It is a small ship, and the harbour is cold in winter. " * 4
SECONDS = 20.0
MEMORY_BYTES = 3 * 1024**3
"""Of address space, for a document; an archive or a PDF may hold 512 MiB."""
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
