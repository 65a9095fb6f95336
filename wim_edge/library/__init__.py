"""Documents read once: saved readings, their index and its limits."""

from wim_edge.library.reading_store import FAILURES, ReadingStore, SavedReading, in_common, is_damage
from wim_edge.library.readings_db import ReadingRecord

__all__ = ["FAILURES", "ReadingRecord", "ReadingStore", "SavedReading", "in_common", "is_damage"]
