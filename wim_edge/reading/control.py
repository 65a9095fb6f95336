"""The requests of the reader during a reading: an early stop, from another thread or after a margin, and verdicts.

Early exit is the paper's interactive retrieval (Writing in the Margins, section 5): the margins show
progress, and the answer may be asked for as soon as they suffice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Literal

from wim_edge.engine.protocols import Context, Interrupted
from wim_edge.errors import InvalidRequestError
from wim_edge.reading.events import MarginJudged


class Decision(IntEnum):
    """The next step of the engine; of several the larger one wins."""

    CONTINUE = 0
    ANSWER = 1
    """The engine reads no further, and answers from the text read so far."""
    CANCEL = 2
    """The engine stops without an answer."""


Policy = Callable[[MarginJudged], "Decision | None"]
"""A function that is called after each judged margin; None means CONTINUE."""


def stop_after(n: int) -> Policy:
    """Returns a policy that answers once there are ``n`` relevant margins. One policy serves one question."""
    if n < 1:
        raise ValueError("stop_after takes at least 1")
    seen = 0

    def policy(margin: MarginJudged) -> Decision:
        nonlocal seen
        seen += margin.relevant
        return Decision.ANSWER if seen >= n else Decision.CONTINUE

    return policy


def stop_at(relevance: float) -> Policy:
    """Returns a policy that answers once a margin reaches this relevance. Raises InvalidRequestError if not 0 to 1."""
    if not 0 <= relevance <= 1:
        raise InvalidRequestError(f"a relevance of {relevance}", "It takes 0 to 1.")
    return lambda margin: Decision.ANSWER if margin.relevance >= relevance else Decision.CONTINUE


class Control:
    """The reader's wish and verdicts, settable from any thread; the wish from a signal handler too."""

    def __init__(self) -> None:
        self.requested = Decision.CONTINUE
        self.verdicts: dict[int, bool] = {}
        """The reader's verdicts by segment: True if the answer should draw on it, False if not."""
        self._contexts: tuple[Context, ...] = ()
        self._answering = False
        self._lock = threading.RLock()  # reentrant: a signal handler may come while its thread holds it

    def request(self, decision: Decision) -> None:
        """Stops the engine's current work, and goes on as decided. ANSWER does not stop an answer under way."""
        with self._lock:
            self.requested = max(self.requested, decision)
            begun = self._answering and decision is Decision.ANSWER
            if decision and not begun:
                self._each("interrupt")

    def judge(self, segment: int, accepted: bool | None) -> None:
        """Heeds the reader's verdict on a segment from now on, until the answer begins; None takes it back."""
        if accepted is None:
            self.verdicts.pop(segment, None)
        else:
            self.verdicts[segment] = accepted

    def check(self) -> None:
        """Raises Interrupted if the reader wishes to stop; an answer under way is stopped by CANCEL alone."""
        if self.requested and not (self._answering and self.requested is Decision.ANSWER):
            raise Interrupted

    def attach(self, *contexts: Context) -> None:
        """Makes a wish interrupt these contexts from now on; one uttered earlier counts."""
        with self._lock:
            self._contexts = contexts
            self._each("interrupt" if self.requested else "resume")

    def add(self, context: Context) -> None:
        """Makes a wish to cancel interrupt this context too, in which the answer is written."""
        with self._lock:
            self._contexts += (context,)
            (context.interrupt if self.requested is Decision.CANCEL else context.resume)()

    def detach(self) -> None:
        with self._lock:
            self._contexts = ()

    def begin_answer(self) -> None:
        """Lets the engine work again. Raises Interrupted if the reader has cancelled."""
        with self._lock:
            if self.requested is Decision.CANCEL:
                raise Interrupted
            self._answering = True
            self._each("resume")

    def _each(self, what: Literal["interrupt", "resume"]) -> None:
        for context in self._contexts:
            getattr(context, what)()
