"""`wim-edge library`: manages the documents that `ask --library` recalls passages from."""

from __future__ import annotations

import json
import os.path
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.options import debug_option, json_option, model_option, together
from wim_edge.cli.terminal import Progress, confirm, counted, one_line, print_lines
from wim_edge.errors import DocumentError, InvalidRequestError, LibraryError, required
from wim_edge.settings import RETRIEVERS, Settings

if TYPE_CHECKING:
    from wim_edge.library.ingest import IngestResult
    from wim_edge.library.library import Library

_DEFAULT = "default"
_STATES = ("added", "changed", "moved", "unchanged", "failed", "removed", "gone")


def library_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from wim_edge.library.library import known_libraries

    return [name for name in known_libraries() if name.startswith(incomplete)]


library_options = together(
    click.option("--library", metavar="NAME", shell_complete=library_names,
                 help="Recall passages for the question from this library (`wim-edge library add`), and read those."),
    click.option("--retriever", type=click.Choice(RETRIEVERS),
                 help=f"How its passages are found (docs/recall.md). Default: {Settings.retriever}."),
    click.option("--recall-passages", type=int, metavar="N",
                 help=f"Most passages of the library to read. Default: {Settings.recall_passages}."),
)  # fmt: skip

_ingest_options = together(
    click.option("--index/--no-index", "index", default=None,
                 help="Build or update the index for --retriever hybrid and recall now. Default: if a model is named."),
    model_option,
    click.option("--json", "as_json", is_flag=True, help="One object a file on standard output."),
    debug_option,
)  # fmt: skip


def check_library(documents: tuple[str, ...], library: str | None, options: dict[str, Any]) -> None:
    """Raises InvalidRequestError without any document or library, or for library options without a library."""
    if not documents and library is None:
        hint = "Name at least one file, or - for standard input, or --library NAME."
        raise InvalidRequestError("no document is given", hint)
    if library is None and (options["retriever"] is not None or options["recall_passages"] is not None):
        raise InvalidRequestError("--retriever and --recall-passages need a library", "Add --library NAME.")


@click.group()
def library() -> None:
    """Keep documents for `wim-edge ask --library NAME`, which recalls passages from them."""


@library.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path())
@click.option("--to", "name", default=_DEFAULT, show_default=True, metavar="NAME", shell_complete=library_names,
              help="The library; a new name creates one.")
@click.option("--prune", is_flag=True, help="Remove documents whose files in these folders are gone.")
@_ingest_options
def add(paths: tuple[str, ...], name: str, prune: bool, index: bool | None, model: str | None, as_json: bool) -> None:
    """Add documents to a library: files, folders, or JSON lines of {title, text}.

    Unchanged files are skipped, changed files are read again, and a moved file keeps its documents. A file .wimignore
    excludes the files that match its patterns, as .gitignore does. A document's title is the one that its file states,
    or else its first heading, or else the file's name. Questions also find a document by its file's name.

    \b
      wim-edge library add ~/papers notes.md
      wim-edge library add --to wiki passages.jsonl.gz
      wim-edge ask --library wiki "Who was the first man on the moon?"
    """
    from wim_edge.library.ingest import add as add_files
    from wim_edge.library.library import Library, known_libraries, remove_library

    _check_paths(paths)
    new = name not in known_libraries()
    library = Library(name, create=True)
    try:
        found = _ingested(add_files(library, paths, prune=prune, limits=Settings.from_environment()), as_json)
    finally:
        total = len(library)
        if new and not total:
            remove_library(name)
    _finish(library, total, found, index, model, as_json)
    named = {os.path.abspath(path) for path in paths}
    failed = [one for one in found if one.state == "failed"]
    if any(one.path in named for one in failed) or not any(one.state not in ("failed", "skipped") for one in found):
        raise DocumentError(
            f"{counted(len(failed), 'file')} could not be added" if failed else "there is nothing to add",
            "See above for each." if failed else "Name files, or folders that hold documents.",
        )


