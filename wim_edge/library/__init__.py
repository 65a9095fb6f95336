"""Documents read once: saved readings, their index and its limits."""

from wim_edge.library.index import Stored
from wim_edge.library.library import FAILURES, Library, SavedReading, in_common, is_damage

__all__ = ["FAILURES", "Library", "SavedReading", "Stored", "in_common", "is_damage"]
