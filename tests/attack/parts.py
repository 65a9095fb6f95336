"""The attacks, in parts, as lists of cases: each case runs the program as a user does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from tests.attack import documents, faults, hub, models
from tests.attack.fork_server import PRELOADED, ForkServer
from tests.attack.run import Outcome, command
from tests.tiny import write_tiny

TEXT = "The ferry sails at noon. It is a small ship, and the harbour is cold in winter. " * 4
SECONDS = 20.0
MEMORY_BYTES = 3 * 1024**3
"""The address space for a document; an archive or a PDF may hold 512 MiB."""
Case = Callable[[], Outcome]


def model_files(folder: Path, stack: ExitStack, architecture: str) -> Iterator[Case]:
    """Yields mutations of a tiny model, each asked a question."""
    text = folder / "text.txt"
    text.write_text(TEXT)
    good = write_tiny(folder / f"{architecture}.gguf", architecture).read_bytes()
    files = ((what, f"{architecture}.gguf", data) for what, data in models.mutations(good))

    def asking(path: Path) -> list[str]:
        return ["ask", str(text), "When?", "--model", str(path), "--answer-tokens", "4", "--no-save"]

    return of_files(files, asking, folder, partial(command, _server(stack), home=folder / "home", seconds=SECONDS))


def document_files(folder: Path, stack: ExitStack) -> Iterator[Case]:
    """Yields hostile documents, each read with limited memory."""
    server = _server(stack, "wim_edge.documents")
    run = partial(command, server, home=folder, seconds=SECONDS, most_bytes=MEMORY_BYTES, module="tests.attack.read")
    return of_files(documents.inputs(), lambda path: [str(path)], folder, run)


def of_files(
    files: Iterable[tuple[str, str, bytes]], arguments: Callable[[Path], list[str]], folder: Path,
    run: Callable[..., Outcome],
) -> Iterator[Case]:  # fmt: skip
    """Yields a case for each file (description, name, content); the file exists while its case runs."""

    def case(number: int, what: str, name: str, data: bytes) -> Outcome:
        path = folder / f"{number}-{name}"
        path.write_bytes(data)
        try:
            return run(what, arguments(path))
        finally:
            path.unlink()

    for number, file in enumerate(files):
        yield partial(case, number, *file)


def hubs(folder: Path, stack: ExitStack) -> Iterator[Case]:
    """Yields hubs that misbehave, each pulled from."""
    return hub.cases(_server(stack), folder, write_tiny(folder / "hub.gguf", "llama").read_bytes())


def faulty(folder: Path, stack: ExitStack, cases: Callable[[faults.Stage], Iterator[Case]]) -> Iterator[Case]:
    """Yields commands and the server, with a fault in the middle of their work."""
    return cases(stack.enter_context(faults.staged(folder)))


def _server(stack: ExitStack, *modules: str) -> ForkServer:
    return stack.enter_context(closing(ForkServer(modules or PRELOADED)))


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