@library.command("sync")
@click.argument("name", default=_DEFAULT, shell_complete=library_names)
@click.option("--watch", is_flag=True, help="Sync again whenever a file changes, until Ctrl-C.")
@click.option("--remove-missing", is_flag=True, help="Also remove the documents of an empty or missing folder.")
@_ingest_options
def sync_library(
    name: str, watch: bool, remove_missing: bool, index: bool | None, model: str | None, as_json: bool
) -> None:
    """Update a library from the files and folders that were added to it.

    New files are added, and changed files are read again. The documents of missing and excluded files (.wimignore) are
    removed; a moved file keeps its documents. If a whole folder is empty or missing, its documents stay, because its
    disk may not be mounted. `wim-edge library restore` brings removed documents back.

    \b
      wim-edge library sync papers
      wim-edge library sync papers --watch
    """
    from wim_edge.library.ingest import sync
    from wim_edge.library.library import Library

    library = Library(name)

    def once(written: Container[str] = ()) -> None:
        results = sync(library, remove_missing=remove_missing, limits=Settings.from_environment(), written=written)
        found = _ingested(results, as_json)
        _finish(library, len(library), found, index, model, as_json, "--remove-missing")
        roots = set(map(str, library.roots()))
        failed = {one.path for one in found if one.state == "failed"}
        if not watch and not all(map(os.path.exists, failed & roots)):
            hint = "See above; it may be on another disk. --remove-missing removes its documents."
            raise DocumentError("a file or folder of the library is missing", hint)

    changes = _watched(library) if watch else iter(())
    once()
    for changed in changes:
        once({path for _, path in changed})


@library.command()
@click.argument("name", shell_complete=library_names)
@click.argument("documents", nargs=-1, metavar="[DOCUMENT|FILE...]")
@click.option("--list", "only_list", is_flag=True, help="List what can be restored, and restore nothing.")
@json_option
@debug_option
def restore(name: str, documents: tuple[str, ...], only_list: bool, as_json: bool) -> None:
    """Restore documents that sync or add --prune removed in the last 30 days; without DOCUMENT or FILE, all of them.

    All documents of a file are restored together. They stay, though the file is missing, until `library remove`.
    """
    from wim_edge.library.library import Library

    library = Library(name)
    removed, paths = library.removed_documents(), {os.path.abspath(one) for one in documents}
    paths |= {one.path for one in removed if one.name in documents or not documents}
    found = [one for one in removed if one.path in paths]
    if documents and not found:
        raise LibraryError(f"library {name} can restore none of these", f"wim-edge library restore {name} --list")
    if not only_list:
        for path in dict.fromkeys(one.path for one in found):
            library.restore(path)
    done = "" if only_list else "restored "
    lines = (f"{done}{one_line(one.name)}: {one_line(one.path)}, {one.chars:,} characters, removed "
             f"{datetime.fromtimestamp(one.removed):%Y-%m-%d %H:%M}" for one in found)  # fmt: skip
    print_lines([asdict(one) for one in found], lines, as_json, "nothing to restore")


def _watched(library: Library) -> Iterator[set[tuple[Any, str]]]:
    """Waits for changes in the files and folders of a library, until Ctrl-C. Yields them in sets of (kind, path)."""
    with required("--watch needs the package watchfiles", "pip install watchfiles"):
        from watchfiles import watch
    roots = [root for root in library.roots() if root.exists()]
    if not roots:
        raise LibraryError(f"none of the folders of library {library.name} exists", "wim-edge library add DIR")
    return iter(watch(*roots, raise_interrupt=False))


def _ingested(results: Iterable[IngestResult], as_json: bool) -> list[IngestResult]:
    """Prints the results of an add or sync. Returns those of whole files, without those of recognised pages."""
    found = []
    for one in results:
        if one.state != "recognised":
            found.append(one)
        if as_json:
            click.echo(json.dumps(asdict(one), ensure_ascii=False))
        elif one.state not in ("unchanged", "skipped"):
            many = f" ({counted(one.documents, 'document')})" if one.documents > 1 else ""
            note = f": {one_line(one.note)}" if one.note else ""
            click.echo(f"{one.state} {one_line(one.path)}{many}{note}", err=True)
    return found


def _check_paths(paths: tuple[str, ...]) -> None:
    """Raises InvalidRequestError for an empty path, which Path takes for the current folder."""
    if not all(paths):
        raise InvalidRequestError("an empty path is no file", "Name files or folders; . is the current one.")


