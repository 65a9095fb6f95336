"""Pointing: finds the short answer as a run of words in a passage, which the model can't invent. This is the second
stage of MindRef (arXiv 2402.17010, section 3.3) within one segment: a beam search in which every token must continue a
run of tokens of the segment. A run begins at a word and ends where the model ends the line. Its score is the
log-probability of its tokens and this end, minus losses. A growing beam's bound never rises, so the search stops once
an ended run beats the bounds of all beams, after a few short batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence as Seq
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from wim_edge.documents import Segment, sentences
from wim_edge.documents.tables import ROW
from wim_edge.documents.units import Row, inked
from wim_edge.engine.protocols import PLAIN_LETTERS, Context, Logits, Model, Sequence
from wim_edge.engine.sampling import Step, log_likelihoods, log_softmax, search_beams

_LONGEST_CELL = 120  # the most characters of a cell that can be an answer
BEAMS = 4  # 8 beams pointed no better
_LEAST = 1e-9
_ACROSS = 20.0  # nats that a run over two rows of a table loses: more than for any other reason
LONGEST = 40
"""The most tokens of a run. A beam of this length counts as ended even if the model would go on."""
NONE, YES, NO = " none", " Yes", " No"
"""The words that an adapter writes: `NONE` if the passage does not answer, the others to a yes-or-no question."""


@dataclass(frozen=True)
class AnswerRun:
    """Characters ``[start, end)`` of a document. ``logprob``: log P(run, end of line) - `_Ground.loss`, in nats."""

    start: int
    end: int
    logprob: float


@dataclass(frozen=True)
class Pointed:
    """The result of pointing into one segment. Scores are in nats."""

    runs: tuple[AnswerRun, ...]
    """The best runs, best first; empty if no run can begin in the segment."""
    answers: float
    """The log-odds that the segment answers the question; meaningful only with an adapter."""
    yes: float
    """The log-odds that the model answers Yes rather than No."""
    verdict: float
    """log P(the answer is Yes or No): high if the question asks for yes or no."""
    n_tokens: int
    """The number of tokens that the search decoded."""


@dataclass(frozen=True)
class RowRead:
    """The result of reading a table row alone."""

    row: Row
    answers: float
    """An adapter's log-odds, in nats, that the row answers the question."""
    cells: tuple[tuple[int, float], ...]
    """Pairs (cell number, log P(the cell is the answer) in nats)."""


@dataclass(frozen=True)
class _Beam:
    places: tuple[int, ...]
    """The token indices at which the beam's run begins; several if the segment repeats the run."""
    prefix: tuple[int, ...] = ()
    logprob: float = 0.0
    space: int | None = None
    """The token of the space that the model wrote before the run; None: no such token."""

    def bound(self, far: list[float]) -> float:
        """Returns an upper bound for the score of every run that continues the beam. ``far``: see `_Ground`."""
        return self.logprob - min(far[place] for place in self.places)


@dataclass(frozen=True)
class _Ground:
    """A segment's tokens, with the offsets, places and losses that the search needs."""

    text: str
    tokens: tuple[int, ...]
    chars: list[int]
    """The offset in ``text`` where each token begins, in characters; last, the length of ``text``."""
    places: tuple[int, ...]
    """The indices of the tokens with which a run may begin."""
    may_end: list[bool]
    words: list[int]
    """The number of tokens with a letter or digit before each token, and before the end. A run needs one such token."""
    far: list[float]
    """The nats that a run loses if it begins at the token; one number for each token."""

    def loss(self, place: int, n: int) -> float:
        """Returns the nats that the run of ``n`` tokens from token ``place`` loses: ``far`` of this token, and
        `_ACROSS` if the run crosses into another row of a table."""
        text, start, end = self.text, self.chars[place], self.chars[place + n]
        stop = text.find("\n", start, end)
        crosses = stop >= 0 and text[stop:end].strip()
        is_row = crosses and ROW.search(text[text.rfind("\n", 0, start) + 1 : stop].strip())
        return (_ACROSS if is_row else 0.0) + self.far[place]


