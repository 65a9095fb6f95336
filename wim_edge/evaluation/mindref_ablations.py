"""MindRef with a part of it left out, to tell what each part brings (docs/choices.md): no product uses these."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from wim_edge.engine.protocols import Context
from wim_edge.recall.beams import Search
from wim_edge.recall.mindref import PASSAGE, PASSAGE_WIDTH, MindRef, Prefix, Title
from wim_edge.recall.suffix_array import LONGEST, SuffixArray


class AblatedMindRef(MindRef):
    """MindRef with either stage alone, and with titles that nothing constrains."""

    def cells(self, query: str) -> int:
        return super().cells(query) + sum(map(len, self._flat))

    def positions(self, query: str) -> int:
        return super().positions(query) + sum(map(len, self._flat))

    def find_without_titles(self, context: Context, query: str, most: int) -> list[Prefix]:
        """Returns passages of the whole library, without titles: the paper's ablation."""
        opening = self._standing(context, "flat", self._flat[0])
        with opening.fork() as sequence:
            sequence.append([*self._model.tokenize(" " + query), *self._flat[1]])
            return self._prefixes(self.index.passage_runs, context, sequence, most)

    def write_free_title(self, context: Context, query: str) -> Title:
        """Returns the title that the model writes when nothing constrains it, and the documents, perhaps none, that
        bear it."""
        said: list[int] = []
        with self._after_question(context, query).fork() as sequence:
            while len(said) < LONGEST - 1:
                token = int(sequence.logits.argmax())
                if token == self._paged[2][0] or self._model.is_eog(token):
                    break
                said.append(token)
                sequence.append([token])
        self.decoded_tokens += len(said)
        runs = self.index.title_runs
        found = runs.find([*said, runs.end]) if said else None
        documents = tuple(self.index.document_at(runs.places(found)).tolist()) if found else ()
        return Title(documents, tuple(said), 0.0)

    @cached_property
    def _flat(self) -> list[list[int]]:
        """Tokens before the question and before the passage."""
        bos, (examples, *parts) = self._model.bos_tokens, self._prompts.recall(paged=False)
        return [[*bos, *self._model.tokenize(examples)], *map(self._model.tokenize, parts)]


class WholeMindRef(MindRef):
    """MindRef whose passages are decoded to their end, rather than located by a short prefix."""

    def cells(self, query: str) -> int:
        return super().cells(query) + PASSAGE_WIDTH * (PASSAGE - self._prefix)

    def positions(self, query: str) -> int:
        return super().positions(query) + PASSAGE - self._prefix

    def _search(self, runs: SuffixArray) -> Search:
        return replace(super()._search(runs), longest=PASSAGE, whole=True)
