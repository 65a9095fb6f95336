"""The file of a catalog entry: finding, fetching and removing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wim_edge.catalog import hub, packages
from wim_edge.catalog.entry import HubSource, ModelEntry, ModelSource, PackageSource, PathSource
from wim_edge.catalog.model_files import Progress, check_sha256
from wim_edge.errors import DiskError, DownloadError, EngineError, ModelError, ModelNotFoundError
from wim_edge.settings import Paths, check_online


def locate(entry: ModelEntry) -> Path | None:
    """Returns the path of the entry's requantized copy, else of its file, else None. Without network and imports."""
    copy = requantized_copy(entry)
    if copy and copy.is_file():
        return copy
    found = locate_source(entry)
    return found and found[1]


def locate_source(entry: ModelEntry) -> tuple[ModelSource, Path] | None:
    """Returns (source, path) of the entry's file on this disk; None if the file is not there."""
    return next(_located(entry), None)


def _located(entry: ModelEntry) -> Iterator[tuple[ModelSource, Path]]:
    """Yields (source, path) of the entry's files on this disk, first our own copies, which `fetch` has verified."""
    for source in entry.sources:
        path = own_copy(entry, source)
        if path.is_file():
            yield source, path
    for source in entry.sources:
        elsewhere = None
        if isinstance(source, HubSource):
            elsewhere = hub.in_cache(source)
        elif isinstance(source, PackageSource) and len(source.parts) == 1 and source.format is None:
            elsewhere = packages.installed(source.parts[0])  # a whole GGUF; parts must be joined first
        if elsewhere is not None:
            yield source, elsewhere


def own_copy(entry: ModelEntry, source: ModelSource | None = None, models: Path | None = None) -> Path:
    """Returns the path of wim-edge's copy of the entry's file, which may be missing; for a path source, the user's
    file. ``source``: the copy's source (None: the first); ``models``: the folder of models (None: the usual one)."""
    models = models or _models()
    match source or entry.sources[0]:
        case HubSource() as source:
            return models / source.repo / source.file
        case PackageSource() as source:
            return models / entry.name / source.file
        case PathSource(path=path):
            return path


def _models() -> Path:
    return Paths.from_environment().models


def requantized_copy(entry: ModelEntry) -> Path | None:
    """Returns the path of the entry's requantized copy, which may be missing; None if the entry has no such copy."""
    return _models() / entry.name / f"{entry.name}-{entry.requantized}.gguf" if entry.requantized else None


def is_ready(entry: ModelEntry) -> bool:
    """Returns whether `fetch` has nothing to do: the requantized copy is here or, if no copy is wanted, the file is."""
    copy = requantized_copy(entry)
    return copy.is_file() if copy else locate(entry) is not None


def fetch(entry: ModelEntry, progress: Progress = lambda done, total: None) -> Path:
    """Downloads the entry's file if necessary, verifies it, and makes the requantized copy, unless that fails, as on a
    full disk. Returns the file's path, not the copy's. Raises ModelError."""
    path, copy = _fetch_verified(entry, progress), requantized_copy(entry)
    if copy and entry.requantized:
        from wim_edge.engine.gguf import read_header

        try:
            read_header(copy)
        except ModelError:  # it is missing or damaged
            from wim_edge.engine.bindings import requantize

            with suppress(OSError, EngineError):
                requantize(path, copy, entry.requantized)
    return path


def _fetch_verified(entry: ModelEntry, progress: Progress) -> Path:
    """Returns the path of the entry's verified file, from the first source that works. Replaces a damaged copy of ours.
    Raises DownloadError (network, checksum; if all sources fail, the message names each), DiskError without trying
    other sources, ModelFileError (no usable GGUF model), and ModelNotFoundError for a path without a file."""
    failures: dict[ModelSource, ModelError] = {}
    for source, path in _located(entry):
        try:
            _verify(path, entry)
        except ModelError as error:
            if _is_ours(source, path):
                path.unlink()
            else:
                failures[source] = error
        else:
            return path
    for source in entry.sources:
        if source in failures:
            continue
        try:
            path = _fetch_from(source, entry, progress)
        except DiskError:
            raise
        except ModelError as error:
            failures[source] = error
        else:
            for other in entry.sources:
                if other != source and isinstance(other, HubSource):
                    hub.discard_begun(other, _models())
            return path
    raise _all_failed(entry, failures)


