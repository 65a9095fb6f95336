"""The prompt cache on disk: a document is read once, and its saved KV cache serves later questions. A state is found by
its tokens' digest and a fingerprint of all else that its values depend on (model file, cache types, build of
llama.cpp). If a text begins like a saved one, only the rest is read. A disk failure is reported once."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np

from wim_edge.documents import Document
from wim_edge.engine.protocols import Sequence as Cached, Snapshot, Vector
from wim_edge.errors import LibraryError
from wim_edge.library.array_file import ENDING, DamagedError, is_state_file, read_state, write_state
from wim_edge.library.database import is_corrupt
from wim_edge.library.readings_db import ReadingsDatabase
from wim_edge.settings import Paths, Settings
from wim_edge.system.atomic_files import move_over

_MOST = 20 * 10**9  # bytes: the largest default limit
_SHARE = 10  # the default limit is 1/_SHARE of the space that is free or used by readings
FAILURES = (OSError, sqlite3.Error, UnicodeError)  # a damaged index may contain invalid text
_LARGE = 100 * 10**6  # bytes of one reading above which a note says how to free them
_ABANDONED = 3600.0  # seconds: an older file that is not in the index was left by a killed process


class ReadingStore:
    """A folder of saved readings. ``limit``: the most bytes of all readings; None: a tenth of the space that is free or
    used by readings, 20 GB at most. Raises OSError, sqlite3.Error."""

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder, self._limit = folder, limit
        self.notes: list[str] = []
        """Messages to the user, a line each."""
        try:
            self.index = ReadingsDatabase(folder / "index.sqlite")
        except (sqlite3.DatabaseError, UnicodeError) as error:
            if not is_corrupt(error):
                raise
            self.recreate_index(error)  # without the index the files are useless
        if self.index.was_old:
            self.notes.append("the saved readings of an older version cannot be used: the texts are read again")
        os.chmod(folder / "index.sqlite", 0o600)

    @classmethod
    def of(cls, settings: Settings) -> ReadingStore:
        """Returns the store in the folder that the settings name. Raises LibraryError if the folder is unusable."""
        folder = settings.readings or Paths.from_environment().cache / "readings"
        try:
            return cls(folder, settings.readings_bytes)
        except FAILURES as error:
            raise LibraryError(
                f"{folder}: readings cannot be saved ({os_reason(error)})",
                "Free some space, or point WIM_EDGE_READINGS at a folder on another disk.",
            ) from error

    def recreate_index(self, damage: Exception) -> None:
        """Renames the damaged index, begins an empty one, deletes all saved states, and adds a note for the user."""
        path = self.folder / "index.sqlite"
        aside = path.with_name(path.name + ".damaged")
        self.notes.append(f"the index of the saved readings was damaged ({damage}); a new one begins, the old one is "
                          f"{aside.name}")  # fmt: skip
        with suppress(FileNotFoundError):  # another process was faster
            move_over(path, aside)
        for name in (path.name + "-wal", path.name + "-shm"):
            path.with_name(name).unlink(missing_ok=True)
        self.delete([old for old in os.listdir(self.folder) if old.endswith(ENDING)])
        self.index = ReadingsDatabase(path)

    @property
    def limit(self) -> int:
        if self._limit is not None:
            return self._limit
        return min(_MOST, (shutil.disk_usage(self.folder).free + self.index.total()) // _SHARE)

    def remove(self, *readings: int) -> None:
        """Deletes the readings with these ids, and the states that no other reading needs."""
        for reading in readings:
            self.index.drop_reading(reading)
        self.sweep()

    def clear(self, path: Path | None = None) -> None:
        """Deletes all readings, or those that include the document at ``path``, alone or with other documents."""
        source, found = str(path and path.absolute()), self.index.readings()
        self.remove(*(one.id for one in found if path is None or source in one.source.split("\n")))

    def sweep(self, keeping: int | None = None) -> None:
        """Deletes unused files and, over the limit, the least recently used readings (the id ``keeping`` excepted)."""
        limit = self.limit
        self.delete(self.index.drop_unreferenced())
        for oldest in reversed(self.index.readings()):
            if self.index.total() <= limit:
                break
            if oldest.id != keeping:
                self.index.drop_reading(oldest.id)
                self.delete(self.index.drop_unreferenced())
        known, before = self.index.files(), time.time() - _ABANDONED
        for name in os.listdir(self.folder):
            with suppress(OSError):  # another process was faster
                if name not in known and (self.folder / name).stat().st_mtime < before:
                    self.delete([name])

    def delete(self, names: list[str]) -> None:
        """Deletes the files with these names from the folder, but only those named as `write_state` names its files."""
        for name in filter(is_state_file, names):
            with suppress(OSError):  # another process has the file open (Windows); a later sweep deletes it
                (self.folder / name).unlink(missing_ok=True)


class SavedReading:
    """The saved states of one reading: `find` returns a state that fits the text's tokens, and `save` adds a state."""

    def __init__(
        self, store: ReadingStore, fingerprint: str, documents: Sequence[Document], shape: str, model: str, tokens: int
    ) -> None:
        self._store, self._fingerprint = store, fingerprint
        self.notes = list(store.notes)
        self._broken, self._whole, self._taken = False, True, 0
        self._states: list[int] = []
        self._last: tuple[int, tuple[int, ...]] = (0, ())
        """The id and the tokens of the state that was found or saved last."""
        self.saved_tokens = 0
        """The number of document tokens that are saved; `close` sets it."""
        texts = ("\n".join(map(_source, documents)), ", ".join(document.name for document in documents), model)
        source, title, model = (text.encode("utf-8", "backslashreplace").decode() for text in texts)  # for odd names
        self._open = partial(
            store.index.open_reading, fingerprint, source, shape, title=title, model=model, of_tokens=tokens
        )

    def find(self, tokens: Sequence[int], ends: Sequence[int], most: int, *, aside: bool = False) -> Snapshot | None:
        """Returns a saved state of at most ``most`` tokens that has the longest prefix of ``tokens``, or None. A prefix
        ends at one of the ascending ``ends``. ``aside``: True if the reading does not continue from the state."""
        hashes = digests(tokens, ends)
        while not self._broken:
            with self._guarded("looked up"):
                found = self._store.index.longest(self._fingerprint, hashes, most)
                if found is None:
                    return None
                state, file = found
                try:
                    if not is_state_file(file):
                        raise DamagedError("its file is not ours")
                    snapshot = read_state(self._store.folder / file, {"fingerprint": self._fingerprint})
                    if common_prefix_length(snapshot.tokens, tokens) < ends[0] or len(snapshot.tokens) > most:
                        raise DamagedError("it holds another text")
                    self._note_state(state, snapshot.tokens, aside)
                    return snapshot
                except FileNotFoundError:
                    self._store.index.drop_state(file)  # evicted by another process a moment ago
                except (DamagedError, OSError) as damage:
                    reason = os_reason(damage)
                    self._note(f"a saved reading was damaged ({reason}) and is removed; the text is read again")
                    self._store.index.drop_state(file)
                    self._store.delete([file])
        return None

    def refused(self, error: Exception) -> None:
        """Adds a note for the user that a state which `find` returned could not be restored."""
        self._note(f"a saved reading cannot be used ({error}); the text is read again")

    def save(self, sequence: Cached, ends: Sequence[int], *, aside: bool = False) -> None:
        """Saves a sequence's state. ``ends``: positions from which a reading may continue. ``aside``: see `find`."""
        if self._broken:
            return
        tokens = tuple(sequence.tokens)
        ends = sorted({*(end for end in ends if end <= len(tokens)), len(tokens)})
        with self._guarded("saved"):
            limit = self._store.limit
            if self._taken + sequence.nbytes > limit:
                self._whole = False
                self._note(f"the reading is not saved whole: it takes more than {limit:,} bytes")
                return
            path, size = write_state(self._store.folder, {"fingerprint": self._fingerprint}, sequence)
            new = False
            try:
                prefixes = list(zip(digests(tokens, ends), ends, strict=True))
                state, new = self._store.index.add(self._open(), self._fingerprint, path.name, size, prefixes)
            finally:
                if not new:
                    path.unlink()
            self._note_state(state, tokens, aside)
            self._taken += size

    def retain(self, windows: Iterable[tuple[int, Sequence[int], Sequence[int]]]) -> dict[int, int]:
        """Makes `close` keep states that earlier questions saved for ``windows`` and this one did not load.
        ``windows``: triples (number, tokens, ascending ends of prefixes). Returns {window number: its saved tokens}."""
        known: dict[int, int] = {}
        held: dict[str, int] = {}
        if self._states and not self._broken:  # otherwise `close` drops no states
            with self._guarded("looked up"):
                held = self._store.index.prefixes(self._open())
        if set(held.values()) <= set(self._states):
            return known
        for number, tokens, ends in windows:
            found = [(end, one) for end, one in zip(ends, digests(tokens, ends), strict=True) if one in held]
            if found:
                known[number], last = found[-1]
                self._states += [held[last]] if held[last] not in self._states else []
        return known

    def vectors(self, fingerprint: str, texts: Mapping[int, str]) -> dict[int, Vector]:
        """Returns {number: saved unit vector} of numbered texts. ``fingerprint`` identifies the embedding model."""
        digests = {number: _digest(text) for number, text in texts.items()}
        found: dict[str, bytes] = {}
        if digests and not self._broken:
            with self._guarded("looked up"):
                found = self._store.index.vectors(fingerprint, list(digests.values()))
        found = {one: data for one, data in found.items() if len(data) % 2 == 0}  # an odd length means damage
        known = {number: np.frombuffer(found[one], "<f2") for number, one in digests.items() if one in found}
        return {number: vector.astype(np.float32) for number, vector in known.items()}

    def save_vectors(self, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
        """Saves {text: unit vector} as long as the reading is kept. ``fingerprint`` identifies the embedding model."""
        if self._broken:
            return
        with self._guarded("saved"):
            made = {_digest(text): vector.astype("<f2").tobytes() for text, vector in vectors.items()}
            self._store.index.add_vectors(self._open(), fingerprint, made)

    def close(self, tokens: int) -> None:
        """Records the reading's states and enforces the size limit. ``tokens``: number of document tokens in them."""
        if self._broken:
            return
        if self._taken > _LARGE:
            self._note(
                f"the reading takes {self._taken / 1e6:,.0f} MB on disk, so that the next question need not read it "
                "again; `wim-edge readings remove`, or Models on the page, free it"
            )
        with self._guarded("saved"):
            reading = None
            if self._states:
                reading = self._open()  # another process may have dropped it
                self.saved_tokens = self._store.index.keep(reading, self._states, tokens if self._whole else 0)
                if self._whole and self.saved_tokens < tokens:
                    self._note("parts of the reading were removed meanwhile by another process")
            self._store.sweep(keeping=reading)

    @contextmanager
    def _guarded(self, done: str) -> Iterator[None]:
        """Turns a disk failure into a note (the reading cannot be ``done``), after which nothing is found or saved."""
        try:
            yield
        except FAILURES as error:
            self._broken = True
            if not is_corrupt(error):
                self._note(f"the reading cannot be {done}: {os_reason(error)}")
                return
            with suppress(*FAILURES):
                self._store.recreate_index(error)
            self._note(self._store.notes[-1])

    def _note_state(self, state: int, tokens: tuple[int, ...], aside: bool) -> None:
        """Adds a state. Unless ``aside``, drops the previous state if its tokens are a prefix of the new state's."""
        last, held = self._last
        if not aside and held and last != state and last in self._states and held == tokens[: len(held)]:
            self._states.remove(last)
        if state not in self._states:
            self._states.append(state)
        if not aside:
            self._last = (state, tokens)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def common_prefix_length(one: Sequence[int], other: Sequence[int]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def os_reason(error: Exception) -> str:
    """Returns an error's message; for an OSError, without the path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def digests(tokens: Sequence[int], ends: Sequence[int]) -> list[str]:
    """Returns the digests of the tokens before each position in ``ends``, which are ascending."""
    data, found, done = np.asarray(tokens, np.int32), [], 0
    digest = hashlib.blake2b(digest_size=16)
    for end in ends:
        digest.update(data[done:end].tobytes())
        done = end
        found.append(digest.hexdigest())
    return found


def _source(document: Document) -> str:
    if document.parts:
        return f"{document.path}: {document.name} {document.parts}"
    if document.path is not None and str(document.path) != "-":
        return str(document.path.absolute())
    return "text:" + _digest(document.text)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
