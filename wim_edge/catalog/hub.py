"""Files on Hugging Face, through the package huggingface_hub, which is imported only when needed."""

from __future__ import annotations

import errno
import os
import queue
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from wim_edge.catalog.entry import HubSource
from wim_edge.catalog.model_files import Progress, require_space, write_error
from wim_edge.errors import DownloadError, required
from wim_edge.settings import check_online

_MOST_REDIRECTS = 20
_HINTS = {
    401: "Check HF_TOKEN, or unset it.",
    403: "Check HF_TOKEN, and whether the repository asks to accept terms.",
    404: "Check repo, file and revision in models.toml.",
    429: "It had too many requests from your address: try again in some minutes.",
}
_REFUSALS = {
    "GatedRepoError": (
        "{repo} on Hugging Face asks you to accept its terms first",
        "Accept them at https://huggingface.co/{repo}, then set HF_TOKEN to your access token."),
    "RepositoryNotFoundError": (
        "Hugging Face has no repository {repo}, or it is private",
        "Check repo in models.toml; a private repository needs HF_TOKEN."),
    "RevisionNotFoundError": ("{repo} has no revision {revision}", "Check revision in models.toml."),
    "EntryNotFoundError": ("{repo} has no file {file} (revision {revision})", "Check file in models.toml."),
}  # fmt: skip
"""Maps huggingface_hub's error classes to (message, hint); more specific classes come first."""
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


def in_cache(source: HubSource) -> Path | None:
    """Returns the path of the source's file in the Hugging Face cache, or None. Does not use the network."""
    # As in huggingface_hub.constants: importing the package at every start is slow
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE", os.path.join(home, "hub"))).expanduser()
    if not (cache / ("models--" + source.repo.replace("/", "--"))).is_dir():
        return None
    try:
        package = _package()
    except DownloadError:  # without the package nothing is found
        return None
    for revision in dict.fromkeys((source.revision, "main")):
        found = package.try_to_load_from_cache(source.repo, source.file, cache_dir=cache, revision=revision)
        if isinstance(found, str):
            blob = Path(found).resolve()  # named after its SHA-256
            if source.sha256 is None or blob.parent.name != "blobs" or blob.name == source.sha256:
                return Path(found)
    return None


def _package() -> Any:
    """Returns the package huggingface_hub. Raises DownloadError with the command that installs the package."""
    # HTTP can continue an interrupted download, Hugging Face's Xet cannot. The package reads this when it is imported
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    what = "Fetching from Hugging Face needs the package huggingface-hub"
    with required(what, "pip install 'huggingface-hub>=1.1,<1.18'", DownloadError):
        import huggingface_hub.constants
        import huggingface_hub.errors
    return huggingface_hub


def download(source: HubSource, models: Path, size: int, progress: Progress, *, is_last: bool = True) -> Path:
    """Downloads the source's file, of about ``size`` bytes, to a folder below ``models``; returns its path. Continues
    an interrupted download. Raises DownloadError; unless ``is_last``, also after ten seconds without a response."""
    package = _package()
    errors, into = package.errors, models / source.repo
    # Only a known SHA-256 identifies the part of an interrupted download
    sizes = [path.stat().st_size for path in begun(source, models)] if source.sha256 else []
    require_space(into, max(0, size - max(sizes, default=0)))
    options = {"revision": source.revision, "local_dir": into, "tqdm_class": _bar(progress)}
    try:
        _check_answers(package, source, is_last)
        with _redirected(package.get_session(), errors.HTTPError):
            path = package.hf_hub_download(source.repo, source.file, **options)
    except (OSError, ValueError, RuntimeError, errors.EntryNotFoundError, errors.HTTPError) as error:
        for part in begun(source, models) if isinstance(error, _TooLongError) else ():
            part.unlink(missing_ok=True)  # otherwise the next download would continue it
        raise _explain(error, errors, source, into, size) from error
    return Path(path)


def _check_answers(package: Any, source: HubSource, is_last: bool) -> None:
    """Makes one request and raises its error: the package would retry for minutes. ``is_last``: ignores a timeout."""
    seconds = package.constants.HF_HUB_ETAG_TIMEOUT
    url = package.hf_hub_url(source.repo, source.file, revision=source.revision)
    answers: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            package.get_session().head(url, timeout=seconds, follow_redirects=False)
            answers.put(None)
        except Exception as error:  # noqa: BLE001 - raised below
            answers.put(error)

    # In a thread, because no timeout ends the look-up of a host name
    threading.Thread(target=ask, name="wim-edge hub", daemon=True).start()
    try:
        error = answers.get(timeout=seconds)
    except queue.Empty:
        error = TimeoutError(f"no answer for {seconds} seconds")
    if error is not None and not (is_last and "Timeout" in type(error).__name__):
        raise error


