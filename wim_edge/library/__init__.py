"""Data on disk: saved readings, with their index and size limit, and the libraries of a user's documents."""

from wim_edge.library.database import is_corrupt
from wim_edge.library.reading_store import FAILURES, ReadingStore, SavedReading, common_prefix_length
from wim_edge.library.readings_db import ReadingRecord

__all__ = ["FAILURES", "ReadingRecord", "ReadingStore", "SavedReading", "common_prefix_length", "is_corrupt"]
