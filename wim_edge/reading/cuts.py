"""Cuts in a text that a model writes, before a person sees it: at an echo of the prompt (`Echoes`), then at a repeat
(`Repeats`). Both take the text in pieces, return what no later word can cut, and hold back the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

RUN = 8
"""The length, in words, of a run that may not occur twice."""
LABELS = ("Question:", "The text says", "Note:", "Answer:", "Document:")
"""The labels with which the prompts begin a line (`templates/`)."""
_INLINE = ("Question:", "Answer:")  # labels that are echoes after a sentence's end, too
_SENTENCE_END = tuple('!.?…”"')
_WORD = re.compile(r"\S+")
_EDGES = re.compile(r"^\W+|\W+$")
_NUMBERING = re.compile(r"(?:^|\n)[ \t]*(?:\d{1,3}[.)]?|[-*•–])\Z")


@dataclass
class _Cut:
    """A text that arrives in pieces. Its clear part can be shown: no later piece can cut this part."""

    ended: bool = False
    _text: str = ""
    _out: int = 0
    """The number of characters that were returned or dropped."""

    def feed(self, piece: str, *, last: bool = False) -> str:
        """Adds a piece; returns the text that can be shown now. ``last``: True for the last piece, to get the rest."""
        if self.ended:
            return ""
        self._text += piece
        clear = max(self._clear(last), self._out)
        given, self._out = self._text[self._out : clear], clear
        return given

    def _clear(self, last: bool) -> int:
        """Returns the offset up to which the text can be shown; sets ``ended`` if the text is cut there."""
        raise NotImplementedError


@dataclass
class Repeats(_Cut):
    """Cuts a text where eight words in a row occur again, or one to four words come three times in a row."""

    _at: int = 0
    """The offset of the first word that is not examined yet. The text's last word waits: it may be incomplete."""
    _words: list[tuple[str, int]] = field(default_factory=list)
    """The examined words, in lower case and without punctuation, each with its offset."""
    _seen: set[tuple[str, ...]] = field(default_factory=set)
    """All runs of 1 to `RUN` examined words."""
    _matched: int = 0
    """The length, in words, of the longest run at the text's end that also occurs earlier; at most `RUN`."""

    def _clear(self, last: bool) -> int:
        for found in _WORD.finditer(self._text, self._at):
            if found.end() == len(self._text) and not last:
                self._at = found.start()
                break
            self._add(_EDGES.sub("", found.group().casefold()) or found.group(), found.start())
            again = RUN if self._matched == RUN else self._in_turn()
            if again:
                self.ended = True
                return self._cut(self._words[-again][1])
            self._at = found.end()
        return len(self._text) if last else self._undecided()

    def _add(self, word: str, start: int) -> None:
        self._words.append((word, start))
        runs = [tuple(word for word, _ in self._words[-n:]) for n in range(1, min(RUN, len(self._words)) + 1)]
        self._matched = max((n for n, run in enumerate(runs, 1) if run in self._seen), default=0)
        self._seen.update(runs)

    def _in_turn(self) -> int:
        """Returns how many words to cut of three equal runs at the end: two runs; else 0. One word needs a digit."""
        said = [word for word, _ in self._words[-3 * RUN :]]
        for n in range(1, RUN // 2 + 1):
            last = said[-n:]
            counts = len(set(last)) > 1 or any(map(str.isdigit, last[0]))
            if counts and len(said) >= 3 * n and said[-3 * n :] == last * 3:
                return 2 * n
        return 0

    def _undecided(self) -> int:
        """Returns the offset after which a later word may still cut the text."""
        rest = self._text[self._at :].strip()
        plain = _EDGES.sub("", rest.casefold())
        if rest and not any(word.startswith(plain) for word, _ in self._words):
            return len(_without_numbering(self._text))  # a new word: no earlier run contains it
        begun = len(self._text) - len(self._text[self._at :].lstrip())
        return self._cut(self._words[-self._matched][1] if self._matched else begun)

    def _cut(self, start: int) -> int:
        """Returns where to cut for a repeat at offset ``start``: before a bracket or list number just before it."""
        before = self._text[:start]
        attached = re.search(r"\S*\Z", before)
        assert attached is not None
        return len(_without_numbering(before[: attached.start()].rstrip()))


@dataclass
class Echoes(_Cut):
    """Cuts a text before a line that begins with a prompt label, and drops labels at the text's beginning."""

    labels: tuple[str, ...] = LABELS
    _begun: bool = False
    """True once the labels at the text's beginning are dropped."""

    def _clear(self, last: bool) -> int:
        if not self._begun:
            self._drop_head(last)
        if not self._begun:
            return self._out
        for at in range(self._out, len(self._text)):
            if any(_is_at(self._text, at, label) and self._is_echo(at, label) for label in self.labels):
                self.ended = True
                return len(self._text[:at].rstrip())
        return len(self._text) if last else self._undecided()

    def _undecided(self) -> int:
        """Returns the offset from which to hold back the text: at an incomplete label, or at white space at the end."""
        for n in range(max(map(len, self.labels), default=0), 0, -1):
            end, at = self._text[-n:].casefold(), len(self._text) - n
            if at >= self._out and any(
                one.casefold().startswith(end) and self._is_echo(at, one) for one in self.labels
            ):
                return len(self._text[:at].rstrip())
        return len(self._text.rstrip())

    def _is_echo(self, at: int, label: str) -> bool:
        """Returns whether a label at ``at`` is an echo: at a line's beginning or, if in `_INLINE`, after a sentence."""
        before = self._text[:at].rstrip(" \t")
        inline = label in _INLINE and before.endswith(_SENTENCE_END) and len(before) < at
        return before.endswith("\n") or (inline and label.startswith(self._text[at : at + len(label)]))

    def _drop_head(self, last: bool) -> None:
        """Drops labels at the text's beginning, and a "Question:" line. Sets ``_begun`` once no label can follow."""
        while True:
            head = self._text[self._out :].lstrip()
            label = next((one for one in self.labels if _is_at(head, 0, one)), None)
            if label is None:
                self._begun = last or not any(one.casefold().startswith(head.casefold()) for one in self.labels)
                self._out = len(self._text) - len(head) if self._out else 0
                return
            line, end, _ = head.partition("\n")
            of_line = label in ("Question:", "The text says")
            if of_line and not end and not last and (label == "Question:" or ":" not in line):
                return  # the line's end has not arrived
            place = re.match(r"[^:\n]*:", head[len(label) :]) if label == "The text says" else None
            dropped = len(line) if label == "Question:" else len(label) + (place.end() if place else 0)
            self._out = len(self._text) - len(head[dropped:].lstrip())


class Cuts:
    """Cuts a text at echoes and at repeats: each piece of the text passes `Echoes`, then `Repeats`."""

    def __init__(self, labels: tuple[str, ...] = LABELS) -> None:
        self.echoes, self.repeats = Echoes(labels=labels), Repeats()

    def feed(self, piece: str, *, last: bool = False) -> str:
        clear = self.echoes.feed(piece, last=last)
        return self.repeats.feed(clear, last=last or self.echoes.ended)

    @property
    def ended(self) -> bool:
        return self.repeats.ended or self.echoes.ended


def labels_apart_from(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns the `LABELS` that occur in none of the texts: a label that a document contains is not an echo."""
    known = list(texts)
    return tuple(
        label for label in LABELS
        if not any(re.search(re.escape(label), text, re.IGNORECASE) for text in known)
    )  # fmt: skip


def _without_numbering(text: str) -> str:
    """Returns the text without a list number or dash at its end; unchanged if nothing else would be left."""
    shorter = _NUMBERING.sub("", text)
    return shorter.rstrip() if shorter.strip() and shorter != text else text


def _is_at(text: str, at: int, label: str) -> bool:
    return text[at : at + len(label)].casefold() == label.casefold()
