"""Recall from a library with a model: from a question to the passages worth reading (docs/recall.md: retrievers,
signals). A passage's score is the weighted sum of its signals: ``bm25``; ``title``, how much likelier the question
makes the document's title, in nats; ``passage``, the mean log-probability of the passage's beginning, in nats a token;
``likelihood``, how much likelier the passage makes the question, in nats. Weights: docs/choices.md."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence as Seq
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from wim_edge.documents import Document
from wim_edge.engine.protocols import Context, Model
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.documents_db import has_changed
from wim_edge.library.library import Library, StoredDocument
from wim_edge.reading import events
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.control import Control
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.relevance import QuestionLikelihood
from wim_edge.reading.timings import Timings
from wim_edge.recall.index import LONGEST, TokenIndex, load_index, load_or_build_index, without_tokens
from wim_edge.recall.mindref import Candidate, MindRef, Title
from wim_edge.settings import Settings

_HITS, _TITLES = 10, 5  # the most passages from BM25, and the most titles from recall
_READ, _NEAR = 8, 3.0
"""The most candidates that are read, and how far a candidate's score may be below the best to be read or chosen."""
_LONGEST_READ = 512  # the most tokens of a candidate that are read to rank it
_SLACK = 64
_WHOLE = 512  # a document of fewer tokens is read whole for the answer, not only its recalled passages


