"""The index of a library for recall with one model: the library's tokens, and where its titles and sentences begin.

    tokens   for each document: title, end mark, text, end mark (see `end_of`); uint16 or uint32
    ids      the documents' ids, int64; ``digests``: 16 bytes for each document's title, text and marks
    heads    indices in ``tokens`` where titles begin, then the length of ``tokens``; ``bodies``: where texts begin
    starts   indices in ``tokens`` where sentences begin; ``chars``: each sentence's character offset in its document
    titles   ``heads`` sorted by the tokens from each index on; ``sentences``: ``starts`` sorted in the same way

The index is one file, checked when it is opened (`library.array_file`), then mapped into memory. It records the
library's version. When the library changes, a new index takes over the tokens of unchanged documents.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.protocols import Model
from wim_edge.errors import LibraryError
from wim_edge.library.array_file import DamagedError, append_parts, open_mapped
from wim_edge.library.library import Library
from wim_edge.reading.pointing import beginnings
from wim_edge.system.atomic_files import replace_file

_KIND = (b"wim-edge  recall", 1)
_ENDING = ".tokens"
_LONG = 128  # tokens: in a longer sentence (a table, a list) every word counts as a beginning
_AT_ONCE = 256  # documents read from the library at a time

Told = Callable[[int, int], None]
"""A callback for progress: (number of documents tokenized so far, number of all documents)."""


@dataclass(frozen=True)
class TokenIndex:
    """The index of a library for one model, as arrays. The module's docstring describes each array."""

    ids: Ints
    heads: Ints
    bodies: Ints
    starts: Ints
    chars: Ints
    titles: Ints
    sentences: Ints
    tokens: Ints
    digests: Ints

    @cached_property
    def title_runs(self) -> SuffixArray:
        return SuffixArray(self.tokens, self.titles)

    @cached_property
    def passage_runs(self) -> SuffixArray:
        return SuffixArray(self.tokens, self.sentences)

    def passages_of(self, documents: list[int]) -> SuffixArray:
        """Returns the suffix array of the sentences of these documents, given as indices of ``ids``."""
        return self.passage_runs.inside(*((int(self.bodies[at]), int(self.heads[at + 1])) for at in documents))

    def document_at(self, places: Ints) -> Ints:
        """Returns the document of each place: an index of ``ids`` for each index of ``tokens``."""
        return np.searchsorted(self.heads, places, side="right") - 1

    def char_offset(self, place: int) -> int:
        """Returns the character offset, in its document, of the sentence at ``place`` (an index of ``tokens``)."""
        return int(self.chars[np.searchsorted(self.starts, place)])

    def sentence_end(self, place: int, n_tokens: int) -> int | None:
        """Returns the character offset of the document's first sentence at ``place + n_tokens`` or later, or None."""
        at = int(np.searchsorted(self.starts, place + n_tokens))
        document = int(self.document_at(np.array([place]))[0])
        is_inside = at < len(self.starts) and self.starts[at] < self.heads[document + 1]
        return int(self.chars[at]) if is_inside else None

    @property
    def arrays(self) -> dict[str, Ints]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def load_index(library: Library, model: Model) -> TokenIndex | None:
    """Returns the library's index for a model; None if it is missing, damaged or made for another library version."""
    return _opened(_path(library, model), {"version": library.version})


def _opened(path: Path, about: dict[str, str] | None) -> TokenIndex | None:
    with suppress(OSError, DamagedError):
        return TokenIndex(**open_mapped(path, _KIND, about))
    return None


def load_or_build_index(library: Library, model: Model, told: Told = lambda done, of: None) -> TokenIndex:
    """Returns the library's index for a model; builds and saves one if `load_index` finds none. Raises LibraryError."""
    known = load_index(library, model)
    if known is not None:
        return known
    version, path = library.version, _path(library, model)
    index = _build(library, model, _opened(path, None), told)
    try:
        with replace_file(path, private=True) as part:
            append_parts(part, _KIND, {"version": version}, index.arrays)
    except OSError as error:
        raise LibraryError(
            f"library {library.name}: its index cannot be written ({error.strerror or error})",
            "Free some space, or point WIM_EDGE_HOME at another disk.",
        ) from error
    return index


