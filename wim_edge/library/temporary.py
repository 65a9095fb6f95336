"""Readings that are saved only until a command ends (``--no-save``)."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from wim_edge.settings import Settings

PREFIX, LOCK = "wim-edge-readings-", "lock"
_YOUNG = 5.0  # seconds in which a folder may not have its lock yet


@contextmanager
def kept_meanwhile(settings: Settings) -> Iterator[Settings]:
    """Yields settings with a temporary folder for readings, so that later questions of this command reuse them."""
    if settings.save:
        yield settings
        return
    sweep()
    # What is open at the end stays on Windows, until the next sweep
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder, ExitStack() as held:
        with suppress(NotImplementedError):  # a file system without locks
            held.enter_context(FileLock(Path(folder, LOCK)))
        yield settings.with_changes(save=True, readings=Path(folder))


def sweep() -> None:
    """Removes the folders of killed processes: they are not locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, Timeout, NotImplementedError):
            if _ours(folder) and time.time() - (folder / LOCK).stat().st_mtime > _YOUNG:
                with FileLock(folder / LOCK, timeout=0):
                    pass  # nobody holds it, and while we did Windows would not delete it
                shutil.rmtree(folder)


def _ours(folder: Path) -> bool:
    """Tells whether this user made the folder: others may write to the folder for temporary files too."""
    return not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
