"""`wim-edge library`: the documents that `ask --library` recalls from."""

from __future__ import annotations

import json
import os.path
import sys
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.options import debug_option, model_option, together
from wim_edge.cli.terminal import one_line
from wim_edge.errors import DocumentError, InvalidRequestError, LibraryError
from wim_edge.settings import RETRIEVERS, Settings

if TYPE_CHECKING:
    from wim_edge.library.ingest import IngestResult
    from wim_edge.library.library import Library

DEFAULT = "default"
_SETTINGS = Settings()


def library_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from wim_edge.library.folders import known_libraries

    return [CompletionItem(name) for name in known_libraries() if name.startswith(incomplete)]


library_options = together(
    click.option("--library", metavar="NAME", shell_complete=library_names,
                 help="Recall what may answer from this library (`wim-edge library add`), and read that."),
    click.option("--retriever", type=click.Choice(RETRIEVERS),
                 help=f"How its passages are found (docs/recall.md). Default: {_SETTINGS.retriever}."),
    click.option("--recall-passages", type=int, metavar="N",
                 help=f"Most passages of the library to read. Default: {_SETTINGS.recall_passages}."),
)  # fmt: skip
"""Adds the options for a library to recall from; see `check_library`."""


def check_library(documents: tuple[str, ...], library: str | None, options: dict[str, Any]) -> None:
    """Raises InvalidRequestError if there is nothing to ask, or if options are about a library that is not named."""
    if not documents and library is None:
        raise InvalidRequestError(
            "no document is given", "Name at least one file, or - for standard input, or --library NAME."
        )
    if library is None and (options["retriever"] is not None or options["recall_passages"] is not None):
        raise InvalidRequestError("--retriever and --recall-passages are about a library", "Add --library NAME.")


@click.group()
def library() -> None:
    """Keep documents, to recall from with `wim-edge ask --library NAME`."""


@library.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path())
@click.option("--to", "name", default=DEFAULT, show_default=True, metavar="NAME", shell_complete=library_names,
              help="The library; it is made where there is none.")
@click.option("--prune", is_flag=True, help="Remove documents whose files in these folders are gone.")
@click.option("--index/--no-index", "index", default=None,
              help="Make the index that --retriever hybrid and recall need now. Default: if a model is named.")
@model_option
@click.option("--json", "as_json", is_flag=True, help="One object a file on standard output.")
@debug_option
def add(paths: tuple[str, ...], name: str, prune: bool, index: bool | None, model: str | None, as_json: bool) -> None:
    """Add documents to a library: files, folders, or JSON lines of {title, text}.

    Files that have not changed since are passed over; those that have are read again; one that was moved keeps its
    documents. A file .wimignore leaves out what its patterns name, as a .gitignore does. A document is known by its
    title (what its file says it is, else its first heading, else the file's name), and found by its file's name too.

    \b
      wim-edge library add ~/papers notes.md
      wim-edge library add --to wiki passages.jsonl.gz
      wim-edge ask --library wiki "Who was the first man on the moon?"
    """
    from wim_edge.library.folders import known_libraries, remove_library
    from wim_edge.library.ingest import add as add_files
    from wim_edge.library.library import Library

    _check_paths(paths)
    new = name not in known_libraries()
    library = Library(name, create=True)
    found: list[IngestResult] = []
    total = 0
    try:
        for one in add_files(library, paths, prune=prune, limits=Settings.from_environment()):
            if one.state != "recognised":
                found.append(one)
            _tell(one, as_json)
    finally:
        total = len(library)
        if new and not total:
            remove_library(name)
    if not as_json:
        _sum_up(name, total, found, "--prune removes what gone files held")
    if total and _wants_index(index, model):
        _index(library, model)
    named = {os.path.abspath(path) for path in paths}
    failed = [one for one in found if one.state == "failed"]
    if any(one.path in named for one in failed) or not any(one.state not in ("failed", "skipped") for one in found):
        raise DocumentError(
            f"{counted(len(failed), 'file')} could not be added" if failed else "there is nothing to add",
            "See above for each." if failed else "Name files, or folders that hold documents.",
        )


@library.command("sync")
@click.argument("name", default=DEFAULT, shell_complete=library_names)
@click.option("--watch", is_flag=True, help="Keep running, and sync again whenever a file changes, until Ctrl-C.")
@click.option("--remove-missing", is_flag=True, help="Also remove documents of a folder that is empty or missing.")
@click.option("--index/--no-index", "index", default=None,
              help="Bring the index for the model up to date, too. Default: if a model is named.")