def _fetch_from(source: ModelSource, entry: ModelEntry, progress: Progress) -> Path:
    continued = isinstance(source, HubSource) and any(hub.begun(source, _models()))
    path = _download(source, entry, progress)
    try:
        _verify(path, entry)
    except ModelError:
        path.unlink(missing_ok=True)  # otherwise the bad file would be used as the model
        if not continued:
            raise
        return _fetch_from(source, entry, progress)  # the interrupted download was bad: start over
    return path


def _download(source: ModelSource, entry: ModelEntry, progress: Progress) -> Path:
    here = isinstance(source, PackageSource) and all(map(packages.installed, source.parts))
    if not here and not isinstance(source, PathSource):
        check_online(f"{entry.name} is not on this disk", ", or bring the file: docs/models.md")
    match source:
        case HubSource():
            is_last = source is entry.sources[-1]
            return hub.download(source, _models(), entry.bytes, progress, is_last=is_last)
        case PackageSource():
            return packages.fetch(source, own_copy(entry, source), entry.bytes, progress)
        case PathSource(path=path):
            raise ModelNotFoundError(f"{path}: no such file", f"Correct path of {entry.name} in models.toml.")


def _verify(path: Path, entry: ModelEntry) -> None:
    from wim_edge.engine.gguf import read_header

    read_header(path, embeds=True)  # first, because it is much faster than the checksum of gigabytes
    check_sha256(path, entry.sha256)


def _all_failed(entry: ModelEntry, failures: dict[ModelSource, ModelError]) -> ModelError:
    """Returns the error for an entry whose sources all failed: their common error, or one that lists every error."""
    errors = list(failures.values())
    if len({str(error) for error in errors}) == 1:  # a common cause, such as no network
        return errors[0]
    told = "; ".join(f"{source.label}: {error}" for source, error in failures.items())
    hints = "; ".join(f"{source.label}: {error.hint.rstrip('.')}" for source, error in failures.items())
    return DownloadError(f"{entry.name} could not be fetched. {told}", f"{hints}.")


def removable(entry: ModelEntry) -> Path:
    """Returns the path of the requantized copy, or else of the entry's file, if wim-edge may delete it. Raises
    ModelError if it is the user's, a package's or in the Hugging Face cache, ModelNotFoundError if it is not here."""
    copy, located = requantized_copy(entry), locate_source(entry)
    if copy and copy.is_file():
        return copy
    if located is None:
        raise ModelNotFoundError(f"{entry.name} is not on this disk", "`wim-edge models list` shows what is.")
    source, found = located
    match source:
        case PathSource():
            raise ModelError(f"{found} is your own file", "Delete it yourself, and its entry in models.toml.")
        case _ if _is_ours(source, found):
            return found
        case HubSource():
            raise ModelError(f"{entry.name} is in the Hugging Face cache", f"Delete it there: {found}")
        case PackageSource(parts=parts):
            names = " ".join(part.requirement.partition("==")[0] for part in parts)
            raise ModelError(f"{entry.name} belongs to an installed package", f"pip uninstall {names}")


def remove(entry: ModelEntry) -> int:
    """Deletes wim-edge's copies of the entry's file; returns the bytes freed. Raises the errors of `removable`."""
    removable(entry)
    freed = 0
    ours = [(own_copy(entry, one), one) for one in entry.sources if not isinstance(one, PathSource)]
    for copy, source in [*ours, (requantized_copy(entry), None)]:
        if copy is None or not copy.is_file():
            continue
        freed += copy.stat().st_size
        copy.unlink()
        if isinstance(source, HubSource):
            hub.remove_empty(_models() / source.repo)
        elif not any(copy.parent.iterdir()):
            copy.parent.rmdir()
    return freed


def _is_ours(source: ModelSource, path: Path) -> bool:
    return not isinstance(source, PathSource) and path.is_relative_to(_models())
