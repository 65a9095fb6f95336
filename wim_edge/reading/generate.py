"""Decoding: one token at a time, returned as whole characters. Grounded decoding: small models miscopy numbers, codes,
dates in figures and addresses, or make them up. So each such value that a model writes must be in the passages: each
token must continue a value there, or end where that value ends. If no token allows this, the model continues freely,
and the value is reported (`unsupported`)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence as Seq
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wim_edge.documents import sentences
from wim_edge.engine.protocols import PLAIN_LETTERS, Logits, Model, Sequence
from wim_edge.engine.sampling import Sampler
from wim_edge.reading.cuts import LABELS, Cuts

VALUE = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w|https?://\S{1,400}|\w{0,40}\d(?:[\w.,:/-]{0,80}\w)?"
    r"|\w{1,40}-\w{0,40}\d[\w-]{0,80}"
)
"""A number, a code, a date in figures, an e-mail address or a URL."""
_WORD = re.compile(r"[^\s(\[{\"'“„«]+")
_SIGN = re.compile(r"^[^\w@]+")
_PARTS = re.compile(r"[-/:@]")
_OF_A_VALUE = re.compile(r"[\w@/:-]")  # a character that, next to a known value, makes a different value
_NUMBERING = re.compile(r"(?:^|\n)[ \t]*\d{1,2}[.)]?\Z")
_THOUSANDS = re.compile(r"(?<=\d)[,.\s'\u2019](?=\d{3}(?!\d))")  # separator
_LISTED = re.compile(r"^[ \t]*\d{1,2}[.)]\s", re.MULTILINE)
_SPELT = re.compile(r"\w+")
_NAMES_AT_MOST = 0.3  # share of capitalised words within sentences; above it, a capital does not mark a name
_SEEN = 200  # characters at the written text's end that are examined
_CANDIDATES = 256  # likeliest tokens that are examined
_LONGEST_LOOP, _LOOP_TOKENS = 64, 24


@dataclass
class Grounding:
    """Restricts the values (see `VALUE`) that a model may write to the values in ``texts``."""

    model: Model
    texts: Seq[str]

    def __post_init__(self) -> None:
        found = (match.group() for text in self.texts for match in VALUE.finditer(text.translate(PLAIN_LETTERS)))
        self._values = frozenset(part.casefold() for value in found for part in (value, *_parts(value)))

    def chosen(self, written: str, logits: Logits, choose: Callable[[Logits], int]) -> int:
        """Returns the token that ``choose`` takes after ``written``, the text so far. If this token makes an unknown
        value, ``choose`` takes again among likely tokens that make none; if there are none, the first token stays."""
        before, wish = written[-_SEEN:], choose(logits)
        if self._may_follow(before, wish):
            return wish
        likely = np.argpartition(-logits, min(_CANDIDATES, len(logits) - 1))[:_CANDIDATES]
        allowed = [token for token in map(int, likely) if self._may_follow(before, token)]
        tail = _begun(_last_word(before))
        going = [value for value in self._values if tail and value.startswith(tail) and len(value) > len(tail)]
        ahead = (self.model.tokenize(value[len(tail) :])[:1] for value in going)
        allowed += [token for tokens in ahead for token in tokens if self._may_follow(before, token)]
        masked = np.full_like(logits, -np.inf)
        masked[allowed] = logits[allowed]
        return choose(masked) if np.isfinite(masked).any() else wish

    def _may_follow(self, before: str, token: int) -> bool:
        """Returns whether ``token`` may follow ``before``: each value must be in ``texts``, or begin a value there."""
        ends, piece = self.model.is_eog(token), self.model.piece(token).decode("utf-8", "replace")
        if not piece and not ends:
            return False
        text = before if ends else before + piece
        tail = _last_word(before)
        words = _WORD.findall(text[len(before) - len(tail) :])
        going = words.pop() if words and not ends and not text[-1:].isspace() else ""
        if _NUMBERING.search(text) or not all(map(self._is_known, words)):
            return bool(_NUMBERING.search(text))
        if not _is_value(going) or self._is_known(going):
            return True
        return any(value.startswith(_begun(going)) for value in self._values)

    def _is_known(self, word: str) -> bool:
        """Returns whether every value in ``word``, a complete word, is in ``texts``."""
        if not _is_value(word):
            return True
        own = (match.group().casefold() in self._values for match in VALUE.finditer(word))
        return all(own) and not _OF_A_VALUE.search(VALUE.sub("", word))


@dataclass
class Generation:
    """The decoding of one text. Iterate `pieces`; then ``text``, ``n_tokens`` and ``finish_reason`` are set."""

    model: Model
    sequence: Sequence
    sampler: Sampler
    max_tokens: int
    stops: tuple[str, ...] = ()
    refusal: str = ""  # words in lower case: a text that begins with them, in any case, ends there and stays empty
    strip: bool = True  # drops leading white space
    straight: bool = False  # leaves echoes and repeats in the text, as for a completion
    may_loop: bool = False  # goes on when the model repeats itself
    grounding: Grounding | None = None  # allows only values that are in the passages; None: any value
    labels: tuple[str, ...] = LABELS  # the prompt labels that are echoes at a line's beginning (`cuts.py`)
    text: str = ""
    n_tokens: int = 0
    finish_reason: Literal["stop", "length", "repeated"] = "length"
    _begun: bool = False

    def __post_init__(self) -> None:
        self._cuts = Cuts(self.labels)

    def pieces(self) -> Iterator[str]:
        """Yields the text in whole characters until an end-of-generation token, a stop text, ``max_tokens``, an echo or
        a repeat. Holds back characters that may be cut later. Raises Interrupted, ContextOverflowError."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        held = written = ""
        tokens: list[int] = []
        while self.n_tokens < self.max_tokens:
            logits = self.sequence.logits
            token = self.grounding.chosen(written, logits, self.sampler) if self.grounding else self.sampler(logits)
            self.n_tokens += 1
            if self.model.is_eog(token):
                self.finish_reason = "stop"
                break
            tokens.append(token)
            text = decoder.decode(self.model.piece(token))
            held, written = held + text, written + text
            if not self._begun:
                held = held.lstrip() if self.strip else held
                if self.refusal and held.lower().startswith(self.refusal):
                    held, self.finish_reason = "", "stop"
                    break
            cut = min((at for stop in self.stops if (at := held.find(stop)) >= 0), default=-1)
            if cut >= 0:
                held, self.finish_reason = held[:cut], "stop"
                break
            if not self.may_loop and is_repeating(tokens):
                self.finish_reason = "repeated"
                break
            if self.n_tokens == self.max_tokens:
                break
            safe = len(held) - self._held_back(held)
            piece, held = self._out(held[:safe]), held[safe:]
            if piece:
                yield piece
            if self._cuts.ended:
                return
            self.sequence.append([token])
        held += decoder.decode(b"", final=True) if self.finish_reason == "length" else ""
        if rest := self._out(held, last=True):
            yield rest

    def run(self) -> str:
        """Decodes to the end and returns the stripped text."""
        for _ in self.pieces():
            pass
        return self.text.strip()

    def _out(self, piece: str, *, last: bool = False) -> str:
        """Cuts echoes and repeats from a piece. Returns what is left and can be shown, and adds it to ``text``."""
        self._begun = self._begun or bool(piece)
        if not self.straight:
            piece = self._cuts.feed(piece, last=last)
            if self._cuts.ended:
                self.finish_reason = "repeated" if self._cuts.repeats.ended else "stop"
        self.text += piece
        return piece

    def _held_back(self, held: str) -> int:
        """Returns how many characters at the end of ``held`` may become a stop text or a refusal."""
        if not self._begun and self.refusal.startswith(held.lower()):
            return len(held)
        longest = max(map(len, self.stops), default=0)
        for n in range(min(longest, len(held)), 0, -1):
            if any(stop.startswith(held[-n:]) for stop in self.stops):
                return n
        return 0