def without_tokens(library: Library) -> TokenIndex:
    """Returns an index of the library's documents without tokens, for BM25, which needs no model."""
    listed = library.digests()
    none = np.zeros(0, np.uint32)
    digests = np.frombuffer(b"".join(digest for _, digest in listed), np.uint8)
    heads = np.zeros(len(listed) + 1, np.uint32)
    ids = np.array([number for number, _ in listed], np.int64)
    return TokenIndex(ids, heads, heads[:-1], none, none, none, none, none, digests)


def _path(library: Library, model: Model) -> Path:
    return library.folder / (model.fingerprint + _ENDING)


@dataclass
class _IndexArrays:
    """One document's part of the index's arrays; ``body`` and ``starts`` count tokens from the title's beginning."""

    tokens: Ints
    body: int
    starts: Ints
    chars: Ints


def _build(library: Library, model: Model, before: TokenIndex | None, told: Told) -> TokenIndex:
    dtype = np.uint16 if model.info.n_vocab < end_of(np.zeros(0, np.uint16)) else np.uint32
    listed = library.digests()
    old = {before.digests[16 * at : 16 * at + 16].tobytes(): at for at in range(len(before.ids))} if before else {}
    piece = cache(model.piece)
    parts: dict[int, _IndexArrays] = {}
    for begin in range(0, len(listed), _AT_ONCE):
        some = listed[begin : begin + _AT_ONCE]
        for number, digest in some:
            if before is not None and digest in old:
                parts[number] = _taken(before, old[digest])
        for kept in library.documents([number for number, _ in some if number not in parts]):
            parts[kept.id] = _tokenized(model, piece, kept.title, kept.document.text, dtype)
        told(begin + len(some), len(listed))
    ids = [number for number, _ in listed if number in parts]
    each = [parts[number] for number in ids]
    heads = np.cumsum([0, *(len(part.tokens) for part in each)], dtype=np.uint32)
    tokens = np.concatenate([np.zeros(0, dtype), *(part.tokens for part in each)])
    starts = [part.starts + head for part, head in zip(each, heads[:-1], strict=True)]
    sentences = np.concatenate([np.zeros(0, np.uint32), *starts]).astype(np.uint32)
    return TokenIndex(
        ids=np.array(ids, np.int64), heads=heads, starts=sentences, tokens=tokens,
        bodies=(heads[:-1] + np.array([part.body for part in each], np.uint32)).astype(np.uint32),
        chars=np.concatenate([np.zeros(0, np.uint32), *(part.chars for part in each)]),
        titles=sorted_places(tokens, heads[:-1]), sentences=sorted_places(tokens, sentences),
        digests=np.frombuffer(b"".join(digest for number, digest in listed if number in parts), np.uint8),
    )  # fmt: skip


def _tokenized(
    model: Model, piece: Callable[[int], bytes], title: str, text: str, dtype: type[np.generic]
) -> _IndexArrays:
    head, body = model.tokenize(" " + title)[: LONGEST - 1], model.tokenize(text)
    chars, ends = beginnings(piece, text, body, _LONG)
    end, at = end_of(np.zeros(0, dtype)), len(head) + 1
    tokens = np.array([*head, end, *body, end], dtype)
    starts = np.array([chars[one] for one in ends], np.uint32)
    return _IndexArrays(tokens, at, np.array(list(ends), np.uint32) + at, starts)


def _taken(index: TokenIndex, at: int) -> _IndexArrays:
    """Returns one document's part of an earlier index; ``at`` is the document's index in ``index.ids``."""
    head, end = index.heads[at], index.heads[at + 1]
    first, last = np.searchsorted(index.starts, (head, end))
    return _IndexArrays(
        index.tokens[head:end], int(index.bodies[at] - head), index.starts[first:last] - head, index.chars[first:last]
    )


