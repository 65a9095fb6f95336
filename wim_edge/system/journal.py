"""The journal of a run that can be stopped and continued: one file identifies the run, another holds a row per line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Generator, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import Field, asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import msgspec
from filelock import FileLock, Timeout

from wim_edge.errors import InvalidRequestError
from wim_edge.settings import Settings
from wim_edge.system.atomic_files import replace_file, write_json

RUN, LOCK = "run.json", ".lock"


class JournalRow(Protocol):
    """A dataclass that is written to the journal as one line of JSON."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def key(self) -> Hashable: ...

    @property
    def error(self) -> str | None:
        """The message of the job's error, or None. A continued run repeats the jobs of rows with an error."""


R = TypeVar("R", bound=JournalRow)
J = TypeVar("J")
MayChange = Callable[[str, Any, Any], bool]
Watcher = Callable[[Sequence[R], int], None]
"""A callback with the rows so far and the number of jobs, called before the first job and after each job."""


class Journal(Generic[R]):
    """The folder of a run, opened to start or continue the run. Raises InvalidRequestError if the folder is in use, or
    contains another run or damaged rows.

    Args:
        kind: the dataclass of the rows in ``file``; a line with other fields counts as damaged.
        identity: named JSON values that identify the run, such as its settings.
        may_change: returns whether a value of the identity may differ, given (name, old value, new value).
    """

    def __init__(
        self, folder: Path, file: str, kind: type[R], identity: Mapping[str, Any], may_change: MayChange
    ) -> None:
        self.folder, self.path = folder, folder / file
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise _refused(f"{folder} is no folder") from None
        self._lock = FileLock(folder / LOCK)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise _refused(f"another run is writing to {folder}") from None
        except NotImplementedError:  # a file system without locks
            pass
        try:
            self._identify(json.loads(json.dumps(identity)), may_change)
            self._rows, sound = read_rows(self.path, kind)
            self._file = self.path.open("ab")
            self._file.truncate(sound)
        except BaseException:
            self._lock.release()
            raise

    @property
    def rows(self) -> list[R]:
        """The latest row for each key."""
        return list(self._rows.values())

    def run(
        self, jobs: Mapping[Any, J], work: Callable[[list[J]], Generator[R, None, None]],
        watcher: Watcher[R] = lambda rows, total: None,
    ) -> bool:  # fmt: skip
        """Runs the jobs whose row is missing or has an error. Returns True if Ctrl-C stopped the run. ``jobs``: by the
        key of their row. ``work`` returns a generator of one row per job, in any order, which is always closed."""
        done = {row.key: row for row in self.rows if row.error is None}
        watched = [done[key] for key in jobs if key in done]
        try:
            watcher(watched, len(jobs))
            with closing(work([job for key, job in jobs.items() if key not in done])) as rows:
                for row in rows:
                    if row.key in done:  # a machine that was lost may have sent it before
                        continue
                    self.add(row)
                    if row.error is None:
                        done[row.key] = row
                    watched.append(row)
                    watcher(watched, len(jobs))
        except KeyboardInterrupt:
            return True
        return False

    def add(self, row: R) -> None:
        """Appends a row to the journal's file and flushes the file."""
        self._file.write(_line(row))
        self._file.flush()
        self._rows[row.key] = row

    def write(self, rows: Sequence[R]) -> None:
        """Replaces all rows of the journal, atomically."""
        self._rows = {row.key: row for row in rows}
        try:
            with replace_file(self.path) as part:
                with part.open("wb") as file:
                    file.writelines(map(_line, rows))
                self._file.close()
        finally:
            self._file.close()
            self._file = self.path.open("ab")

    def _identify(self, identity: dict[str, Any], may_change: MayChange) -> None:
        path = self.folder / RUN
        if path.exists():
            there, here = _flat(_load(path)), _flat(identity)
            for name in [*there, *(name for name in here if name not in there)]:
                was, now = there.get(name), here.get(name)
                if was != now and not may_change(name, was, now):
                    what = f"{self.folder} contains another run: {name} is {_short(was)} there, {_short(now)} here"
                    raise _refused(what, ", or the options of that run")
        elif self.path.exists():
            raise _refused(f"{self.folder} contains {self.path.name} of an unknown run")
        write_json(path, identity)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self._file.close()
        finally:
            self._lock.release()


def settings_identity(settings: Settings, but: Container[str]) -> dict[str, Any]:
    """Returns the settings that identify a run, as JSON: all but those named in ``but``, and the templates' digest."""
    found = {
        name: value if isinstance(value, bool | int | float | str | None) else str(value)
        for name, value in asdict(settings).items()
        if name not in but
    }
    if settings.templates is not None:
        found["templates"] = templates_digest(settings.templates)
    return found


def templates_digest(folder: Path) -> str:
    """Returns the SHA-256 digest (hexadecimal) of the names and contents of a folder's templates."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.jinja")):
        digest.update(path.name.encode("utf-8", "surrogateescape") + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _line(row: JournalRow) -> bytes:
    return json.dumps(asdict(row), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def read_rows(path: Path, kind: type[R]) -> tuple[dict[Hashable, R], int]:
    """Returns ({key: latest row}, bytes of the file up to its last line end). Raises InvalidRequestError if damaged."""
    data = path.read_bytes() if path.exists() else b""
    sound = data.rfind(b"\n") + 1
    rows: dict[Hashable, R] = {}
    for number, line in enumerate(data[:sound].splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            row = msgspec.convert(data, kind)
            if data.keys() - kind.__dataclass_fields__.keys():
                raise ValueError("unknown fields")
        except (ValueError, RecursionError) as error:
            raise _refused(f"{path}, line {number} is damaged", ", or remove the line and run it again") from error
        rows.pop(row.key, None)
        rows[row.key] = row
    return rows, sound


def _load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("settings", {}), dict):
        raise _refused(f"{path} is damaged")
    return found


def _refused(what: str, instead: str = "") -> InvalidRequestError:
    return InvalidRequestError(what, f"Give another --out{instead}.")


def _flat(identity: dict[str, Any]) -> dict[str, Any]:
    """Returns the identity as one mapping, with each entry of its ``settings`` at the top level."""
    return {**{name: value for name, value in identity.items() if name != "settings"}, **identity.get("settings", {})}


def _short(value: object) -> str:
    if isinstance(value, dict) and "sha256" in value:
        return f"{value.get('name')} (sha256 {str(value['sha256'])[:8]})"
    return str(value)
