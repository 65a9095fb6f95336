"""Storage on disk: saved readings (KV caches of documents), with an index and a size limit; libraries of documents."""

from wim_edge.library.database import is_corrupt
from wim_edge.library.reading_store import FAILURES, ReadingStore, SavedReading, common_prefix_length

__all__ = ["FAILURES", "ReadingStore", "SavedReading", "common_prefix_length", "is_corrupt"]