@model_option
@click.option("--json", "as_json", is_flag=True, help="One object a file on standard output.")
@debug_option
def sync_library(
    name: str, watch: bool, remove_missing: bool, index: bool | None, model: str | None, as_json: bool
) -> None:
    """Bring a library in step with the files and folders that were added to it.

    New files are added, changed ones are read again, missing or left out ones (.wimignore) are removed; a file that was
    moved keeps its documents. If a whole folder is empty or missing, its documents stay: its disk may not be mounted.
    `wim-edge library restore` brings removed documents back.

    \b
      wim-edge library sync papers
      wim-edge library sync papers --watch
    """
    from wim_edge.library.ingest import sync
    from wim_edge.library.library import Library

    library = Library(name)

    def once(written: Container[str] = ()) -> None:
        found: list[IngestResult] = []
        limits = Settings.from_environment()
        for one in sync(library, remove_missing=remove_missing, limits=limits, written=written):
            found.append(one)
            _tell(one, as_json)
        if not as_json:
            hint = "kept, because a disk may not be mounted; --remove-missing removes what gone files held"
            _sum_up(name, len(library), found, hint)
        if len(library) and _wants_index(index, model):
            _index(library, model)
        roots = set(map(str, library.roots()))
        failed = {one.path for one in found if one.state == "failed"}
        if not watch and not all(map(os.path.exists, failed & roots)):
            raise DocumentError(
                "what was added to the library is not there",
                "See above; it may be on another disk. --remove-missing removes its documents.",
            )

    changes = _watched(library) if watch else iter(())
    once()
    for changed in changes:
        once({path for _, path in changed})


@library.command()
@click.argument("name", shell_complete=library_names)
@click.argument("documents", nargs=-1, metavar="[DOCUMENT|FILE...]")
@click.option("--list", "only_list", is_flag=True, help="List what can be restored, and restore nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@debug_option
def restore(name: str, documents: tuple[str, ...], only_list: bool, as_json: bool) -> None:
    """Restore documents that a sync removed within the last 30 days: those of these names or files, or all.

    Restored documents stay in the library although their files are missing, until `wim-edge library remove`.
    """
    from wim_edge.library.library import Library

    library = Library(name)
    paths = {os.path.abspath(one) for one in documents}
    found = [one for one in library.removed_documents() if not documents or one.name in documents or one.path in paths]
    if documents and not found:
        raise LibraryError(f"library {name} can restore none of these", f"wim-edge library restore {name} --list")
    if not only_list:
        for path in dict.fromkeys(one.path for one in found):
            library.restore(path)
    done = "" if only_list else "restored "
    lines = (f"{done}{one_line(one.name)}: {one_line(one.path)}, {one.chars:,} characters, removed "
             f"{datetime.fromtimestamp(one.removed):%Y-%m-%d %H:%M}" for one in found)  # fmt: skip
    _print([asdict(one) for one in found], lines, "nothing to restore", as_json)


def _watched(library: Library) -> Iterator[set[tuple[Any, str]]]:
    """Yields the changes (kind, path) in the files and folders of a library, until Ctrl-C."""
    try:
        from watchfiles import watch
    except ImportError:
        raise InvalidRequestError("--watch needs the package watchfiles", "pip install watchfiles") from None
    roots = [root for root in library.roots() if root.exists()]
    if not roots:
        raise LibraryError(f"library {library.name} has no folder that is there", "wim-edge library add DIR")
    return iter(watch(*roots, raise_interrupt=False))


def _tell(one: IngestResult, as_json: bool) -> None:
    """Prints the result for one file."""
    if as_json:
        click.echo(json.dumps(asdict(one), ensure_ascii=False))
    elif one.state not in ("unchanged", "skipped"):
        many = f" ({counted(one.documents, 'document')})" if one.documents > 1 else ""
        note = f": {one_line(one.note)}" if one.note else ""
        click.echo(f"{one.state} {one_line(one.path)}{many}{note}", err=True)


def _check_paths(paths: tuple[str, ...]) -> None:
    """Raises InvalidRequestError for an empty path, which would be taken for the current folder."""
    if not all(paths):
        raise InvalidRequestError("an empty path is no file", "Name files or folders; . is the current one.")


def _sum_up(name: str, total: int, found: list[IngestResult], hint: str) -> None:
    states = ("added", "changed", "moved", "unchanged", "failed", "removed", "gone")
    counts = {state: sum(one.state == state for one in found) for state in states}
    told = ", ".join(f"{n:,} {state}" for state, n in counts.items() if n) or "none"
    click.echo(f"library {name}: {counted(total, 'document')}; files: {told}")
    if counts["gone"]:
        click.echo(hint, err=True)
    skipped = [os.path.splitext(one.path)[1] or one.path for one in found if one.state == "skipped"]
    if skipped:
        kinds = ", ".join(map(one_line, sorted(set(skipped))[:5]))
        click.echo(f"{counted(len(skipped), 'file')} of other kinds skipped ({kinds}); name them to add them", err=True)


def _wants_index(index: bool | None, model: str | None) -> bool:
    return index if index is not None else model is not None or Settings.from_environment().retriever != "bm25"


def _index(library: Library, model: str | None) -> None:
    from wim_edge.errors import ModelNotFoundError
    from wim_edge.recall.index import load_index, load_or_build_index
    from wim_edge.runtime import Runtime

    try:
        with Runtime(Settings.from_environment().with_changes(model=model)) as runtime:
            opened = runtime.open()
            if load_index(library, opened) is not None:
                return
            label = f"indexing {counted(len(library), 'document')} for {opened.info.name}"
            bar = click.progressbar(length=len(library), label=label, file=sys.stderr)
            with bar:
                load_or_build_index(library, opened, lambda done, _of: bar.update(done - bar.pos))
    except ModelNotFoundError as error:
        if model is not None:
            raise
        click.echo(f"not indexed yet ({error}); the first question does it", err=True)


_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@library.command("list")
@_as_json
@debug_option
def list_libraries(as_json: bool) -> None:
    """List the libraries there are."""
    from wim_edge.library.folders import known_libraries
    from wim_edge.library.library import Library

    rows: list[dict[str, Any]] = []
    for name in known_libraries():
        try:
            rows.append(_facts(Library(name)))
        except LibraryError as error:
            click.echo(f"warning: {one_line(str(error))} {one_line(error.hint)}", err=True)
    lines = (f"{row['name']}: {counted(row['documents'], 'document')} of {counted(row['files'], 'file')}, "
             f"{megabytes(row['bytes'])}" for row in rows)  # fmt: skip
    _print(rows, lines, "no libraries; `wim-edge library add FILE...` makes one", as_json)


@library.command()
@click.argument("name", shell_complete=library_names)
@_as_json
@debug_option
def show(name: str, as_json: bool) -> None:
    """Show the files of a library."""
    from wim_edge.library.library import Library

    rows = [asdict(one) for one in Library(name).details()]
    lines = (f"{one_line(row['path'])}: {one_line(row['name']) or counted(row['documents'], 'document')}, "
             f"{row['chars']:,} characters" for row in rows)  # fmt: skip
    _print(rows, lines, "no files", as_json)


def _print(rows: list[dict[str, Any]], lines: Iterable[str], none: str, as_json: bool) -> None:
    """Prints the rows as JSON, or their lines, or ``none`` if there are no rows."""
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(lines) or none)


