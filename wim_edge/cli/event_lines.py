"""Formats events as lines of text, for all displays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wim_edge.answer.candidates import WEIGHTS, key
from wim_edge.cli.terminal import clean
from wim_edge.documents.place_links import link, page_text
from wim_edge.reading import events
from wim_edge.reading.quotation import on_one_line
from wim_edge.settings import AUTO, UNLIKELY
from wim_edge.support import ANSWERED, NOT_FOUND, SupportWeights

_MIN_SHOWN = 0.05
"""The lowest relevance that is shown as a number. Lower values say little early in a reading."""
_ENDS = {"length": "answer cut at its longest", "repeated": "answer ended where it repeated itself",
         "early_exit": "stopped early", "cancelled": "cancelled"}  # fmt: skip


@dataclass(frozen=True)
class ShownLine:
    """A line to show. ``style``: rich's style for a terminal. ``is_result``: True if it belongs on standard output."""

    text: str
    style: str = "dim"
    is_result: bool = False


def lines_of(event: events.Event) -> Iterator[ShownLine]:
    """Yields the lines of an event that all displays show alike; none for an event that each display formats itself."""
    match event:
        case events.QuestionSettled():
            yield ShownLine(f"asked as: {clean(event.asked_as)}", is_result=True)
        case events.RecallStarted():
            yield ShownLine(f"library {event.library}: {event.documents:,} documents; {event.model}, "
                            f"retriever {event.retriever}")  # fmt: skip
        case events.TitlesRecalled():
            for title, score in event.titles:
                yield ShownLine(f"title: {clean(title)} ({score:.1f})")
        case events.PassagesRecalled():
            for passage in event.passages:
                if passage.chosen:
                    yield ShownLine(f"recalled: {_recalled(passage)}", "cyan", is_result=True)
        case events.ReadingStarted():
            yield ShownLine(_plan(event))
        case events.ReadingFinished():
            yield ShownLine(_saved(event))
        case events.Warning():
            yield ShownLine(f"warning: {clean(event.text)}", "yellow")


def format_place(event: events.SegmentRead | events.MarginJudged | events.Source | events.Quote, several: bool) -> str:
    """Returns a place such as "page 12" or "Costs, line 14"; without page, section or line, the document's name.
    ``several``: True to begin with the document's name, because there are several: "report.pdf, page 12"."""
    parts = [clean(event.document)] if several else []
    if event.page is not None:
        parts.append(page_text(event.page, event.page_label))
    else:
        parts += [clean(event.section)[:60]] if event.section and event.section != event.document else []
        parts += [f"line {event.line}"] if event.line else []
        row = event.row if isinstance(event, events.Source) else None
        parts += [f"row {row}"] if row else []
    return ", ".join(parts) or clean(event.document)


def format_scan(event: events.PagesRecognised) -> str:
    of = f" of {event.of} pages" if event.of else ""
    sure = f", the last with confidence {event.confidence:.2f}" if event.confidence is not None else ""
    return f"{clean(event.document)}: recognising the text of pictures, {event.pages}{of} done{sure}"


@dataclass(frozen=True)
class ShownSource:
    """A place that the answer draws on. ``relevance``: the highest relevance of the sources at this place."""

    where: str
    relevance: float
    opens: str
    """The place in the file, as programs open it: "report.pdf#page=12". ``link``: its URL. Both may be empty."""
    link: str


def format_sources(event: events.AnswerFinished, several: bool) -> list[ShownSource]:
    """Returns the places of the answer's sources, each once. For the status not_found, only the nearest quotation's."""
    found: dict[str, ShownSource] = {}
    for source in event.sources if event.status != "not_found" else event.sources[: len(event.quotes[:1])]:
        sure = None if source.confidence is None else f"recognised with {source.confidence:.2f}"
        where = ", ".join(filter(None, [format_place(source, several), sure]))
        relevance = max(found[where].relevance if where in found else 0.0, source.relevance)
        opens = source.opens or ""
        target = link(opens, source.path or "") if opens else ""
        found[where] = ShownSource(where, relevance, clean(opens).replace("\n", " "), target)
    return list(found.values())


