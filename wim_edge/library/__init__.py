"""Documents read once: saved readings, their index and its limits."""

from wim_edge.library.reading_store import FAILURES, ReadingStore, SavedReading, common_prefix_length, is_corrupt
from wim_edge.library.readings_db import ReadingRecord

__all__ = ["FAILURES", "ReadingRecord", "ReadingStore", "SavedReading", "common_prefix_length", "is_corrupt"]
