"""The displays of a reading: live on a terminal, plain lines elsewhere, JSON lines, or the answer alone."""

from __future__ import annotations

import math
import sys
import time
import unicodedata
from contextlib import AbstractContextManager
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.spinner import Spinner
from rich.text import Text

from wim_edge.cli import event_lines
from wim_edge.cli.terminal import clean
from wim_edge.reading import events
from wim_edge.settings import ALL, AUTO, Within

_REFRESH = 1 / 8  # seconds
_STOP = "answers with what has been read"


class Display(AbstractContextManager["Display"]):
    """The base class of displays, which show events. A context manager, so that a live display is always removed."""

    def show(self, event: events.Event) -> None:
        raise NotImplementedError

    def tick(self) -> None:
        """Draws what moves with time; called several times a second while no event comes."""

    def __exit__(self, *exc: object) -> None:
        pass


def display_for(*, as_json: bool, quiet: bool = False, stop: str = _STOP) -> Display:
    """Returns the display that fits the options and standard output. ``stop``: a text that says what Ctrl-C does."""
    if as_json:
        return JsonLines()
    if quiet:
        return AnswerAlone()
    if sys.stdout is not None and sys.stdout.isatty():
        return Live(Console(highlight=False), stop)
    return PlainLines()


class JsonLines(Display):
    def show(self, event: events.Event) -> None:
        _write(sys.stdout, event.to_json())


class AnswerAlone(Display):
    def show(self, event: events.Event) -> None:
        if isinstance(event, events.AnswerFinished) and event.finish_reason != "cancelled":
            _write(sys.stdout, clean(event.text))
        elif isinstance(event, events.QuestionSettled | events.Warning):
            for line in event_lines.lines_of(event):
                _write(sys.stderr, line.text)


class PlainLines(Display):
    """A display for pipes and files: margins, answer and sources on standard output, the rest on standard error."""

    def __init__(self) -> None:
        self._several, self._of, self._answering = False, 0, False

    def show(self, event: events.Event) -> None:
        for line in event_lines.lines_of(event):
            _write(sys.stdout if line.is_result else sys.stderr, line.text)
        match event:
            case events.RecallStarted():
                self._several = True
            case events.PagesRecognised():
                _write(sys.stderr, event_lines.format_scan(event))
            case events.ReadingStarted():
                self._several, self._of = self._several or len(event.documents) > 1, event.segments
            case events.SegmentRead():
                where = event_lines.format_place(event, self._several)
                _write(sys.stderr, f"read segment {event.segment + 1} of {event.of}, {where}, {event.tokens} tokens")
            case events.MarginJudged():
                mark = "relevant so far" if event.relevant else "not relevant"
                place, sure = event_lines.format_place(event, self._several), event_lines.format_relevance(event)
                how = ", ".join(filter(None, (place, mark, sure)))
                _write(sys.stdout, f"margin {event.segment + 1}/{self._of} [{how}] {event_lines.format_margin(event)}")
            case events.AnswerProvisional():
                _write(sys.stderr, event_lines.format_provisional(event, self._several))
            case events.AnswerDelta():
                _write(sys.stdout, ("" if self._answering else "answer: ") + clean(event.text), end="")
                self._answering = True
            case events.AnswerFinished():
                _write(sys.stdout, "", end="\n" if self._answering else "")
                for one in event_lines.format_sources(event, self._several):
                    opens = f": {one.opens}" if one.opens else ""
                    if event.status == "not_found":  # its relevance would mislead: it does not answer
                        _write(sys.stdout, f"nearest: {one.where}{opens}")
                    else:
                        _write(sys.stdout, f"source: {one.where} (relevance {one.relevance:.2f}){opens}")
                _write(sys.stderr, event_lines.format_outcome(event))