class Recaller:
    """Recalls a library's passages for one question at a time. Raises LibraryError, MemoryBudgetError, Interrupted."""

    def __init__(
        self, model: Model, chat: ChatFormat, prompts: Prompts, library: Library, index: TokenIndex,
        mindref: MindRef | None = None,
    ) -> None:  # fmt: skip
        self._model, self._prompts, self._library, self.index = model, prompts, library, index
        self.mindref = mindref or MindRef(model, prompts, index)
        self._opening = chat.opening(model, prompts.system())
        self._place = {int(number): at for at, number in enumerate(index.ids)}
        self._context: Context | None = None
        self._documents: dict[int, StoredDocument] = {}
        """The documents loaded for this question, by their indices in ``index.ids``."""
        self.read_tokens = 0
        """The number of tokens of passages that were read to rank them."""

    def open(self, query: str) -> Context:
        """Returns a context with enough cells for ``query``. Raises InvalidRequestError if the query is too long."""
        question = len(self._model.tokenize(query))
        own = len(self._opening) + _LONGEST_READ + question + _SLACK  # a candidate, and the question after it
        need, positions = self.mindref.cells(query) + own + question, max(own, self.mindref.positions(query))
        if positions > self._model.info.n_ctx_train:
            raise InvalidRequestError(
                f"the question takes {positions:,} tokens of context, the model has {self._model.info.n_ctx_train:,}",
                "Ask a shorter question.",
            )
        if self._context is not None and self._context.n_ctx < need:
            self.close()
        if self._context is None:
            self._context = self._model.context(need, n_sequences=self.mindref.n_sequences + 2)
        return self._context

    def close(self) -> None:
        if self._context is not None:
            self._context.close()
            self._context = None
            self.mindref.forget()

    def recall(
        self, query: str, retriever: str = Settings.retriever, *, most: int = 4, listed: int = 10,
        documents: int = _TITLES, read: bool | None = None,
    ) -> Iterator[events.Event]:  # fmt: skip
        """Yields events. The last one, `PassagesRecalled`, has up to ``listed`` passages; up to ``most`` are chosen.
        ``documents``: the number of titles whose documents are searched for passages. ``read``: True reads candidates
        and ranks them by the question's likelihood too; None does so only with the retriever hybrid."""
        listed = max(listed, most)
        begin, decoded, prefilled = time.perf_counter(), self.mindref.decoded_tokens, self.read_tokens
        self._documents.clear()
        yield events.RecallStarted(self._library.name, len(self.index.ids), self._model.info.name, retriever)
        hits = self._library.search(query, max(_HITS, most)) if retriever != "recall" else []
        candidates = [Candidate(place, hit.start, hit.end, {"bm25": hit.score}) for hit in hits
                      if (place := self._place.get(hit.document)) is not None]  # fmt: skip
        if retriever != "bm25":
            titles = self.mindref.titles(self.open(query), query, documents)
            names = [self._document(one.documents[0]).title for one in titles]
            yield events.TitlesRecalled(tuple(zip(names, (one.score for one in titles), strict=True)))
            candidates = self._with_titles(query, candidates, titles)
        candidates = self._distinct(_best_first(candidates))
        heard = len(candidates)
        if candidates and (read or (read is None and retriever == "hybrid")):
            candidates, heard = self._rerank(query, candidates)
        if candidates and candidates[0].scores.get("likelihood", 1.0) <= 0:
            yield events.Warning("no passage makes the question likelier; the library may not answer it")
        # A candidate that was not read is never chosen in place of one that was
        chosen = [at < min(most, heard) and _near(one, candidates) for at, one in enumerate(candidates[:listed])]
        yield events.PassagesRecalled(
            tuple(self.recalled(one, chosen=is_chosen) for one, is_chosen in zip(candidates, chosen, strict=False)),
            self.mindref.decoded_tokens - decoded, self.read_tokens - prefilled, time.perf_counter() - begin,
        )  # fmt: skip

    def documents(self, passages: Seq[events.RecalledPassage]) -> list[Document]:
        """Returns the documents of the chosen passages, best first. Long documents are limited to these passages."""
        spans: dict[str, list[events.Chars]] = {}
        for passage in passages:
            if passage.chosen:
                spans.setdefault(passage.document, []).append(passage.chars)
        by_name = {kept.document.name: kept for kept in self._documents.values()}
        found = []
        for name, chars in spans.items():
            kept = by_name[name]
            document = replace(kept.document, notes=_notes(kept))
            # A token has at most 16 characters on average: a longer text needs no counting
            is_long = len(document.text) > 16 * _WHOLE or len(self._model.tokenize(document.text)) >= _WHOLE
            found.append(replace(document, parts=_merged(chars)) if is_long else document)
        return found

    # Signals

    def _with_titles(self, query: str, candidates: list[Candidate], titles: Seq[Title]) -> list[Candidate]:
        """Sets the candidates' signal ``title``, and adds a passage of each recalled title that BM25 did not find."""
        context = self.open(query)
        odds = {document: title.score for title in titles for document in title.documents}
        found = {candidate.document for candidate in candidates}
        unheard = [document for document in dict.fromkeys(c.document for c in candidates) if document not in odds]
        odds |= dict(zip(unheard, self.mindref.log_odds(context, query, unheard), strict=True))
        for candidate in candidates:
            candidate.scores["title"] = odds[candidate.document]
        new = [title for title in titles if not found.intersection(title.documents)]
        alone = not candidates
        for title, passages in zip(new, self.mindref.passages(context, query, new, 1), strict=True):
            for passage in passages:
                passage.scores = {"title": title.score} | (passage.scores if alone else {})
                candidates.append(passage)
        return candidates

    def _rerank(self, query: str, candidates: list[Candidate]) -> tuple[list[Candidate], int]:
        """Reads each of the best candidates alone, and ranks them again. Returns (all candidates, number read)."""
        near = [one for one in candidates[:_READ] if _near(one, candidates)]
        question = QuestionLikelihood(self._model, self._prompts, query)
        with ExitStack() as stack:
            opening = stack.enter_context(self.open(query).sequence())
            opening.append(self._opening)
            opening.checkpoint()
            nothing = question.log_likelihood(opening)
            for candidate in near:
                document = self._document(candidate.document)
                start, end = self._chars(candidate)
                heading = self._model.tokenize(self._prompts.document(document.heading, several=True))[:LONGEST]
                tokens = [*heading, *self._model.tokenize(document.text[start:end])][:_LONGEST_READ]
                with opening.fork() as sequence:
                    sequence.append(tokens)
                    candidate.scores["likelihood"] = question.log_likelihood(sequence) - nothing
                self.read_tokens += len(tokens)
        return [*_best_first(near), *candidates[len(near) :]], len(near)

    # Results

    def recalled(self, candidate: Candidate, *, chosen: bool) -> events.RecalledPassage:
        document, (start, end) = self._document(candidate.document), self._chars(candidate)
        place = document.place(start, end)
        return events.RecalledPassage(
            document.name, document.title, str(document.path), place.page, place.section, (start, end),
            document.text[start:end], candidate.score, dict(candidate.scores), chosen,
            document.place(max(start, end - 1), end).page,
        )  # fmt: skip

    def _chars(self, candidate: Candidate) -> events.Chars:
        """Returns (start, end) of the passage in its document, in characters, without white space around it."""
        whole = self._document(candidate.document).text
        start, end = candidate.start, candidate.end if candidate.end >= 0 else len(whole)
        text = whole[start:end]
        return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())

    def _distinct(self, candidates: list[Candidate]) -> list[Candidate]:
        """Returns the first candidate of each text: the library may contain copies of a file."""
        by_text: dict[str, Candidate] = {}
        for candidate in candidates:
            start, end = self._chars(candidate)
            by_text.setdefault(self._document(candidate.document).text[start:end], candidate)
        return list(by_text.values())

    def _document(self, at: int) -> Document:
        if at not in self._documents:
            found = self._library.documents([int(self.index.ids[at])])
            digest = self.index.digests[16 * at : 16 * at + 16].tobytes()
            if not found or found[0].digest != digest:
                raise LibraryError(f"library {self._library.name} was changed meanwhile", "Ask again.")
            self._documents[at] = found[0]
        return self._documents[at].document


