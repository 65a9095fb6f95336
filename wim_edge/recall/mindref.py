"""MindRef's two stages on one model (arXiv 2402.17010, section 3): a title, then the beginning of a passage.

The sequences in the KV cache over time; the examples are evaluated once for all questions:

    [examples][question]                       a beam search on forks finds titles
    [examples][question][title 1][Passage:]    a fork for each title that was found, all in one batch; after each fork
    [examples][question][title 2][Passage:]    a beam search finds passages of its title's documents

Every token of a beam must continue a run that occurs in the library; title tokens that leave no choice are evaluated in
one step. Of a passage only a prefix is decoded (section 3.3): the rest is copied from the library, to `PASSAGE` tokens
from the place where the prefix occurs and the end of the last sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence as Seq
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from wim_edge.engine.batches import prefilled
from wim_edge.engine.protocols import Context, Logits, Model, Sequence
from wim_edge.engine.sampling import Step, log_likelihoods, log_softmax, search_beams
from wim_edge.reading.prompts import Prompts
from wim_edge.recall.index import LONGEST, SuffixArray, TokenIndex, TokenRange

TITLE_WIDTH, PASSAGE_WIDTH = 15, 10
"""The maximum numbers of beams in the two stages (section 4.1)."""
PREFIX = 16
"""The maximum number of a passage's tokens that are decoded (section 4.1)."""
PASSAGE = 150
"""The number of tokens of a returned passage, without the rest of its last sentence (section 4.1)."""
WEIGHTS = {"bm25": 0.3, "title": 0.3, "passage": 0.1, "likelihood": 1.0}
"""The weights of a passage's signals (`wim_edge.recall.recaller`)."""


@dataclass(frozen=True)
class Beam:
    """A run of tokens that occurs in the library, with the model's log-probability."""

    run: TokenRange
    tokens: tuple[int, ...] = ()
    logprob: float = 0.0
    """The log-probability of the tokens and, if the beam has ended, of the title's end, in nats."""
    ended: bool = False

    @property
    def score(self) -> float:
        """The mean log-probability per token, in nats, so that long titles are not penalized."""
        return self.logprob / max(1, len(self.tokens) + self.ended)


@dataclass(frozen=True)
class Search:
    """A beam search for runs of tokens that occur in a suffix array."""

    runs: SuffixArray
    width: int
    """The maximum number of beams that a step continues, and of beams that are returned."""
    longest: int = LONGEST - 1
    """The number of tokens at which a beam is complete."""
    ends: tuple[int, ...] = ()
    """The ids of tokens that end a title and so its beam. If empty, a run that occurs at one place completes a beam."""
    whole: bool = False
    """True if a beam goes on although its run occurs at only one place; for comparison with short prefixes."""
    form: Callable[[int], int] = int
    """Maps a token id to the id of its text after a space (" The" for "The"). A run begins with the likelier one."""

    def find(self, context: Context, prompt: Sequence) -> tuple[list[Beam], int]:
        """Returns the best beams after the prompt, best first, and the number of evaluated tokens. During the search
        each beam uses a sequence of the context. Raises Interrupted, ContextOverflowError."""
        found: list[Beam] = []

        def advance(live: list[tuple[Beam, Logits]]) -> list[Step[Beam]]:
            nonlocal found
            grown = [
                (beam, parent)
                for parent, (stretched, rows) in enumerate(live)
                for beam in self._grown(stretched, rows)
            ]
            complete = [*found, *(beam for beam, _ in grown if self._complete(beam))]
            found = sorted(complete, key=lambda beam: -beam.score)[: self.width]
            going = sorted((pair for pair in grown if not self._complete(pair[0])), key=lambda pair: -pair[0].score)
            # A mean may still rise, but a beam behind all complete beams hardly catches up
            if len(found) == self.width and going and going[0][0].score < found[-1].score:
                return []
            return [self._step(beam, parent) for beam, parent in going[: self.width]]

        spent = search_beams(context, prompt, Beam(self.runs.all), advance)
        return found, spent

    def _grown(self, beam: Beam, rows: Logits) -> Iterator[Beam]:
        """Yields the beam extended by each of the likeliest next tokens, and the beam as ended if its run may end here.
        ``rows``: the logits after each token of the last step, of which `Beam.logprob` already includes the first."""
        if more := list(beam.tokens[len(beam.tokens) - len(rows) + 1 :]):
            beam = replace(beam, logprob=beam.logprob + float(log_softmax(rows[:-1])[np.arange(len(more)), more].sum()))
        logprobs = log_softmax(rows[-1])
        tokens, edges = self.runs.successors(beam.run)
        if len(tokens) and tokens[-1] == self.runs.end:
            tokens = tokens[:-1]
            here = replace(beam, run=TokenRange(int(edges[-2]), int(edges[-1]), beam.run.length))
            if self.ends and beam.tokens:
                end = float(np.logaddexp.reduce(logprobs[list(self.ends)]))
                yield replace(here, logprob=beam.logprob + end, ended=True)
            elif beam.tokens:
                yield here
        forms = tokens if beam.tokens else np.array([self.form(int(token)) for token in tokens], np.int64)
        forms = np.where(logprobs[forms] > logprobs[tokens], forms, tokens) if len(tokens) else tokens
        for at in np.argsort(-logprobs[forms], kind="stable")[: self.width].tolist():
            run = TokenRange(int(edges[at]), int(edges[at + 1]), beam.run.length + 1)
            yield Beam(run, (*beam.tokens, int(forms[at])), beam.logprob + float(logprobs[forms[at]]))

    def _complete(self, beam: Beam) -> bool:
        if self.ends:
            return beam.ended
        alone = len(beam.run) == 1
        longest = self.longest if alone else min(self.longest, LONGEST - 1)
        if len(beam.tokens) >= longest or (alone and not self.whole):
            return True
        tokens, _ = self.runs.successors(beam.run)
        return len(tokens) == 1 and bool(tokens[0] == self.runs.end)

    def _step(self, beam: Beam, parent: int) -> Step[Beam]:
        """Returns the step that evaluates a beam's last token and, in a title, the next tokens while only one fits."""
        stretch, run = [beam.tokens[-1]], beam.run
        while self.ends and run.length < self.longest:
            tokens, _ = self.runs.successors(run)
            if len(tokens) != 1 or tokens[0] == self.runs.end:
                break
            stretch.append(int(tokens[0]))
            run = TokenRange(run.first, run.last, run.length + 1)
        return Step(replace(beam, run=run, tokens=(*beam.tokens, *stretch[1:])), parent, stretch)