LONGEST = 64
"""The maximum number of tokens of a run that a `SuffixArray` finds."""
_MANY = 1024  # the successors of a run with more places are cached

Ints = NDArray[Any]
"""An array of integers: token ids, indices of another array, character offsets, or bytes."""


def end_of(tokens: Ints) -> int:
    """Returns the mark at the end of each title and text: the largest number of the tokens' type. No run crosses it."""
    return int(np.iinfo(tokens.dtype).max)


@dataclass(frozen=True)
class TokenRange:
    """A run of ``length`` tokens that occurs at the places ``order[first:last]`` of a `SuffixArray`."""

    first: int
    last: int
    length: int

    def __len__(self) -> int:
        return self.last - self.first


class SuffixArray:
    """A suffix array: ``order`` has indices of ``tokens``, sorted by the `LONGEST` tokens that begin at each index."""

    def __init__(self, tokens: Ints, order: Ints) -> None:
        self.tokens, self.order, self.end = tokens, order, end_of(tokens)
        self.all = TokenRange(0, len(order), 0)
        """The empty run, which occurs at every place."""
        self._kept: dict[TokenRange, tuple[Ints, Ints]] = {}

    def inside(self, *spans: tuple[int, int]) -> SuffixArray:
        """Returns a suffix array of those places that lie in one of the spans ``[start, end)`` of token indices."""
        chosen = np.zeros(len(self.order), bool)
        for start, end in spans:
            chosen |= (self.order >= start) & (self.order < end)
        return SuffixArray(self.tokens, self.order[chosen])

    def successors(self, run: TokenRange) -> tuple[Ints, Ints]:
        """Returns the k tokens that may follow a run, ascending (the end mark last), and k + 1 edges: token i follows
        it at the places ``order[edges[i]:edges[i + 1]]``."""
        found = self._kept.get(run)
        if found is None:
            found = self._steps(run)
            if len(run) > _MANY:
                self._kept[run] = found
        return found

    def find(self, tokens: list[int]) -> TokenRange | None:
        """Returns the run of these tokens, or None if the run does not occur."""
        run = self.all
        for token in tokens:
            following, edges = self.successors(run)
            at = int(np.searchsorted(following, token))
            if at == len(following) or following[at] != token:
                return None
            run = TokenRange(int(edges[at]), int(edges[at + 1]), run.length + 1)
        return run

    def places(self, run: TokenRange) -> Ints:
        """Returns the places where a run occurs in the tokens, ascending."""
        return np.sort(self.order[run.first : run.last])

    def _steps(self, run: TokenRange) -> tuple[Ints, Ints]:
        if run.length >= LONGEST and len(run) > 1:
            raise ValueError(f"a run of more than {LONGEST} tokens")
        following = self.tokens[self.order[run.first : run.last].astype(np.int64) + run.length]
        steps = np.flatnonzero(following[1:] != following[:-1]) + 1
        starts = np.concatenate([np.zeros(min(1, len(following)), steps.dtype), steps])
        return following[starts], np.append(starts, len(following)) + run.first


def sorted_places(tokens: Ints, places: Ints) -> Ints:
    """Returns the places (uint32), sorted by the `LONGEST` tokens from each. Needs memory for 64 tokens per place."""
    if not len(places):
        return np.zeros(0, np.uint32)
    places = np.asarray(places, np.uint32)
    big_endian = tokens.dtype.newbyteorder(">")
    padded = np.concatenate([tokens, np.full(LONGEST, end_of(tokens), tokens.dtype)]).astype(big_endian)
    keys = np.lib.stride_tricks.sliding_window_view(padded, LONGEST)[places]
    # Big-endian byte strings sort like the tokens, and numpy sorts them in one call
    return places[np.argsort(keys.view(f"S{LONGEST * big_endian.itemsize}").ravel(), kind="stable")]