def _notes(kept: StoredDocument) -> tuple[str, ...]:
    """Returns a note if a document's file has changed since it was added; no note if the file is missing."""
    with suppress(OSError, ValueError):
        if has_changed(Path(kept.document.path or ""), kept.file):
            return ("its file has changed since it was added; the text and its places are from before",)
    return ()


def _best_first(candidates: list[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda one: -one.score)


def _merged(spans: list[events.Chars]) -> tuple[events.Chars, ...]:
    """Returns the spans in order, with overlapping and adjoining spans merged into one."""
    merged: list[events.Chars] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _near(candidate: Candidate, candidates: Seq[Candidate]) -> bool:
    """Returns whether a candidate's score is at most `_NEAR` below the score of ``candidates[0]``, the best one."""
    return candidate.score >= candidates[0].score - _NEAR


class LibraryRecall:
    """A recaller for several libraries with one model. It keeps the `Recaller` of the last library for reuse."""

    def __init__(self) -> None:
        self._recaller: Recaller | None = None
        self._key = ("", "", False)
        """The folder and version of the recaller's library, and True if its index has no tokens."""

    def run(
        self, library: Library, query: str, model: Model, chat: ChatFormat, settings: Settings, control: Control,
        clock: Timings,
    ) -> Generator[events.Event, None, tuple[Recaller, tuple[events.RecalledPassage, ...]]]:  # fmt: skip
        """Yields a recall's events; returns (recaller, passages). Raises LibraryError, CapacityError, Interrupted."""
        recaller = yield from self._open(library, model, chat, settings, control)
        if settings.retriever != "bm25":  # bm25 asks no model
            control.attach(recaller.open(query))
        passages: tuple[events.RecalledPassage, ...] = ()
        recalled = recaller.recall(query, settings.retriever, most=settings.recall_passages)
        for event in clock.each("recall", recalled):
            yield event
            control.check()
            passages = event.passages if isinstance(event, events.PassagesRecalled) else ()
        return recaller, passages

    def _open(
        self, library: Library, model: Model, chat: ChatFormat, settings: Settings, control: Control
    ) -> Generator[events.Event, None, Recaller]:
        """Returns the last recaller, whose prompts are cached; a new one if the library is another or has changed."""
        key = (str(library.folder), library.version, settings.retriever == "bm25")
        if self._recaller is None or self._key != key:
            self.close()
            index = without_tokens(library) if settings.retriever == "bm25" else load_index(library, model)
            if index is None:
                yield events.Warning(f"library {library.name} is indexed for {model.info.name}, once for all questions")
                index = load_or_build_index(library, model, lambda _done, _of: control.check())
            prompts = Prompts(settings.templates, chat=chat.is_chat)
            self._key, self._recaller = key, Recaller(model, chat, prompts, library, index)
        return self._recaller

    def close(self) -> None:
        """Drops the last recaller and frees its context."""
        if self._recaller is not None:
            self._recaller.close()
            self._recaller = None
