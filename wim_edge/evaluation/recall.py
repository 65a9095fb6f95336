"""Compares retrievers by the pages that they find in a library, with KILT's page-level metrics (Petroni et al. 2021).

    r_precision         the share of the first R pages that are in an evidence set of R pages; the best set counts
    recall_at_K         the share of evidence sets that are complete among the first K pages; the pages of a set
                        count as one page, at the rank of the set's last page
    answer_in_context   1 if any of the first five passages contains an answer
    titles_exist        the share of decoded titles that the library has (recall:titles, recall:free)

The retrievers by name. Some are variants, named after a colon; the stages are those of `wim_edge.recall.mindref`:

    bm25, recall, hybrid          as in `wim-edge ask --library`
    bm25:read, recall:read        the model reads candidates to rank them by the question's likelihood, as in hybrid
    hybrid:unread                 hybrid, but the model does not read the candidates
    recall:titles                 the first stage alone: titles; the passage is the beginning of a title's document
    recall:flat                   the second stage alone: passages of all documents, without titles
    recall:whole                  whole passages are decoded, instead of a short prefix that locates a passage
    recall:free                   the model writes a title without constraint, which is then looked up
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

from wim_edge.documents import Document
from wim_edge.documents.document import short
from wim_edge.engine.protocols import Context, Model
from wim_edge.errors import InvalidRequestError, WimEdgeError
from wim_edge.evaluation.example import Query, load_queries, take_part
from wim_edge.evaluation.metrics import contains, interval, mean
from wim_edge.evaluation.records import Record, RecordStore, fingerprint, read_records
from wim_edge.evaluation.report import write_recall_report
from wim_edge.evaluation.tasks import TaskOptions
from wim_edge.library.ingest import documents_in
from wim_edge.library.library import Library
from wim_edge.reading import events
from wim_edge.reading.chat import ChatFormat, chat_format
from wim_edge.reading.prompts import Prompts
from wim_edge.recall.index import LONGEST, SuffixArray, TokenIndex, load_or_build_index
from wim_edge.recall.mindref import PASSAGE, PASSAGE_WIDTH, Candidate, MindRef, Search, Title
from wim_edge.recall.recaller import Recaller
from wim_edge.runtime import Runtime
from wim_edge.settings import RETRIEVERS, Paths, Settings
from wim_edge.system.atomic_files import write_json
from wim_edge.system.journal import Watcher, templates_digest

ABLATIONS = ("titles", "flat", "whole", "free")
_READ = {"bm25:read": True, "recall:read": True, "hybrid:unread": False}
KNOWN = (*RETRIEVERS, *_READ, *(f"recall:{name}" for name in ABLATIONS))
LISTED, IN_CONTEXT = 10, 5
"""A retriever returns `LISTED` passages. An answer is searched for in the best `IN_CONTEXT` of them."""
SCORES = ("r_precision", "recall_at_1", "recall_at_5", "answer_in_context")


def parse_retrievers(text: str) -> list[str]:
    """Returns the retrievers named in a comma-separated list. Raises InvalidRequestError for no or unknown names."""
    found = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in found:
        if name not in KNOWN:
            raise InvalidRequestError(f"{name} is no retriever", f"There are {', '.join(KNOWN)}.")
    if not found:
        raise InvalidRequestError("no retriever is named", f"There are {', '.join(KNOWN)}.")
    return found


@dataclass(frozen=True)
class SearchLimits:
    """Limits of recall: the tokens of a passage to decode, and the number of titles whose documents are searched."""

    prefix: int
    documents: int


@dataclass(frozen=True)
class Retrieved:
    """A retriever's passages. ``decoded_titles``: those that recall:titles or recall:free wrote; None for others."""

    recalled: events.PassagesRecalled
    decoded_titles: tuple[str, ...] | None = None