def format_margin(event: events.MarginJudged) -> str:
    """Returns a margin on one line, in quotation marks if it is a quotation."""
    text = on_one_line(clean(event.text))
    return (f"“{text}”" if event.quote else text) or "(empty)"


def format_relevance(event: events.MarginJudged) -> str:
    """Returns a margin's relevance with two decimals; empty if it is below 0.05."""
    return f"{event.relevance:.2f}" if event.relevance >= _MIN_SHOWN else ""


def short_answer_of(event: events.MarginJudged) -> str:
    """Returns the short answer inside a margin's quotation, on one line; empty if the margin has none."""
    if event.short is None or event.quote is None:
        return ""
    start = event.quote[0]
    return " ".join(clean(event.text[event.short[0] - start : event.short[1] - start]).split())


def format_provisional(event: events.AnswerProvisional, several: bool) -> str:
    return f"so far: {' '.join(clean(event.short).split())} ({format_place(event.quote, several)})"


def format_outcome(event: events.AnswerFinished) -> str:
    """Returns a line with the answer's status, the models and pattern that answered, and the cost."""
    parts = [_ENDS[event.finish_reason]] if event.finish_reason in _ENDS else []
    of_whole = not event.read_segments and event.finish_reason == "stop"  # answered without reading a passage
    if event.support is not None and event.finish_reason != "cancelled":
        sure = f"support {_down(event.support)}"
        if event.status != "not_found" and event.confidence is not None:
            sure = f"confidence {_down(event.confidence)}{', the writer differs' if _agreed(event) == 0 else ''}"
        parts.append(event.status.replace("_", " ") + ("" if of_whole else f" ({sure})"))
    if event.unsupported:
        parts.append(f"in no passage: {clean(', '.join(event.unsupported))}")
    if event.query:
        parts.append(f"worked out by {clean(event.query)}")
    if event.read_segments < event.segments and not of_whole:
        better = format_better(event.unread_probability)
        left = "; --within all reads the rest" if event.status == "not_found" else better
        parts.append(f"{event.read_segments:,} of {event.segments:,} segments read{left}")
    judge = f" judged by {event.judge}" if event.judge else ""
    return " · ".join([*parts, f"{event.model}{judge}, {event.pattern}", *_cost(event.usage)])


def _agreed(event: events.AnswerFinished) -> float | None:
    return (event.evidence or {}).get("agreed")


def format_candidates(event: events.AnswerFinished, weights: SupportWeights) -> list[str]:
    """Returns the lines of `--explain`. The first lines have a candidate answer each, the best first: its share, and
    its score as weighted terms in nats. Then come the support as a sum of log-odds, and the status with its reason."""
    lines, first = [], {key(one.text): one for one in reversed(event.candidates)}
    for one in (one for one in event.candidates if first[key(one.text)] is one):
        terms = _sum({name: getattr(WEIGHTS, name) * value for name, value in one.terms.items()})
        places = sum(key(other.text) == key(one.text) for other in event.candidates)
        where = f"{'cell, ' * one.is_cell}{clean(one.place)}{f' and {places - 1} more' * (places > 1)}"
        lines.append(f"{one.share:.2f}  {clean(one.text)}  (score {one.score:.2f} = {terms}; {where})")
    if event.evidence is not None and event.support is not None:
        odds, says = weights.terms(event.evidence), event.evidence.get("writer")
        given = ", ".join(f"{name} {value:.2f}" for name, value in event.evidence.items() if name in odds)
        given += "" if says is None else f"; then the writer's log-odds {says:.2f}"
        total = f"log-odds {sum(odds.values()):.2f} = {_sum(odds)}"
        lines.append(f"support {_down(event.support)}: {total}; from the evidence {given}")
    return [*lines, f"{event.status}: {_reason(event)}"]