class Live(Display):
    """A display for a terminal: finished lines, and below them a progress bar and the margin that is being written.
    Text is never parsed as rich's markup, because documents may contain square brackets."""

    def __init__(self, console: Console, stop: str = _STOP) -> None:
        self.console, self._stop = console, stop
        self._by_segments = False
        """True to count progress in segments, because the number of tokens to read is not known."""
        self._progress = self._bar()
        # Not rich's own thread, which may draw between a line's layout and its output
        self._live, self._drawn = RichLive(console=console, auto_refresh=False, transient=True), 0.0
        self._task: TaskID | None = None
        self._several, self._writing, self._answered = False, "", False
        self._place = self._best = self._doing = self._so_far = ""
        self._wrap = WordWrap(console.width)

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def show(self, event: events.Event) -> None:
        if isinstance(event, events.ReadingFinished):
            self._live.stop()
        for line in event_lines.lines_of(event):
            self._print(line.text, line.style)
        self._show(event)
        self._refresh()
        self.tick()

    def tick(self) -> None:
        if self._live.is_started and time.monotonic() > self._drawn + _REFRESH:
            self._live.refresh()
            self._drawn = time.monotonic()

    def _show(self, event: events.Event) -> None:
        match event:
            case events.PagesRecognised():
                self._busy("" if event.pages == event.of else event_lines.format_scan(event))
            case events.RecallStarted():
                self._several = True
                self._busy("recalling")
            case events.TitlesRecalled():
                self._doing = "reading likely passages"
            case events.PassagesRecalled():
                self._doing = ""
            case events.ReadingStarted():
                self._begin(event)
            case events.SegmentsEmbedded():
                self._doing = f"{event.segments} of {event.of} segments embedded" * (event.segments < event.of)
            case events.ReadingProgress() if self._task is not None and not self._by_segments:
                self._progress.update(self._task, completed=event.tokens)
            case events.SegmentRead():
                self._place = event_lines.format_place(event, self._several)
            case events.SegmentScored():
                self._best = self._place if event.rank == 1 else self._best
                if self._by_segments and self._task is not None:
                    better = event_lines.format_better(event.unread_probability)
                    self._progress.update(self._task, advance=1, better=better)
            case events.AnswerProvisional():
                self._so_far = event_lines.format_provisional(event, self._several)
            case events.AnswerRevised():
                self._live.stop()
                self._print("\nA better passage was found; the answer again", "bold")
            case events.MarginDelta():
                self._writing += event.text
            case events.MarginJudged():
                self._writing = ""
                self._margin(event)
            case events.AnswerDelta():
                if not self._answered:
                    self._live.stop()
                    self._print("\nAnswer", "bold")
                self._answered = True
                self.console.print(Text(self._wrap(clean(event.text))), end="", soft_wrap=True)
            case events.AnswerFinished():
                self._finish(event)

    def _begin(self, event: events.ReadingStarted) -> None:
        self._several = self._several or len(event.documents) > 1
        margins = "● relevant to the question (0 to 1), ○ not; " if event.relevance else ""
        self._print(f"{margins}Ctrl-C {self._stop}", "dim")
        self._by_segments = event.within == AUTO or event.read_segments > 0
        within = Within.parse(event.within or ALL)
        self._progress = self._bar(within)
        total = event.segments if self._by_segments else math.ceil(event.tokens * (within.share or 1))
        self._task = self._progress.add_task("", total=total, completed=event.read_segments, better="")
        self._live.start()

    def _print(self, text: str, style: str) -> None:
        self.console.print(Text(text, style))

    def _busy(self, doing: str) -> None:
        self._doing = doing
        self._live.start()

    def _margin(self, event: events.MarginJudged) -> None:
        sure, place = event_lines.format_relevance(event), event_lines.format_place(event, self._several)
        how = " · ".join(filter(None, (sure, place)))
        text = Text(event_lines.format_margin(event), "" if event.relevant else "dim")
        if short := event_lines.short_answer_of(event):
            text.highlight_words([short], "bold")
        self._print(f"{'●' if event.relevant else '○'} {how}", "green" if event.relevant else "dim")
        self.console.print(Padding(text, (0, 0, 0, 2)))

    def _bar(self, within: Within = Within()) -> Progress:  # noqa: B008
        """Returns a bar of the tokens read, or a count of the segments read, with the time. ``within``: the limit."""
        if self._by_segments:
            read = "{task.completed} of {task.total:,} segments read{task.fields[better]}"
            return Progress(TextColumn(read), TimeElapsedColumn(), console=self.console)
        at_most = [TextColumn(f"· of {within.seconds:g} s at most")] if within.seconds else []
        left = [] if at_most else [TextColumn("· left"), TimeRemainingColumn()]
        tokens = TextColumn("{task.completed:,} of {task.total:,} tokens")
        columns = (TextColumn("reading"), BarColumn(), tokens, TimeElapsedColumn(), *at_most, *left)
        return Progress(*columns, console=self.console)

    def _finish(self, event: events.AnswerFinished) -> None:
        self._live.stop()
        if self._answered:
            self.console.print(Text(self._wrap.rest()), soft_wrap=True)
        elif event.text and event.finish_reason != "cancelled":
            self._print("\nNo better passage was found; the answer stays", "bold")
        is_found = event.status != "not_found"
        sources = event_lines.format_sources(event, self._several)
        if sources:
            self._print("\nSources" if is_found else "\nNearest", "bold")
        for one in sources:
            how = f" · relevance {one.relevance:.2f}" if is_found else ""
            line = Text(f"  {one.where}{how}", "green")
            if one.link:
                line.stylize(f"link {one.link}", 2)
            self.console.print(line.append(f" · {one.opens}" if one.opens else "", "dim"))
        self._print(event_lines.format_outcome(event), "dim")

    def _refresh(self) -> None:
        if not self._live.is_started:
            return
        if self._doing:
            self._live.update(Spinner("dots", Text(self._doing, "dim")))
            return
        below = ((self._so_far, "bold"), (self._best and f"most relevant so far: {self._best}", "dim"),
                 (clean(" ".join(self._writing.split())), "italic"))  # fmt: skip
        self._live.update(Group(self._progress, *(Text(text, style) for text, style in below if text)))


def _write(file: TextIO | None, text: str, end: str = "\n") -> None:
    if file is not None:  # None: the parent process closed the stream
        file.write(text + end)
        file.flush()


class WordWrap:
    """Wraps streamed text between words, and between Chinese or Japanese characters. A word is held back until it is
    complete, or as long as two lines."""

    def __init__(self, width: int) -> None:
        self._width, self._column, self._word = max(width, 10), 0, ""

    def __call__(self, text: str) -> str:
        """Takes the next piece of the text, and returns what can be printed now, with line breaks."""
        out = ""
        for c in text:
            if not c.isspace():
                # Punctuation is wide too, but stays on the line of the character before it
                is_wide = unicodedata.east_asian_width(c) == "W" and unicodedata.category(c) != "Po"
                out += self.rest() if is_wide or len(self._word) >= 2 * self._width else ""
                self._word += c
                continue
            out += self.rest()
            if c == "\n" or self._column >= self._width - 1:
                out, self._column = out + "\n", 0
            elif self._column or out:
                out, self._column = out + " ", self._column + 1
        return out

    def rest(self) -> str:
        """Returns the word that was held back; puts a line break before it if it does not fit on the line."""
        word, self._word = self._word, ""
        width = cell_len(word)
        fresh = self._column and self._column + width > self._width
        self._column = width if fresh else self._column + width
        return "\n" + word if fresh else word