class RetrieverComparison:
    """Runs the retrievers that are compared, on one library and with one model."""

    def __init__(
        self, model: Model, chat: ChatFormat, prompts: Prompts, library: Library, index: TokenIndex,
        limits: SearchLimits,
    ) -> None:  # fmt: skip
        self._model, self._chat, self._prompts = model, chat, prompts
        self._library, self._index, self._limits = library, index, limits
        self._recallers: dict[bool, Recaller] = {}

    def retrieve(self, retriever: str, query: str) -> Retrieved:
        """Returns the passages that a retriever (a name in `KNOWN`) finds for the query."""
        name, _, variant = retriever.partition(":")
        recaller = self._recaller(whole=variant == "whole")
        if variant in ABLATIONS and variant != "whole":
            return self._ablated(recaller, variant, query)
        found = recaller.recall(query, name, listed=LISTED, documents=self._limits.documents, read=_READ.get(retriever))
        return Retrieved(next(event for event in found if isinstance(event, events.PassagesRecalled)))

    def close(self) -> None:
        for recaller in self._recallers.values():
            recaller.close()

    def _recaller(self, *, whole: bool) -> Recaller:
        if whole not in self._recallers:
            kind = WholeMindRef if whole else AblatedMindRef
            mindref = kind(self._model, self._prompts, self._index, prefix=self._limits.prefix)
            self._recallers[whole] = Recaller(
                self._model, self._chat, self._prompts, self._library, self._index, mindref
            )
        return self._recallers[whole]

    def _ablated(self, recaller: Recaller, variant: str, query: str) -> Retrieved:
        mindref, context = recaller.mindref, recaller.open(query)
        assert isinstance(mindref, AblatedMindRef)
        begin, decoded = time.perf_counter(), mindref.decoded_tokens
        titles: list[Title] | None = None
        if variant == "flat":
            found = mindref.find_without_titles(context, query, LISTED)
        else:
            is_free = variant == "free"
            titles = [mindref.write_free_title(context, query)] if is_free else mindref.titles(context, query, LISTED)
            found = self._beginnings(titles)
        recalled = events.PassagesRecalled(
            tuple(recaller.recalled(one, chosen=False) for one in found), mindref.decoded_tokens - decoded, 0,
            time.perf_counter() - begin,
        )  # fmt: skip
        return Retrieved(recalled, None if titles is None else tuple(map(self._text, titles)))

    def _text(self, title: Title) -> str:
        return short(b"".join(map(self._model.piece, title.tokens)).decode("utf-8", "replace"))

    def _beginnings(self, titles: Sequence[Title]) -> list[Candidate]:
        """Returns the beginnings of the titles' documents: each to the first sentence end after `PASSAGE` tokens."""
        found = []
        for title in titles:
            for at in title.documents:
                end = self._index.sentence_end(int(self._index.bodies[at]), PASSAGE)
                found.append(Candidate(at, 0, -1 if end is None else end, {"title": title.score}))
        return found