def files_of(repo: str) -> tuple[str, dict[HubSource, int]]:
    """Returns (licence or "", {GGUF file that is not split: bytes}) of a repository. Raises DownloadError."""
    check_online(f"{repo} is looked up on Hugging Face")
    package = _package()
    try:
        found = package.HfApi().model_info(repo, files_metadata=True)
    except (OSError, ValueError, RuntimeError, package.errors.HTTPError) as error:
        hint = "Check the name, and HF_TOKEN if access must be granted."
        raise DownloadError(f"{repo}: {_first_line(error)}", hint) from error
    licence = next((tag.partition(":")[2] for tag in found.tags or () if tag.startswith("license:")), "")
    return licence, {
        HubSource(repo, one.rfilename, found.sha or "main", one.lfs.sha256 if one.lfs else None): one.size
        for one in found.siblings or ()
        if one.rfilename.endswith(".gguf") and one.size and "-of-0" not in one.rfilename
    }


def begun(source: HubSource, models: Path) -> Iterator[Path]:
    """Yields the partial files of downloads of this file; if its SHA-256 is unknown, of the whole repository."""
    return (models / source.repo / ".cache/huggingface/download").rglob(f"*{source.sha256 or ''}.incomplete")


class _TooLongError(OSError):
    """The error that more bytes arrived than Hugging Face had announced."""


@contextmanager
def _redirected(session: Any, error: type[Exception]) -> Iterator[None]:
    """Raises ``error`` in the block after over 20 redirects in a row, which huggingface_hub follows without a limit."""
    in_a_row = 0

    def count(response: Any) -> None:
        nonlocal in_a_row
        in_a_row = in_a_row + 1 if 300 <= response.status_code < 400 else 0
        if in_a_row > _MOST_REDIRECTS:
            raise error("it is redirected without an end")

    hooks = session.event_hooks["response"]
    hooks.append(count)
    try:
        yield
    finally:
        hooks.remove(count)


def _explain(error: Exception, errors: Any, source: HubSource, into: Path, size: int) -> DownloadError:
    """Returns a DownloadError that says what happened and what to do, for an error that huggingface_hub raised."""
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # this error says "not in the cache" after any failure
    for name, texts in _REFUSALS.items():
        if isinstance(error, getattr(errors, name)) and not isinstance(error, errors.LocalEntryNotFoundError):
            return DownloadError(*(text.format(**vars(source)) for text in texts))
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        return write_error(error, into, size)
    if isinstance(error, errors.OfflineModeIsEnabled):
        return DownloadError("HF_HUB_OFFLINE forbids downloads", f"Unset it, or copy the file to {into / source.file}.")
    response = getattr(error, "response", None)
    if response is not None:
        status = response.status_code
        return DownloadError(f"Hugging Face answered {status} for {source.repo}", _HINTS.get(status, "Try later."))
    return DownloadError(
        f"{source.file} could not be downloaded: {_first_line(error)}",
        f"Check the network and pull again, or copy the file to {into / source.file}.",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def discard_begun(source: HubSource, models: Path) -> None:
    """Deletes this source's partial files, and the repository's folder if no model or other partial file is in it."""
    top = models / source.repo
    for part in begun(source, models):
        part.unlink(missing_ok=True)
    if top.is_dir() and not any(top.rglob("*.incomplete")):  # another process may be downloading another file
        remove_empty(top)


def remove_empty(top: Path) -> None:
    """Deletes a repository's folder if it has no file outside .cache, then the owner's folder if that is empty."""
    if not any(path.is_file() for path in top.rglob("*") if ".cache" not in path.relative_to(top).parts):
        shutil.rmtree(top)
        if not any(top.parent.iterdir()):
            top.parent.rmdir()


def _bar(progress: Progress) -> type:
    """Returns a class like tqdm's bar, with the methods that huggingface_hub calls; it reports to ``progress``."""

    class Bar:
        def __init__(self, *_: object, total: int | None = None, initial: int = 0, **__: object) -> None:
            self.total, self.n = total, initial
            progress(self.n, self.total)

        def update(self, n: float | None = 1) -> None:
            self.n += int(n or 0)
            progress(self.n, self.total)
            if self.total is not None and self.n > self.total:
                raise _TooLongError(f"more than the announced {self.total:,} bytes come")

        def update_transfer(self, *_: object, **__: object) -> None:
            """Does nothing. Because this method exists, huggingface_hub shows one bar, of bytes written."""

        set_postfix_str = set_transfer_postfix_str = set_description = update_transfer
        refresh = reset = close = __exit__ = update_transfer

        def __enter__(self) -> Self:
            return self

    return Bar