def is_repeating(tokens: list[int]) -> bool:
    """Returns whether the tokens end in a loop: a run repeated at least three times, at least 24 tokens in all."""
    for period in range(1, min(_LONGEST_LOOP, len(tokens) // 3) + 1):
        if tokens[-1] != tokens[-1 - period]:
            continue
        span = max(3, -(-_LOOP_TOKENS // period)) * period
        if span <= len(tokens) and tokens[-span + period :] == tokens[-span:-period]:
            return True
    return False


def _is_value(word: str) -> bool:
    return any(char.isdigit() or char == "@" for char in word)


def _begun(word: str) -> str:
    """Returns a word in lower case, without signs such as "£" in front."""
    return _SIGN.sub("", word).casefold()


def _last_word(text: str) -> str:
    """Returns the word at the text's end; empty if the text ends with a separator."""
    words = _WORD.findall(text)
    return words[-1] if words and text.endswith(words[-1]) else ""


def _parts(value: str) -> Iterator[str]:
    """Yields a value's parts between dashes, slashes, colons and @, and all joined neighbours: of 1-2-3 also 1-2."""
    cuts = [0, *(match.start() for match in _PARTS.finditer(value)), len(value)]
    for first, start in enumerate(cuts[:12]):
        yield from (value[start:end].strip("-/:@") for end in cuts[first + 1 : 12])


def unsupported(text: str, known: Seq[str]) -> tuple[str, ...]:
    """Returns the numbers, codes, addresses and names of a text that none of the texts ``known`` contains.

    Case, thousands separators and list numbering are ignored.
    """
    plain = "\n".join(known).translate(PLAIN_LETTERS).casefold()
    plain += f"\n{_THOUSANDS.sub('', plain)}"
    found = dict.fromkeys(match.group().rstrip(".,:;") for match in VALUE.finditer(_LISTED.sub("", text)))
    values = [one for one in found if not any(_is_in(form, plain) for form in (one, _THOUSANDS.sub("", one)))]
    return (*values, *(name for name in _names(text, known) if not _is_in(name, plain)))


def _names(text: str, known: Seq[str]) -> list[str]:
    """Returns the capitalised words within sentences; none if the known texts capitalise many words, as in German."""
    inner = [word for one in known for word in _inner_words(one)]
    if sum(word[0].isupper() for word in inner) > _NAMES_AT_MOST * len(inner):
        return []
    return [word for word in dict.fromkeys(_inner_words(text)) if word[0].isupper()]


def _inner_words(text: str) -> Iterator[str]:
    """Yields the words of two letters or more, except the first word of each sentence."""
    for start, end in sentences(text):
        words = _SPELT.findall(text, start, end)
        yield from (word for word in words[1:] if len(word) > 1 and word.isalpha())


def _is_in(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(value.casefold())}(?!\w|[.,]\d)", text) is not None