def run_recall(
    options: TaskOptions, settings: Settings, folder: Path, command: str, watcher: Watcher[Record],
    on_index: Callable[[int, int], None], *, report: bool,
) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Runs all retrievers on a query before the next query. Returns (summary, True if Ctrl-C stopped the run).

    ``on_index`` is called with (number of indexed passages, number of all passages). A continued run skips what is
    stored, except failed results. Raises InvalidRequestError for options that recall does not take or lacks.
    """
    options.check("recall", ("data", "library", "part", "retriever", "size", "prefix", "titles"), ("data", "library"))
    assert options.data is not None
    assert options.library is not None
    retrievers = list(RETRIEVERS) if options.retriever is None else parse_retrievers(options.retriever)
    size = options.size
    limits = SearchLimits(options.prefix or 16, options.titles or 5)
    queries = take_part(load_queries(options.data), options.part or "all", key=lambda row: row.question)
    queries = queries[: options.limit]
    with ExitStack() as stack:
        runtime = stack.enter_context(Runtime(settings))
        model = runtime.open()
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wim-edge-eval-")))
        identity = {  # the facts that must be the same for a stopped run to continue
            "task": "recall", "model": model.info.name, "model_file": model.fingerprint, "limit": options.limit,
            "data": fingerprint(options.data), "library": fingerprint(options.library), "size": size,
            "part": options.part or "all",
            "templates": templates_digest(settings.templates) if settings.templates else "",
            "patterns": retrievers, "widths": asdict(limits),
        }  # fmt: skip
        passages = of_size(documents_in(options.library)[0], queries, size, settings.seed)
        if size is not None:  # the choice depends on the queries and the seed
            titles = "\n".join(title for title, _ in passages)
            identity["passages"] = hashlib.sha256(titles.encode("utf-8", "replace")).hexdigest()[:16]
        store = stack.enter_context(RecordStore(folder, identity))
        library = Library("passages", Paths(made, made, made, made), create=True)
        library.put(str(options.library), passages)
        held = {title for title, _ in passages}
        if missing := sum(not held.issuperset(query.titles) for query in queries):
            click.echo(f"warning: the library lacks a gold title of {missing} of {len(queries)} queries", err=True)
        index = load_or_build_index(library, model, on_index)
        chat, _ = chat_format(model)
        prompts = Prompts(settings.templates, chat=chat.is_chat)
        comparison = RetrieverComparison(model, chat, prompts, library, index, limits)
        stack.enter_context(closing(comparison))
        known = {one.title for one in library.documents([number for number, _ in library.digests()])}
        jobs = {(name, str(at)): (name, at, query) for at, query in enumerate(queries) for name in retrievers}
        stopped = store.run(jobs, lambda left: (_ask(comparison, *job, known) for job in left), watcher)
        summary = summarize(model.info.name, command, read_records(folder), retrievers)
        summary |= {"documents": len(library), "index_bytes": sum(one.nbytes for one in index.arrays.values())}
        write_json(folder / "summary.json", summary)
        if report:
            click.echo(f"report: {write_recall_report(folder, summary, table_of(summary))}", err=True)
    return summary, stopped


def summarize(model: str, command: str, records: Sequence[Record], retrievers: Sequence[str]) -> dict[str, Any]:
    """Returns the summary for ``summary.json``: the figures of each retriever. A query that failed has the score 0."""
    return {"task": "recall", "model": model, "command": command,
            "retrievers": [_figures(one, [r for r in records if r.pattern == one]) for one in retrievers]}  # fmt: skip


def _figures(name: str, records: Sequence[Record]) -> dict[str, Any]:
    answered = [record for record in records if record.error is None]
    pages = sorted({record.facts["gold_pages"] for record in records})
    figures: dict[str, Any] = {"retriever": name, **_scores(records)}
    figures["by_gold_pages"] = {str(n): _scores([r for r in records if r.facts["gold_pages"] == n]) for n in pages}
    exist = [found for record in answered for found in record.facts.get("titles_exist") or ()]
    figures["titles_exist"] = mean(exist)
    seconds = [record.seconds for record in answered if record.seconds is not None]
    figures["seconds_per_query"] = mean(seconds)
    figures["median_seconds"] = float(np.median(seconds)) if seconds else None
    figures["decoded_tokens"] = mean(float(record.decoded_tokens or 0) for record in answered)
    figures["prefilled_tokens"] = mean(float(record.prefilled_tokens or 0) for record in answered)
    figures["errors"] = [{"id": record.id, "error": record.error} for record in records if record.error]
    return figures


def _scores(records: Sequence[Record]) -> dict[str, Any]:
    figures: dict[str, Any] = {"n": len(records)}
    for score in SCORES:
        figures[score] = mean(r.scores.get(score, 0.0) for r in records if score in r.scores or r.error)
    figures["ci95_recall_at_1"] = interval([(r.group, r.scores.get("recall_at_1", 0.0)) for r in records])
    return figures


def table_of(summary: dict[str, Any]) -> list[list[str]]:
    """Returns a table of the summary: the column names, then a row for each retriever with shares in percent."""
    shares = {"recall_at_1": "R@1", "recall_at_5": "R@5", "r_precision": "R-prec", "answer_in_context": "answer",
              "titles_exist": "titles"}  # fmt: skip
    shares = {key: label for key, label in shares.items() if any(one[key] is not None for one in summary["retrievers"])}
    numbers = {"seconds_per_query": ("seconds", ".2f"), "decoded_tokens": ("decoded", ".0f"),
               "prefilled_tokens": ("read", ".0f")}  # fmt: skip
    rows = [["retriever", "n", *shares.values(), *(label for label, _ in numbers.values())]]
    for found in summary["retrievers"]:
        cells = ["-" if found[name] is None else f"{100 * found[name]:.1f}" for name in shares]
        cells += ["-" if found[name] is None else format(found[name], form) for name, (_, form) in numbers.items()]
        rows.append([found["retriever"], str(found["n"]), *cells])
    return rows


def _ask(comparison: RetrieverComparison, name: str, at: int, query: Query, titles: set[str]) -> Record:
    retrieved, error = None, None
    try:
        retrieved = comparison.retrieve(name, query.question)
    except WimEdgeError as failed:
        error = f"{type(failed).__name__}: {failed}"
    found = retrieved.recalled if retrieved else None
    passages = found.passages if found else ()
    pages = list(dict.fromkeys(passage.title for passage in passages))
    decoded = retrieved.decoded_titles if retrieved else None
    exist = None if decoded is None else [float(title in titles) for title in decoded]
    return Record(
        id=str(at), group=str(at), pattern=name, x=None, question=query.question, answers=query.answers,
        answer=pages[0] if pages else None, error=error,
        scores=scores(pages, [passage.text for passage in passages], query) if found else {},
        seconds=found.seconds if found else None,
        decoded_tokens=found.decoded_tokens if found else None,
        prefilled_tokens=found.prefilled_tokens if found else None,
        facts={"pages": pages, "gold_pages": min(map(len, query.evidence)), "titles_exist": exist,
               "scores": [passage.scores for passage in passages]},
    )  # fmt: skip


def scores(pages: Sequence[str], texts: Sequence[str], query: Query) -> dict[str, float]:
    """Returns the scores of a query by name. ``pages``, ``texts``: the titles and passages found, the best first."""
    ranks = _ranks(pages, query.evidence)
    found = {f"recall_at_{k}": sum(rank <= k for rank in ranks) / len(query.evidence) for k in (1, 5)}
    found["r_precision"] = max(len(one.intersection(pages[: len(one)])) / len(one) for one in query.evidence)
    if query.answers:
        found["answer_in_context"] = max((contains(text, query.answers) for text in texts[:IN_CONTEXT]), default=0.0)
    return found


def _ranks(pages: Sequence[str], evidence: Sequence[frozenset[str]]) -> list[int]:
    """Returns the rank, from 1, of each evidence set that is complete. As in KILT's `eval_retrieval.py`, the pages of a
    set count as one entry, at the place of the set's last page. Every other page counts as an entry of its own."""
    left = [set(one) for one in evidence]
    entries: list[int | None] = []  # the number of a set, or None for another page
    for page in pages:
        numbers = [number for number, one in enumerate(left) if page in one]
        for number in numbers:
            left[number].discard(page)
            entries = [entry for entry in entries if entry != number]
            entries.append(number)
        if not numbers:
            entries.append(None)
    return [rank for rank, number in enumerate(entries, 1) if number is not None and not left[number]]