@dataclass(frozen=True)
class Title:
    """A recalled title, and the documents that have it (indices of `TokenIndex.ids`)."""

    documents: tuple[int, ...]
    tokens: tuple[int, ...]
    score: float
    """log P(title | question) - log P(title), in nats."""


@dataclass
class Candidate:
    """A passage: characters ``[start, end)`` of a document, with its signals by name (see `WEIGHTS`)."""

    document: int
    """The document, as an index of `TokenIndex.ids`."""
    start: int
    end: int
    """The end in characters; -1 stands for the document's end."""
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return sum(WEIGHTS[signal] * score for signal, score in self.scores.items())


class MindRef:
    """Recalls a library's titles and passages with a model. ``decoded_tokens`` counts the tokens evaluated so far."""

    n_sequences = 4 + 2 * TITLE_WIDTH
    """The maximum number of open sequences: shared ones, the question's, forks for titles, and beams."""

    def __init__(self, model: Model, prompts: Prompts, index: TokenIndex, *, prefix: int = PREFIX) -> None:
        self._model, self._prompts, self.index, self._prefix = model, prompts, index, prefix
        self._spaced = cache(self._with_space)
        self._sequences: dict[str, Sequence] = {}
        self._asked: tuple[str, Sequence] | None = None
        """The current question and its sequence, from which every stage forks."""
        self.decoded_tokens = 0

    def cells(self, query: str) -> int:
        """Returns the maximum number of the context's cells that recall for this question takes."""
        fixed = 2 * sum(map(len, self._paged)) + len(self._model.tokenize(query))
        return fixed + (TITLE_WIDTH + 1) * LONGEST + PASSAGE_WIDTH * self._prefix

    def positions(self, query: str) -> int:
        """Returns the maximum length of a sequence, in tokens, during recall for this question."""
        return sum(map(len, self._paged)) + len(self._model.tokenize(query)) + LONGEST + self._prefix

    def forget(self) -> None:
        """Forgets all sequences; must be called after their context was closed."""
        self._sequences.clear()
        self._asked = None

    # The stages

    def titles(self, context: Context, query: str, most: int) -> list[Title]:
        """Returns up to ``most`` titles that the beams find, sorted by how much the question raises their probability.
        The paper sorts by mean log-probability, which also favours titles that are likely for any question: with that
        order the first title was right for 27% of questions, with this one for 40%. Raises Interrupted."""
        runs = self.index.title_runs
        search = Search(runs, TITLE_WIDTH, ends=(self._paged[2][0],))
        beams = self._find(search, context, self._after_question(context, query))
        prior = self._log_likelihoods(context, self._neutral(context), [beam.tokens for beam in beams])
        found = [
            Title(tuple(self.index.document_at(runs.places(beam.run)).tolist()), beam.tokens, beam.logprob - nothing)
            for beam, nothing in zip(beams, prior, strict=True)
        ]
        return sorted(found, key=lambda title: -title.score)[:most]

    def log_odds(self, context: Context, query: str, documents: Seq[int]) -> list[float]:
        """Returns log P(title | question) - log P(title), in nats, for each document (an index of `TokenIndex.ids`)."""
        index = self.index
        titles = [index.tokens[index.heads[at] : index.bodies[at] - 1].tolist() for at in documents]
        after = self._log_likelihoods(context, self._after_question(context, query), titles)
        nothing = self._log_likelihoods(context, self._neutral(context), titles)
        return [one - other for one, other in zip(after, nothing, strict=True)]

    def passages(self, context: Context, query: str, titles: Seq[Title], most: int) -> list[list[Candidate]]:
        """Returns for each title the ``most`` passages of its documents with the likeliest beginnings, best first."""
        with ExitStack() as stack:
            sequence = self._after_question(context, query)
            forks = [stack.enter_context(sequence.fork()) for _ in titles]
            context.append_each([(f, [*t.tokens, *self._paged[2]]) for f, t in zip(forks, titles, strict=True)])
            return [
                self._prefixes(self.index.passages_of(list(title.documents)), context, fork, most)
                for fork, title in zip(forks, titles, strict=True)
            ]

    # Parts

    def _prefixes(self, runs: SuffixArray, context: Context, sequence: Sequence, most: int) -> list[Candidate]:
        """Returns up to ``most`` passages with the likeliest beginnings, each where its beginning occurs first."""
        found = []
        for beam in self._find(self._search(runs), context, sequence)[:most]:
            place = int(runs.places(beam.run)[0])
            document = int(self.index.document_at(np.array([place]))[0])
            start, end = self.index.char_offset(place), self.index.sentence_end(place, PASSAGE)
            found.append(Candidate(document, start, -1 if end is None else end, {"passage": beam.score}))
        return found

    def _search(self, runs: SuffixArray) -> Search:
        return Search(runs, PASSAGE_WIDTH, self._prefix, form=self._spaced)

    def _find(self, search: Search, context: Context, sequence: Sequence) -> list[Beam]:
        beams, n_tokens = search.find(context, sequence)
        self.decoded_tokens += n_tokens
        return beams

    def _log_likelihoods(self, context: Context, sequence: Sequence, titles: Seq[Seq[int]]) -> list[float]:
        """Returns log P(title and its end | ``sequence``) of each title, in nats; leaves ``sequence`` unchanged."""
        ended = [[*title, self._paged[2][0]] for title in titles]
        self.decoded_tokens += sum(map(len, ended))
        return [float(own.sum()) for own, _ in log_likelihoods(context, sequence, ended, TITLE_WIDTH)]

    # Prompts

    @cached_property
    def _paged(self) -> list[list[int]]:
        """The prompt's tokens in three lists: before the question, before the title and before the passage."""
        bos, (examples, *parts) = self._model.bos_tokens, self._prompts.recall(paged=True)
        return [[*bos, *self._model.tokenize(examples)], *map(self._model.tokenize, parts)]

    def _after_question(self, context: Context, query: str) -> Sequence:
        """Returns the sequence of examples, question and request for a title. Every stage forks from this sequence."""
        if self._asked is not None:
            asked, sequence = self._asked
            if asked == query:
                return sequence
            self._asked = None
            sequence.close()
        opening = self._standing(context, "paged", self._paged[0])
        sequence = prefilled(opening.fork(), [*self._model.tokenize(" " + query), *self._paged[1]])
        self._asked = (query, sequence)
        return sequence

    def _neutral(self, context: Context) -> Sequence:
        """Returns the sequence that asks for a title without a question."""
        return self._standing(context, "neutral", [*self._paged[0], *self._paged[1]])

    def _standing(self, context: Context, name: str, tokens: list[int]) -> Sequence:
        """Returns the sequence ``name``, shared by all questions; the first call fills it with ``tokens``."""
        if name not in self._sequences:
            self._sequences[name] = prefilled(context.sequence(), tokens)
            self._sequences[name].checkpoint()
        return self._sequences[name]

    def _with_space(self, token: int) -> int:
        """Returns the token id of the same text after a space (" The" for "The"); if there is none, ``token``."""
        piece = self._model.piece(token).decode("utf-8", "replace")
        tokens = [] if piece[:1].isspace() else self._model.tokenize(" " + piece)
        return tokens[0] if len(tokens) == 1 else token
