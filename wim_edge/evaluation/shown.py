"""Signs of a bad answer that a reader sees: repetitions, words of our prompts, "not found"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from wim_edge.evaluation.embedding import rag_prompt
from wim_edge.evaluation.metrics import normalize, words_of
from wim_edge.evaluation.source_prompt import kv_prompt, qa_prompt
from wim_edge.reading.prompts import MarginNote, Prompts

LOOP_WORDS = 8
ECHO_WORDS = 4
_TEXT = r"(?:text|document|passage|context|article|page|story|source|author|information|question)s?"
_SAY = r"(?:say|state|mention|specif|provide|contain|include|give|tell|indicat|discuss|address|find|answer|know|name)"
_NOT = r"(?:(?:do|does|did|is|are|was|were|could|can|has|have)(?: not|n't)|cannot|can't)"
_HOW = r"(?: (?:seem|appear) to| explicitly| specifically| directly| clearly| actually| even| be)*"
_NOT_FOUND = re.compile(
    rf"(?:\b{_TEXT}(?: (?:above|itself|provided|given))?|(?:^|[,;:] )(?:but |so )?(?:it|they|i|we)) {_NOT}{_HOW} {_SAY}"
    rf"|\b{_NOT}{_HOW} (?:found|{_SAY}\w*) (?:anywhere )?(?:in|by) the {_TEXT}"
    rf"|\b(?:is|are|was|were)(?: not|n't){_HOW} (?:stated|mentioned|specified|provided|said|given in)\b"
    r"|\b(?:is|are)(?: not|n't) known\b"
    rf"|\b{_TEXT} (?:never|nowhere) (?:say|state|mention|specif|tell|give)|\b{_TEXT} (?:lack|omit)s?\b"
    rf"|\b(?:no|nothing)\b[^.]{{0,40}}\b(?:in|by|from) (?:the|this) {_TEXT}|\b{_TEXT} (?:makes|contains|has|gives) no\b"
    r"|(?:^|there (?:is|are|was|were) )no (?:information|mention|answer|indication|reference)\b"
    r"|(?:^|information |answer (?:is )?)not (?:found|stated|mentioned|specified|provided|given|available)\b"
    rf"|\banswer (?:is|was) (?:not|nowhere) in the {_TEXT}|\b{_TEXT} (?:provides|gives|offers) no\b"
    r"|\bunanswerable\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:(?:question|answer|context|note|document|passage|query)(?: \d+)?|the text says):", re.I | re.M
)


def has_loop(text: str) -> float:
    """Returns 1 if a run of eight words is repeated in the text, else 0; each Chinese character is a word."""
    words = words_of(text.lower())
    runs = [tuple(words[at : at + LOOP_WORDS]) for at in range(len(words) - LOOP_WORDS + 1)]
    return float(len(set(runs)) < len(runs))


def has_echo(text: str, documents: Sequence[str]) -> float:
    """Returns 1 if the text contains four words of a prompt in a row, or a line that begins with one of its labels
    ("Question:"), else 0. Words that are in a document too do not count."""
    found = [label.group().strip() for label in _LABEL.finditer(text)]
    if any(all(label not in document for document in documents) for label in found):
        return 1.0
    own = _runs(text) & _prompt_runs()
    shown = [normalize(document) for document in documents] if own else []
    return float(any(not any(run in document for document in shown) for run in own))


def says_not_found(text: str) -> float:
    """Returns 1 if the answer's first sentence says, in English, that the document does not answer, else 0."""
    first = re.split(r"(?<=[.!?])\s", text.strip().replace("\u2019", "'"), maxsplit=1)[0]
    return float(bool(_NOT_FOUND.search(first)))


@cache
def _prompt_runs() -> frozenset[str]:
    """Returns the runs of four words in our prompts and those of the baselines."""
    texts = [kv_prompt("", ""), qa_prompt((), "", random_order=True), rag_prompt((), "")]
    for prompts in (Prompts(chat=True), Prompts(chat=False)):
        texts += [prompts.system(read=read) for read in (True, False)]
        texts += [prompts.quotation(""), prompts.free_margin("")]
        texts += [prompts.answer("", [MarginNote("", "")], read=read) for read in (True, False)]
        texts.append(prompts.before_question())
    return frozenset().union(*map(_runs, texts))


def _runs(text: str) -> set[str]:
    words = normalize(text).split()
    return {" ".join(words[at : at + ECHO_WORDS]) for at in range(len(words) - ECHO_WORDS + 1)}