@dataclass
class Pointer:
    """Finds, with one model, the words of a segment that answer (a run). ``longest``: the most tokens of a run."""

    model: Model
    context: Context
    longest: int = LONGEST
    _ends: list[int] = field(init=False)
    """The tokens that end a line or the text."""
    _forms: dict[int, list[int]] = field(default_factory=dict)
    _verdicts: set[tuple[int, ...]] = field(default_factory=set)
    """The tokens of "none", "yes" and "no" in all forms. Such a run is no answer: the adapter means its verdict."""

    def __post_init__(self) -> None:
        if self.model.has_adapter:
            said = [form for word in ("none", "yes", "no") for form in (word, word.capitalize())]
            self._verdicts = {tuple(self.model.tokenize(text)) for word in said for text in (word, f" {word}")}
        lines = [tokens[0] for text in ("\n", "\n\n") if len(tokens := self.model.tokenize(text)) == 1]
        self._ends = [*lines, *self.model.eog_tokens]

    def log_odds(self, logits: NDArray[np.float32]) -> float:
        """Returns the log-odds, in nats, that the text answers: "none" is not next. ``logits``: after the prompt."""
        none = float(log_softmax(logits)[self.model.tokenize(NONE)[0]])
        return float(-none + np.log(-np.expm1(min(none, -_LEAST))))

    def rate(self, sequence: Sequence, texts: Seq[str]) -> list[float]:
        """Returns, for each text, the log-probability in nats that the model writes this text and then ends the line.
        ``sequence``: ends with the prompt, and stays unchanged. Raises Interrupted, ContextOverflowError."""
        first = log_softmax(sequence.logits)
        forms = ([self.model.tokenize(f" {text}"), self.model.tokenize(text)] for text in texts)
        tokens = [max(pair, key=lambda form: float(first[form[0]])) for pair in forms]  # with or without the space
        rated = log_likelihoods(self.context, sequence, tokens, BEAMS, self._ends)
        return [float(own[0]) + sum(map(float, own[1:])) + end for own, end in rated]

    def read_row(self, sequence: Sequence, row: Row) -> RowRead:
        """Returns how probably the row, and each of its cells, answers. Leaves out empty and long cells. ``sequence``:
        ends with the row and the prompt. Raises Interrupted, ContextOverflowError."""
        cells = [n for n, text in enumerate(row.texts) if 0 < len(text) <= _LONGEST_CELL]
        rated = self.rate(sequence, [row.texts[n] for n in cells])
        return RowRead(row, self.log_odds(sequence.logits), tuple(zip(cells, rated, strict=True)))

    def point(
        self, sequence: Sequence, segment: Segment, *, avoid: Seq[tuple[int, int]] = (),
        asked: Seq[tuple[int, int, float]] = (),
    ) -> Pointed:  # fmt: skip
        """Returns the runs of words in the segment with which the model would answer (`Pointed`). ``sequence``: ends
        with the prompt, and stays unchanged; up to four forks are the beams. ``avoid``: ranges ``[start, end)`` in the
        segment's text where no run begins or ends, such as headings. ``asked``: triples (start, end, nats); a run that
        begins in this range loses these nats. Raises Interrupted, ContextOverflowError."""
        text, tokens = segment.text, segment.tokens
        chars, whole = char_offsets(self.model.piece, text, tokens)
        begins = [inked(text, at, len(text))[0] for at in chars[:-1]]
        barred = [any(start <= at < end for start, end in avoid) for at in begins]
        logits = sequence.logits
        yes, no = (float(log_softmax(logits)[self.model.tokenize(word)[0]]) for word in (YES, NO))
        ends = [whole[n + 1] and _is_edge(text, chars[n + 1]) for n in range(len(tokens) - 1)]
        ground = _Ground(
            text, tokens, chars,
            places=tuple(n for n, at in enumerate(begins)
                         if whole[n] and not barred[n] and at < chars[n + 1] and _is_edge(text, at)),
            may_end=[end and not bar for end, bar in zip([*ends, True], barred, strict=False)],
            words=[0, *accumulate(any(map(str.isalnum, text[start:end])) for start, end in pairwise(chars))],
            far=[next((loss for start, end, loss in asked if start <= at < end), 0.0) for at in begins],
        )  # fmt: skip
        found, spent = self._search(sequence, ground)
        runs: list[AnswerRun] = []
        for place, n, logprob in found:
            start, end = _trimmed(text, chars[place], chars[place + n])
            run = AnswerRun(segment.start + start, segment.start + end, logprob)
            if start < end and all((run.start, run.end) != (other.start, other.end) for other in runs):
                runs.append(run)
        return Pointed(tuple(runs), self.log_odds(logits), yes - no, float(np.logaddexp(yes, no)), spent)

    def _search(self, sequence: Sequence, ground: _Ground) -> tuple[list[tuple[int, int, float]], int]:
        """Returns (runs, number of tokens decoded). A run is (first token's index, number of tokens, score in nats)."""
        found: list[tuple[int, int, float]] = []

        def advance(live: list[tuple[_Beam, Logits]]) -> list[Step[_Beam]]:
            nonlocal found
            grown: list[tuple[_Beam, int]] = []
            for parent, (beam, rows) in enumerate(live):
                logprobs, depth = log_softmax(rows[-1]), len(beam.prefix)
                some = [place for place in beam.places if ground.words[place + depth] > ground.words[place]]
                ended = [place for place in some if depth == self.longest or ground.may_end[place + depth - 1]]
                if ended and beam.prefix not in self._verdicts:
                    end = float(np.logaddexp.reduce(logprobs[self._ends]))
                    nearest = min(ended, key=ground.far.__getitem__)
                    found.append((nearest, depth, beam.logprob + end - ground.loss(nearest, depth)))
                if depth < self.longest:
                    grown += [(longer, parent) for longer in self._grown(beam, ground.tokens, logprobs)]
            going = sorted(grown, key=lambda pair: -pair[0].bound(ground.far))[:BEAMS]
            found = sorted(found, key=lambda run: -run[2])[:BEAMS]
            if going and found and found[0][2] >= going[0][0].bound(ground.far):
                return []
            return [Step(beam, parent, beam.prefix[-1:] or [cast("int", beam.space)]) for beam, parent in going]

        spent = search_beams(self.context, sequence, _Beam(ground.places), advance) if ground.places else 0
        return found, spent

    def _grown(self, beam: _Beam, tokens: tuple[int, ...], logprobs: NDArray[np.float32]) -> Iterator[_Beam]:
        """Yields a longer beam for each token that continues the run in the segment. A run's first token may lose or
        gain a leading space, if likelier. Also yields beams of a space alone, which tokenizers part from a digit."""
        depth = len(beam.prefix)
        following: dict[int, list[int]] = {}
        for place in beam.places:
            if place + depth < len(tokens):
                following.setdefault(tokens[place + depth], []).append(place)
        parted: dict[int, list[int]] = {}
        for token, places in following.items():
            *apart, form = self._other_form(token) if depth == 0 and beam.space is None else [token]
            if apart:
                parted.setdefault(apart[0], []).extend(places)
            form = form if logprobs[form] > logprobs[token] else token
            yield _Beam(tuple(places), (*beam.prefix, form), beam.logprob + float(logprobs[form]), beam.space)
        for space, places in parted.items():
            yield _Beam(tuple(places), (), beam.logprob + float(logprobs[space]), space)

    def _other_form(self, token: int) -> list[int]:
        """Returns the tokens of the text with its leading space removed or added; else the token itself."""
        if token not in self._forms:
            piece = self.model.piece(token).decode("utf-8", "replace")
            other = piece[1:] if piece.startswith(" ") else " " + piece
            tokens = self.model.tokenize(other) if piece.strip() else []
            is_parted = len(tokens) == 2 and tokens[1] == token and not self.model.piece(tokens[0]).strip()
            self._forms[token] = tokens if len(tokens) == 1 or is_parted else [token]
        return self._forms[token]


