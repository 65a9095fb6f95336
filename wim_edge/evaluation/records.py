"""An evaluation on disk: a journal whose ``examples.jsonl`` has a line for each finished example.

Failed examples are asked again: the later record counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wim_edge.documents.data_files import bytes_of_file
from wim_edge.system.journal import Journal, read_rows

_FILE = "examples.jsonl"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One example, asked with one pattern, and the outcome. A line of ``examples.jsonl``."""

    id: str
    group: str
    pattern: str
    """The pattern as it was asked for."""
    resolved_pattern: str | None = None
    """The pattern that was used, with its relevance; None if it failed or was not asked."""
    x: int | None
    """The swept value; None if the pattern does not depend on it."""
    question: str
    answers: tuple[str, ...]
    answer: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    scores: dict[str, float]
    """Scores by name; recall is the retriever's. The task's own are missing if it was not asked."""
    unanswerable: bool = False
    confidence: float | None = None
    """See `reply.Reply.confidence`."""
    evidence: dict[str, float] | None = None
    """See `reply.Reply.evidence`."""
    gold_rank: int | None = None
    """The best rank of a segment with gold, from 1; 0: none was ranked. None: no gold or no ranking."""
    seconds: float | None = None
    """Wall time without opening the model and its context."""
    is_first: bool | None = None
    """True if it was the first question on its document; None if every question reads it again."""
    prefilled_tokens: int | None = None
    decoded_tokens: int | None = None
    peak_rss_bytes: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    quotes: tuple[str, ...] | None = None
    passages: tuple[str, ...] | None = None
    """See `reply.Reply.passages`; ``quotes`` likewise."""

    @property
    def key(self) -> tuple[str, str]:
        return self.pattern, self.id


class RecordStore(Journal[Record]):
    """The folder of a run that can continue; ``patterns`` of its identity may grow and ``limit`` may rise."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        super().__init__(folder, _FILE, Record, identity, _may_change)


def read_records(folder: Path) -> list[Record]:
    """Returns the records of a run."""
    return read_rows(folder / _FILE, Record)


def _may_change(name: str, was: Any, now: Any) -> bool:
    if name == "patterns":
        return isinstance(was, list) and all(name in now for name in was)
    if name == "limit":
        return now is None or (isinstance(was, int) and now >= was)
    return False


def fingerprint(path: Path | None, files: Iterable[Path] = ()) -> dict[str, str] | None:
    """Returns name and SHA-256 of a data file, or of a folder by the names and contents of these files in it."""
    if path is None:
        return None
    if not path.is_dir():
        return {"name": path.name, "sha256": hashlib.sha256(bytes_of_file(path)).hexdigest()}
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        name = os.fsencode(file.relative_to(path))
        digest.update(name + b"\0" + hashlib.sha256(bytes_of_file(file)).digest())
    return {"name": path.name, "sha256": digest.hexdigest()}
