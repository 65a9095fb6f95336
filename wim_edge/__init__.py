"""wim-edge: ask long documents with small models on your own machine.

This package lists its public names once, here. `wim_edge.events` holds the event classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# name -> module; loaded on first use, so that `import wim_edge` stays light
_NAMES = {
    "AnswerFinished": "wim_edge.reading.events",
    "Decision": "wim_edge.reading.control",
    "Document": "wim_edge.documents",
    "Runtime": "wim_edge.runtime",
    "Settings": "wim_edge.settings",
    "WimEdgeError": "wim_edge.errors",
    "events": "wim_edge.reading.events",
    "read_document": "wim_edge.documents",
    "stop_after": "wim_edge.reading.control",
    "stop_at": "wim_edge.reading.control",
}
__all__ = [*_NAMES]

if TYPE_CHECKING:
    from wim_edge.documents import Document as Document, read_document as read_document
    from wim_edge.errors import WimEdgeError as WimEdgeError
    from wim_edge.reading import events as events
    from wim_edge.reading.control import Decision as Decision, stop_after as stop_after, stop_at as stop_at
    from wim_edge.reading.events import AnswerFinished as AnswerFinished
    from wim_edge.runtime import Runtime as Runtime
    from wim_edge.settings import Settings as Settings


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'wim_edge' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(_NAMES[name])
    return module if name == "events" else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
