"""A run on disk: ``run.json`` says which run it is, ``examples.jsonl`` has a line for each example that ended.

A run that was stopped, or killed while it wrote, goes on where it was; a folder never mixes two runs,
and one process at a time writes to it. What failed is asked again: the later record counts.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from wim_edge.errors import InvalidRequestError


@dataclass(frozen=True, kw_only=True)
class Record:
    """One example asked with one pattern, and how it ended. A line of ``examples.jsonl``."""

    id: str
    group: str
    pattern: str
    """As asked for."""
    resolved_pattern: str | None = None
    """What it really was, with its relevance; None if it failed or was not asked."""
    x: int | None
    """What the task sweeps; None for the controls, which do not depend on it."""
    question: str
    answers: tuple[str, ...]
    answer: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    scores: dict[str, float]
    """By name: accuracy, f1; recall is the retriever's. Without accuracy if it was not asked."""
    gold_rank: int | None = None
    """From 1, the best rank of a segment with gold; 0: none was ranked. None: no gold or no ranking."""
    margins_located: tuple[int, int] | None = None
    """(verbatim margins found at their place in the document, all of them)."""
    seconds: float | None = None
    """Wall time without opening the model and its context."""
    prefilled_tokens: int | None = None
    decoded_tokens: int | None = None
    peak_rss_bytes: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        return self.pattern, self.id


class Store:
    """A run's folder, open for going on.

    Args:
        identity: what makes it this run, as JSON values; ``patterns`` may grow and ``limit`` may rise.

    Raises InvalidRequestError if the folder holds another run, or damaged records, or is in use.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(folder / ".lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise InvalidRequestError(f"another run is writing to {folder}", "Give another --out.") from None
        except NotImplementedError:  # a file system without locks
            pass
        try:
            self._identify(json.loads(json.dumps(identity)))
            self._records, sound = _read(folder / "examples.jsonl")
            self._file = (folder / "examples.jsonl").open("ab")
            self._file.truncate(sound)
        except BaseException:
            self._lock.release()
            raise

    @property
    def records(self) -> list[Record]:
        """One for each key."""
        return list(self._records.values())

    def add(self, record: Record) -> None:
        """Write a record; it is on its way to the disk when this returns."""
        self._file.write(json.dumps(asdict(record), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._file.flush()
        self._records[record.key] = record

    def _identify(self, identity: dict[str, Any]) -> None:
        path = self.folder / "run.json"
        if path.exists():
            _check_same(self.folder, _load(path), identity)
        elif (self.folder / "examples.jsonl").exists():
            raise InvalidRequestError(f"{self.folder} holds examples of an unknown run", "Give another --out.")
        write_json(path, identity)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()
        self._lock.release()


def read_records(folder: Path) -> list[Record]:
    """The records of a run."""
    return list(_read(folder / "examples.jsonl")[0].values())


def write_json(path: Path, data: object) -> None:
    """All of the file or none of it."""
    unfinished = path.with_suffix(".unfinished")
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")  # a path may be no UTF-8
    os.replace(unfinished, path)


def _read(path: Path) -> tuple[dict[tuple[str, str], Record], int]:
    """The records by key, and how many bytes of the file they are: a last line that was cut off is none."""
    data = path.read_bytes() if path.exists() else b""
    sound = data.rfind(b"\n") + 1
    records: dict[tuple[str, str], Record] = {}
    for number, line in enumerate(data[:sound].splitlines(), 1):
        try:
            row = json.loads(line)
            located = row.pop("margins_located")
            answers = tuple(row.pop("answers"))
            record = Record(**row, answers=answers, margins_located=located and (located[0], located[1]))
            _check_types(record)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidRequestError(f"{path}, line {number} is damaged", "Give another --out.") from error
        records.pop(record.key, None)
        records[record.key] = record
    return records, sound


def _check_types(record: Record) -> None:
    """Raises TypeError unless the figures can be summed up."""
    texts = (record.id, record.group, record.pattern, record.question, *record.answers)
    numbers = (
        *record.scores.values(), *(record.margins_located or ()), record.x or 0, record.gold_rank or 0,
        record.seconds or 0, record.prefilled_tokens or 0, record.decoded_tokens or 0, record.peak_rss_bytes or 0,
    )  # fmt: skip
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(number, Real) for number in numbers):
        raise TypeError("a value of another type")


def _load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("settings", {}), dict):
        raise InvalidRequestError(f"{path} is damaged", "Give another --out.")
    return found


def _check_same(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    there, here = _flat(old), _flat(new)
    for name in [*there, *(name for name in here if name not in there)]:
        was, now = there.get(name), here.get(name)
        if was != now and not _grows(name, was, now):
            raise InvalidRequestError(
                f"{folder} holds another run: {name} is {_short(was)} there, {_short(now)} here",
                "Give another --out, or the options of that run; only patterns and --limit may grow.",
            )


def _grows(name: str, was: Any, now: Any) -> bool:
    if name == "patterns":
        return isinstance(was, list) and all(name in now for name in was)
    if name == "limit":
        return now is None or (isinstance(was, int) and now >= was)
    return False


def _flat(identity: dict[str, Any]) -> dict[str, Any]:
    """Settings one by one, so that a difference can be named."""
    return {**{name: value for name, value in identity.items() if name != "settings"}, **identity.get("settings", {})}


def _short(value: object) -> str:
    if isinstance(value, dict) and "sha256" in value:
        return f"{value['name']} (sha256 {str(value['sha256'])[:8]})"
    return str(value)