def of_size(passages: Sequence[tuple[str, Document]], queries: Sequence[Query], size: int | None, seed: int
            ) -> list[tuple[str, Document]]:  # fmt: skip
    """Returns ``size`` (title, document) pairs (None: all): all gold passages of the queries, and random others. If
    there are fewer ``passages``, adds passages that are made up from their titles and sentences."""
    if size is None or size == len(passages):
        return list(passages)
    rng = np.random.default_rng(seed)
    if size > len(passages):
        return [*passages, *_made_up(passages, size - len(passages), rng)]
    wanted = {title for query in queries for title in query.titles}
    needed = [at for at, (title, _) in enumerate(passages) if title in wanted]
    if len(needed) > size:
        raise InvalidRequestError(f"the queries need {len(needed):,} passages, more than {size:,}", "Use --limit.")
    others = np.setdiff1d(np.arange(len(passages)), needed)
    chosen = sorted([*needed, *rng.choice(others, size - len(needed), replace=False).tolist()])
    return [passages[at] for at in chosen]


def _made_up(passages: Sequence[tuple[str, Document]], n: int, rng: np.random.Generator
             ) -> Iterator[tuple[str, Document]]:  # fmt: skip
    for _ in range(n):
        one, other, third = (passages[at] for at in rng.integers(len(passages), size=3).tolist())
        title = f"{one[0]} and {other[0]}"
        sentences = [*one[1].text.split(". ")[::2], *third[1].text.split(". ")[1::2]]
        yield title, Document(title, ". ".join(sentences))


class AblatedMindRef(MindRef):
    """MindRef with two more searches: for passages without titles (recall:flat), and for an unconstrained title."""

    def cells(self, query: str) -> int:
        return super().cells(query) + sum(map(len, self._flat))

    def positions(self, query: str) -> int:
        return super().positions(query) + sum(map(len, self._flat))

    def find_without_titles(self, context: Context, query: str, most: int) -> list[Candidate]:
        """Returns the library's best passages, found without finding titles first (an ablation in the paper)."""
        opening = self._standing(context, "flat", self._flat[0])
        with opening.fork() as sequence:
            sequence.append([*self._model.tokenize(" " + query), *self._flat[1]])
            return self._prefixes(self.index.passage_runs, context, sequence, most)

    def write_free_title(self, context: Context, query: str) -> Title:
        """Returns the title that the model writes, greedily and unconstrained, and the documents with this title."""
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
        """The tokens of the prompt without titles: [those before the question, those between question and passage]."""
        bos, (examples, *parts) = self._model.bos_tokens, self._prompts.recall(paged=False)
        return [[*bos, *self._model.tokenize(examples)], *map(self._model.tokenize, parts)]


class WholeMindRef(MindRef):
    """MindRef that decodes whole passages (`PASSAGE` tokens) in its second stage, instead of short prefixes."""

    def cells(self, query: str) -> int:
        return super().cells(query) + PASSAGE_WIDTH * (PASSAGE - self._prefix)

    def positions(self, query: str) -> int:
        return super().positions(query) + PASSAGE - self._prefix

    def _search(self, runs: SuffixArray) -> Search:
        return replace(super()._search(runs), longest=PASSAGE, whole=True)
