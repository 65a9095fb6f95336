"""All errors that wim-edge raises on purpose, as one tree.

    WimEdgeError                 exit code 1
    ├── InvalidRequestError      2   the question, an option or a template is wrong
    ├── DocumentError            3   a document cannot be read
    ├── ModelError               4
    │   ├── ModelNotFoundError   4   no such model, or it is not on this disk
    │   ├── ModelFileError       4   the file is not a usable GGUF model
    │   └── DownloadError        7   fetching a model failed (network, checksum)
    │       └── DiskError        7   the disk is full, or the folder is not writable
    ├── CapacityError            5
    │   ├── ContextOverflowError 5   more tokens than the context holds
    │   └── MemoryBudgetError    5   more memory than the machine has free
    ├── EngineError              6   llama.cpp refused or failed
    └── LibraryError             8   a library, or a saved reading, is missing or unusable

Each error has a message (what happened) and a hint (what to do), one line each. These exit codes are not errors: 10,
the user stopped early and got an answer; 11, the documents do not seem to have an answer; 130, the user cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class WimEdgeError(Exception):
    """The base of all errors. ``str()`` is the message; ``hint`` says what to do."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def to_dict(self) -> dict[str, str]:
        """Returns the error as plain data for JSON; `from_dict` is the inverse."""
        return {"error": type(self).__name__, "message": str(self), "hint": self.hint}


class InvalidRequestError(WimEdgeError):
    """The request itself is wrong: an empty question, a bad option, an unreadable template."""

    exit_code = 2


class DocumentError(WimEdgeError):
    """A document cannot be read: missing, encrypted, scanned, empty, binary."""

    exit_code = 3


class ModelError(WimEdgeError):
    """An error about a model."""

    exit_code = 4


class ModelNotFoundError(ModelError):
    """There is no model of that name, or its file is not on this disk."""


class ModelFileError(ModelError):
    """The file is not a GGUF model that this engine can load."""


class DownloadError(ModelError):
    """A model could not be fetched: no network, no such file, disk full, checksum differs."""

    exit_code = 7


class DiskError(DownloadError):
    """A model's file could not be written: trying another source does not help."""


class CapacityError(WimEdgeError):
    """The work does not fit into the context or the memory; the message gives the numbers."""

    exit_code = 5


class ContextOverflowError(CapacityError):
    """There are more tokens than the context holds."""


class MemoryBudgetError(CapacityError):
    """The work needs more memory than the machine has free."""


class EngineError(WimEdgeError):
    """llama.cpp refused or failed."""

    exit_code = 6


class LibraryError(WimEdgeError):
    """A library, or a saved reading, is missing or unusable."""

    exit_code = 8


@contextmanager
def required(what: str, install: str, kind: type[WimEdgeError] = InvalidRequestError) -> Iterator[None]:
    """Raises ``kind`` if an import in the block fails: hint ``install``, message ``what`` ({} becomes the package)."""
    try:
        yield
    except ImportError as error:
        raise kind(what.format(error.name), install) from error


def from_dict(given: Mapping[str, str]) -> WimEdgeError:
    """Returns the error for a dict of `WimEdgeError.to_dict`. An unknown class of error becomes an EngineError."""
    kind = globals().get(given["error"])
    made = kind if isinstance(kind, type) and issubclass(kind, WimEdgeError) else EngineError
    return made(given["message"], given["hint"])