def _is_edge(text: str, at: int) -> bool:
    """Returns whether a word may begin or end at offset ``at``: never within a word of a spaced script."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    return not (before.isalnum() and after.isalnum()) or after >= "\u2e80"


_QUOTES = {"(": ")", "[": "]", "“": "”", "«": "»", "„": "“", '"': '"', "'": "'"}


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns ``[start, end)`` without surrounding white space, brackets or quotes, and without end punctuation."""
    start, _ = inked(text, start, end)
    while end > start and (text[end - 1].isspace() or text[end - 1] in ",;:.!?。，；：|*"):
        closes_abbreviation = text[end - 1] == "." and "." in text[start : end - 1].rsplit(" ", 1)[-1]
        if closes_abbreviation:
            break
        end -= 1
    while end - start > 1 and text[start] in "|*#":
        start, _ = inked(text, start + 1, end)
    if end - start > 2 and _QUOTES.get(text[start]) == text[end - 1]:
        return start + 1, end - 1
    return start, end


_SPACE = "\u2581"
_ASTRAY = 16  # bytes to look ahead for a token's bytes that are not where they are expected


def beginnings(
    piece: Callable[[int], bytes], text: str, tokens: Seq[int], longest: int
) -> tuple[list[int], dict[int, int]]:
    """Returns the character offsets of the tokens and of the text's end, and {index of a sentence's first token: offset
    of the sentence's end in characters}. In a sentence of more than ``longest`` tokens, such as a table, every word
    counts as a beginning. ``piece``: returns the bytes of a token (`wim_edge.engine.protocols.Model.piece`)."""
    chars, whole = char_offsets(piece, text, tokens)
    spans = [(bisect_right(chars, start) - 1, end) for start, end in sentences(text)]
    ends: dict[int, int] = {}
    for number, (first, end) in enumerate(spans):
        last = spans[number + 1][0] if number + 1 < len(spans) else len(tokens)
        begins = (at for at in range(first, last) if whole[at] and text[chars[at] : chars[at + 1]].strip())
        for at in begins:
            ends[at] = end
            if last - first <= longest:
                break
    return chars, ends


def char_offsets(piece: Callable[[int], bytes], text: str, tokens: Seq[int]) -> tuple[list[int], list[bool]]:
    """Returns the character offsets of the tokens and of the text's end, and whether each token begins where a
    character begins. A token that begins inside a character has the offset of the next one. U+2581, which SentencePiece
    writes for a space, counts as a space."""
    pieces, chars = [piece(token) for token in tokens], [char.translate(PLAIN_LETTERS) for char in text]
    if b"".join(pieces) != "".join(chars).encode():
        pieces = [one.replace(_SPACE.encode(), b" ") for one in pieces]
        chars = [char.replace(_SPACE, " ") for char in chars]
    edges = np.cumsum([0, *(len(char.encode()) for char in chars)])
    data, starts, at = "".join(chars).encode(), [], 0
    for found in pieces:
        place = data.find(found, at, at + len(found) + _ASTRAY)
        at = max(at, place)  # the tokenizer changed the text: continue where both agree again
        starts.append(at)
        at = min(at + len(found), len(data))
    offsets = np.searchsorted(edges, starts)
    whole = edges[offsets] == starts
    return [*map(int, offsets), len(text)], [bool(w) for w in whole & (offsets < len(text))]
