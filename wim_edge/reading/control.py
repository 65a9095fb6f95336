"""Control of a reading by the user: early exit, cancellation, and verdicts on segments. Early exit is interactive
retrieval (Writing in the Margins, section 5): the user sees margins, and asks for the answer once they suffice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Literal

from wim_edge.engine.protocols import Context, Interrupted
from wim_edge.errors import InvalidRequestError
from wim_edge.reading.events import MarginJudged


class Decision(IntEnum):
    """The next step of a reading. If several decisions are requested, the one with the largest number counts."""

    CONTINUE = 0
    ANSWER = 1
    """Stop reading and answer from the text read so far."""
    CANCEL = 2
    """Stop without an answer."""


Policy = Callable[[MarginJudged], "Decision | None"]
"""A function that is called with each judged margin and returns a decision; None means CONTINUE."""


def stop_after(n: int) -> Policy:
    """Returns a policy that decides ANSWER after ``n`` relevant margins. Make a new policy for each question."""
    if n < 1:
        raise ValueError("stop_after takes at least 1")
    seen = 0

    def policy(margin: MarginJudged) -> Decision:
        nonlocal seen
        seen += margin.relevant
        return Decision.ANSWER if seen >= n else Decision.CONTINUE

    return policy


def stop_at(relevance: float) -> Policy:
    """Returns a policy that decides ANSWER for a margin of this relevance or more. Raises InvalidRequestError."""
    if not 0 <= relevance <= 1:
        raise InvalidRequestError(f"a relevance of {relevance}", "It takes 0 to 1.")
    return lambda margin: Decision.ANSWER if margin.relevance >= relevance else Decision.CONTINUE


class Control:
    """The user's decision and verdicts during a reading. Thread-safe; `request` may be called from a signal handler."""

    def __init__(self) -> None:
        self.requested = Decision.CONTINUE
        self.verdicts: dict[int, bool] = {}
        """The user's verdict by segment number: True if the answer should draw on the segment, False if not."""
        self._contexts: tuple[Context, ...] = ()
        self._answering = False
        self._lock = threading.RLock()  # reentrant: a signal handler may run while its own thread holds the lock

    def request(self, decision: Decision) -> None:
        """Sets the decision, unless a larger one is set. ANSWER interrupts reading, CANCEL also answering."""
        with self._lock:
            self.requested = max(self.requested, decision)
            begun = self._answering and decision is Decision.ANSWER
            if decision and not begun:
                self._each("interrupt")

    def judge(self, segment: int, accepted: bool | None) -> None:
        """Sets the user's verdict on a segment; None removes it. A verdict has no effect once the answer has begun."""
        if accepted is None:
            self.verdicts.pop(segment, None)
        else:
            self.verdicts[segment] = accepted

    def check(self) -> None:
        """Raises Interrupted if ANSWER or CANCEL was requested. Only CANCEL stops an answer under way."""
        if self.requested and not (self._answering and self.requested is Decision.ANSWER):
            raise Interrupted

    def attach(self, *contexts: Context) -> None:
        """Sets the contexts that a request interrupts. If a stop is already requested, interrupts them at once."""
        with self._lock:
            self._contexts = contexts
            self._each("interrupt" if self.requested else "resume")

    def add(self, context: Context) -> None:
        """Adds the context in which the answer is written. If CANCEL is already requested, interrupts it at once."""
        with self._lock:
            self._contexts += (context,)
            (context.interrupt if self.requested is Decision.CANCEL else context.resume)()

    def detach(self) -> None:
        with self._lock:
            self._contexts = ()

    def begin_answer(self) -> None:
        """Allows evaluations again after an ANSWER request, to write the answer. Raises Interrupted after a CANCEL."""
        with self._lock:
            if self.requested is Decision.CANCEL:
                raise Interrupted
            self._answering = True
            self._each("resume")

    def _each(self, what: Literal["interrupt", "resume"]) -> None:
        for context in self._contexts:
            getattr(context, what)()
