"""`wim-edge ask`: read documents, watch the margins, get an answer."""

from __future__ import annotations

import os.path
import queue
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from wim_edge.cli.options import engine_options, pattern_options, reading_options, settings_from, show_llama_log
from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.runtime import Runtime
    from wim_edge.wim.control import Policy
    from wim_edge.wim.events import Event

EXIT_EARLY, EXIT_CANCELLED = 10, 130


@click.command(short_help="Ask a question of documents.")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...", type=click.Path())
@click.argument("question")
@pattern_options
@reading_options
@engine_options
@click.option("--stop-after", type=click.IntRange(min=1), metavar="N", help="Answer after N relevant margins.")
@click.option("--stop-at", type=click.FloatRange(0, 1), metavar="0..1",
              help="Answer as soon as a margin is this relevant, whatever --threshold says.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One event a line on standard output (docs/events.md).")
@click.option("-q", "--quiet", is_flag=True, help="The answer alone.")
@click.option("--no-margins", is_flag=True, help="Do not show the margins.")
@click.pass_context
def ask(
    ctx: click.Context,
    /,
    documents: tuple[str, ...],
    question: str,
    stop_after: int | None,
    stop_at: float | None,
    as_json: bool,
    quiet: bool,
    no_margins: bool,
    **options: Any,
) -> None:
    """Ask QUESTION of one or more DOCUMENTs (text, Markdown, HTML, PDF, DOCX, EPUB; - is standard input).

    Ctrl-C once answers with what has been read so far, twice cancels. When standard output is not a
    terminal, margins, answer and sources go there as plain lines, progress and warnings to standard error.

    \b
      wim-edge ask report.pdf "What were the costs in 2023?"
      wim-edge ask --stop-after 2 a.txt b.md "Who signed?"
      curl -s https://example.org/long.html | wim-edge ask - "What is it about?"
    """
    settings = settings_from(options)
    if not question.strip():
        raise InvalidRequestError("the question is empty", "Give the question as the last argument, in quotes.")
    if os.path.isfile(question):
        raise InvalidRequestError(
            f"the question is missing: the last argument, {question}, is a file", "Give the question last, in quotes."
        )
    if (stop_after is not None or stop_at is not None) and settings.pattern in ("llm", "rag"):
        raise InvalidRequestError(f"the pattern {settings.pattern} writes no margins to stop at", "Use --pattern wim.")
    if as_json and quiet:
        raise InvalidRequestError("--json and --quiet exclude each other", "Use one of them.")
    show_llama_log(ctx)
    from wim_edge.cli.display import display_for
    from wim_edge.runtime import Runtime

    display = display_for(as_json=as_json, quiet=quiet, margins=not no_margins)
    with Runtime(settings) as runtime, display:
        policy = _policy(stop_after, stop_at)
        reading = _Interruptible(runtime, lambda: runtime.stream(documents, question, on_margin=policy))
        reason = ""
        with closing(reading.events()) as found:
            for event in found:
                display.show(event)
                reason = getattr(event, "finish_reason", reason)
    if reason == "cancelled":
        sys.exit(EXIT_CANCELLED)
    if reading.pressed and reason == "early_exit":
        sys.exit(EXIT_EARLY)


def _policy(stop_after: int | None, stop_at: float | None) -> Policy | None:
    from wim_edge.wim import control

    policies = [control.stop_after(stop_after)] if stop_after is not None else []
    if stop_at is not None:
        policies.append(control.stop_at(stop_at))
    if not policies:
        return None
    return lambda margin: max(policy(margin) or control.Decision.GO_ON for policy in policies)


class _Interruptible:
    """Runs the stream in a thread, so that Ctrl-C is heard at once and not when llama.cpp returns.

    Ctrl-C once while reading: answer now; twice, or while answering: cancel; before the reading has
    begun: KeyboardInterrupt.
    """

    def __init__(self, runtime: Runtime, start: Callable[[], Iterator[Event]]) -> None:
        self._runtime, self._start = runtime, start
        # SimpleQueue: a signal handler may put while the same thread gets
        self._queue: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
        self._reading = self._answering = False
        self._abandoned = threading.Event()
        self._presses = 0

    @property
    def pressed(self) -> bool:
        """Whether Ctrl-C was heard."""
        return self._presses > 0

    def events(self) -> Generator[Event, None, None]:
        """The stream's events. When it ends, however it ends, the worker has left the engine."""
        worker = threading.Thread(target=self._work, daemon=True)
        before = signal.signal(signal.SIGINT, self._on_sigint)
        worker.start()
        try:
            while (item := self._next()) is not None:
                if isinstance(item, BaseException):
                    raise item
                self._reading = True
                self._answering |= item.type == "answer.delta"
                yield item
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._abandoned.set()
            self._runtime.cancel()
            worker.join()
            signal.signal(signal.SIGINT, before)

    def _next(self) -> Event | BaseException | None:
        while True:  # with a timeout, because Windows does not interrupt an endless wait
            try:
                return self._queue.get(timeout=0.2)
            except queue.Empty:
                continue

    def _work(self) -> None:
        try:
            if not self._abandoned.is_set():
                for event in self._start():
                    self._queue.put(event)
                    if self._abandoned.is_set():
                        break
            self._queue.put(None)
        except BaseException as error:  # noqa: BLE001 - carried over to the main thread and raised there
            self._queue.put(error)

    def _on_sigint(self, _signal: int, _frame: object) -> None:
        if not self._reading:
            raise KeyboardInterrupt
        self._presses += 1
        if self._presses == 1 and not self._answering:
            from wim_edge.wim.events import Warning

            self._queue.put(Warning("stopping; the answer comes from what has been read. Ctrl-C again cancels"))
            self._runtime.answer_now()
        else:
            self._runtime.cancel()