def _finish(
    library: Library, total: int, found: list[IngestResult], index: bool | None, model: str | None, as_json: bool,
    removing: str = "--prune",
) -> None:  # fmt: skip
    """Prints a library's totals. ``index``: True to build the index; None to build it if a model is named or the
    retriever needs an index. ``removing``: the name of the option that removes the documents of missing files."""
    if not as_json:
        counts = {state: sum(one.state == state for one in found) for state in _STATES}
        files = ", ".join(f"{n:,} {state}" for state, n in counts.items() if n) or "none"
        click.echo(f"library {library.name}: {counted(total, 'document')}; files: {files}")
        if counts["gone"]:
            click.echo(f"gone files keep their documents; {removing} removes those", err=True)
        if skipped := [os.path.splitext(one.path)[1] or one.path for one in found if one.state == "skipped"]:
            kinds = ", ".join(map(one_line, sorted(set(skipped))[:5]))
            many = counted(len(skipped), "file")
            click.echo(f"{many} of other kinds skipped ({kinds}); name them to add them", err=True)
    if index is None:
        index = model is not None or Settings.from_environment().retriever != "bm25"
    if total and index:
        _index(library, model)


def _index(library: Library, model: str | None) -> None:
    from wim_edge.errors import ModelNotFoundError
    from wim_edge.recall.index import load_or_build_index
    from wim_edge.runtime import Runtime

    try:
        with Runtime(Settings.from_environment().with_changes(model=model)) as runtime:
            opened = runtime.open()
            with Progress(f"indexing {counted(len(library), 'document')} for {opened.info.name}: ") as progress:
                load_or_build_index(library, opened, progress)
    except ModelNotFoundError as error:
        if model is not None:
            raise
        click.echo(f"not indexed yet ({error}); the first question does it", err=True)


@library.command("list")
@json_option
@debug_option
def list_libraries(as_json: bool) -> None:
    """List the libraries."""
    from wim_edge.library.library import Library, known_libraries, size_of

    rows: list[dict[str, Any]] = []
    for name in known_libraries():
        try:
            library = Library(name)
            rows.append({"name": name, "documents": len(library), "files": len(library.sources()),
                         "bytes": size_of(library.folder), "path": str(library.folder)})  # fmt: skip
        except LibraryError as error:
            click.echo(f"warning: {one_line(str(error))} {one_line(error.hint)}", err=True)
    lines = (f"{row['name']}: {counted(row['documents'], 'document')} of {counted(row['files'], 'file')}, "
             f"{megabytes(row['bytes'])}" for row in rows)  # fmt: skip
    print_lines(rows, lines, as_json, "no libraries; `wim-edge library add FILE...` creates one")


@library.command()
@click.argument("name", shell_complete=library_names)
@json_option
@debug_option
def show(name: str, as_json: bool) -> None:
    """Show the files of a library."""
    from wim_edge.library.library import Library

    rows = Library(name).details()
    lines = (f"{one_line(row['path'])}: {one_line(row['name']) or counted(row['documents'], 'document')}, "
             f"{row['chars']:,} characters" for row in rows)  # fmt: skip
    print_lines(rows, lines, as_json, "no files")


@library.command("remove")
@click.argument("name", shell_complete=library_names)
@click.argument("paths", nargs=-1, metavar="[FILE|DIR...]", type=click.Path())
@click.option("--yes", is_flag=True, help="Do not ask before removing a whole library.")
@debug_option
def remove_documents(name: str, paths: tuple[str, ...], yes: bool) -> None:
    """Remove a library, or only the documents of the given FILEs and DIRs. The files on the disk stay, and so do saved
    readings (`wim-edge readings list`)."""
    from wim_edge.library.ingest import LEFT_OUT
    from wim_edge.library.library import Library, folder_of, remove_library

    _check_paths(paths)
    if not paths:
        if not folder_of(name).is_dir():
            raise LibraryError(f"there is no library {name}", "wim-edge library list")
        confirm(f"Remove the library {name}?", yes)
        click.echo(f"{megabytes(remove_library(name))} freed")
        return
    library = Library(name)
    roots = [Path(os.path.abspath(path)) for path in paths]
    added, sources = set(library.roots()), library.sources()
    gone: set[str] = set()
    for path, root in zip(paths, roots, strict=True):
        held = {one for one in sources if Path(one).is_relative_to(root)}
        if not held and root not in added:
            raise LibraryError(f"library {name} holds no document of {path}", f"wim-edge library show {name}")
        gone |= held
    for one in {*gone, *map(str, roots)}:
        library.remove(one)
    click.echo(f"{counted(len(gone), 'file')} removed; {counted(len(library), 'document')} stay")
    for folder in {one for one in library.roots() if any(one in root.parents for root in roots)}:
        click.echo(f"the next sync adds it from {folder} again, unless {folder / LEFT_OUT} excludes it")
