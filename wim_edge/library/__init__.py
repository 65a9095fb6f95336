"""Documents read once: saved readings, their index and its limits."""

from wim_edge.library.index import Stored
from wim_edge.library.library import Library, SavedReading

__all__ = ["Library", "SavedReading", "Stored"]