@library.command("remove")
@click.argument("name", shell_complete=library_names)
@click.argument("paths", nargs=-1, metavar="[FILE|DIR...]", type=click.Path())
@click.option("--yes", is_flag=True, help="Do not ask before a whole library goes.")
@debug_option
def remove_documents(name: str, paths: tuple[str, ...], yes: bool) -> None:
    """Remove a library, or what it holds of some files. The files themselves stay, and so do readings of them
    (`wim-edge readings list`)."""
    from pathlib import Path

    from wim_edge.library.folders import folder_of, remove_library
    from wim_edge.library.left_out import LEFT_OUT
    from wim_edge.library.library import Library

    _check_paths(paths)
    if not paths:
        if not folder_of(name).is_dir():
            raise LibraryError(f"there is no library {name}", "wim-edge library list")
        if not yes and sys.stdin is None:
            raise InvalidRequestError("nobody can be asked: standard input is closed", "Give --yes.")
        if not yes:
            click.confirm(f"Remove the library {name}?", abort=True)
        click.echo(f"{megabytes(remove_library(name))} freed")
        return
    library = Library(name)
    roots = [Path(os.path.abspath(path)) for path in paths]
    sources = library.sources()
    held = {root: [one for one in sources if Path(one).is_relative_to(root)] for root in roots}
    added = set(library.roots())
    for path, root in zip(paths, roots, strict=True):
        if not held[root] and root not in added:
            raise LibraryError(f"library {name} holds nothing of {path}", f"wim-edge library show {name}")
    gone = {one for some in held.values() for one in some}
    for one in {*gone, *map(str, roots)}:
        library.remove(one)
    click.echo(f"{counted(len(gone), 'file')} removed; {counted(len(library), 'document')} stay")
    for folder in {one for one in library.roots() if any(one in root.parents for root in roots)}:
        click.echo(f"the next sync takes it from {folder} again, unless {folder / LEFT_OUT} names it")


def counted(n: int, what: str) -> str:
    """Returns a number with its noun: "1 file", "2 files"."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def _facts(library: Library) -> dict[str, Any]:
    files = library.sources()
    return {"name": library.name, "documents": len(library), "files": len(files),
            "bytes": library.nbytes, "path": str(library.folder)}  # fmt: skip