def _sum(terms: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in terms.items() if value) or "nothing against it"


def _down(probability: float | None) -> str:
    """Returns a probability with two decimals, rounded down, so that 0.299 is not shown as the bound 0.30."""
    return f"{int(100 * (probability or 0.0)) / 100:.2f}"


def _reason(event: events.AnswerFinished) -> str:
    best, support, confidence = event.candidates[:1], event.support, event.confidence or 0.0
    if event.unsupported:
        return f"in no passage: {', '.join(event.unsupported)}"
    if event.query:
        return f"the table's rows were found by {event.query}"
    if support is None or not best:
        return "nothing was scored" if support is None else "nothing was pointed at"
    if event.status == "not_found":
        return f"the support is below {NOT_FOUND}"
    is_doubted = event.status == "unsure" and confidence >= ANSWERED
    sure = "another passage answers differently" if is_doubted else f"sure from {ANSWERED} on"
    product = f"confidence {_down(confidence)} = support {_down(support)} x share {confidence / max(support, 1e-9):.2f}"
    if event.short in ("Yes", "No"):
        return f"{product} of {event.short}; sure only if a writer is"
    if event.short != best[0].text:
        return f"{product}; a list: introduced as one, of cells that answer alike, or of documents that differ; {sure}"
    if _agreed(event) == 0:
        return f"the writer did not say “{clean(best[0].text)}” before it saw these words"
    return f"{product}{', raised as the writer agrees' * bool(_agreed(event))}; {sure}"


def format_better(unread: float | None) -> str:
    """Returns a phrase with the probability ``unread`` that an unread segment answers better; empty for 0 or None."""
    if not unread:
        return ""
    # Below UNLIKELY the reading stopped by itself; from there on, the user may want the rest
    more = "; --within all reads the rest" if unread >= UNLIKELY else ""
    return f", {'under 1%' if unread < 0.01 else f'{unread:.0%}'} likely that another one answers better{more}"


def _recalled(passage: events.RecalledPassage) -> str:
    where = "characters {}-{}".format(*passage.chars)
    if passage.page is not None:
        pages = f"pages {passage.page} to {passage.last_page}"
        where = f"page {passage.page}" if passage.page == passage.last_page else pages
    scores = ", ".join(f"{name} {score:.1f}" for name, score in passage.scores.items())
    return f"{clean(passage.document)}, {where} ({scores})"


def _saved(event: events.ReadingFinished) -> str:
    if not event.tokens:
        return "stopped before anything was read"
    what = "all" if event.saved_tokens >= event.tokens else f"{event.saved_tokens:,}"
    return " · ".join([f"{what} of {event.tokens:,} tokens saved for {event.model}", *_cost(event.usage)])


def _cost(usage: events.Usage) -> list[str]:
    known = [f"{usage.reused_tokens:,} tokens known"] if usage.reused_tokens else []
    written = [f"{usage.decoded_tokens:,} written"] if usage.decoded_tokens else []
    return [*known, f"{usage.prefilled_tokens:,} tokens read", *written, f"{usage.seconds['total']:.1f} s"]


def _plan(event: events.ReadingStarted) -> str:
    if event.read_segments:
        return f"reading on after {event.read_segments:,} of {event.segments:,} segments"
    names = clean(", ".join(event.documents))
    windows = f", in {event.windows} windows" if event.windows > 1 else ""
    why = f" ({event.why})" if event.why else ""
    judge = f", judged by {event.judge}" if event.judge else ""
    bound = ""
    if event.within and event.within != AUTO:
        bound = f", {event.within} of {'it' if event.within.endswith('%') else 'reading'} at most"
    order = ", likely passages first" if event.within and (event.within == AUTO or not event.windows) else ""
    return (
        f"{names}: {event.tokens:,} tokens in {event.segments} segment{'s' * (event.segments != 1)}{windows}; "
        f"{event.model}, pattern {event.pattern}{why}{judge}{bound}{order}"
    )
