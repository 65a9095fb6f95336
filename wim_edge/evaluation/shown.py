"""What a reader sees of an answer besides whether it is right: repetitions, our prompts' words, "not found"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from wim_edge.evaluation.embedding import rag_prompt
from wim_edge.evaluation.metrics import normalize
from wim_edge.evaluation.source_prompt import kv_prompt, qa_prompt
from wim_edge.wim.prompts import Note, Prompts

LOOP_WORDS = 8
ECHO_WORDS = 4
_NOT_FOUND = re.compile(
    r"\b(?:(?:does|do|did|is|are|was|were|could|can|has|have)(?: not|n't)|cannot)"
    r"(?: be)?(?: (?:seem|appear) to| explicitly| specifically| directly| clearly| actually)*"
    r" (?:say|state|mention|specif|provide|contain|include|give|tell|indicat|discuss|address|found|find|answer|know)"
    r"|\bno (?:information|mention|answer|indication|evidence)\b"
    r"|\bnot (?:found|stated|mentioned|specified|provided|given|in the (?:text|document|context))\b"
    r"|\bunanswerable\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:question|answer|context|note|document|passage|query|the text says)\b.{0,30}?:", re.I | re.M
)


def has_loop(text: str) -> float:
    """Returns 1 if a run of eight words comes twice in the text, else 0."""
    words = text.lower().split()
    runs = [tuple(words[at : at + LOOP_WORDS]) for at in range(len(words) - LOOP_WORDS + 1)]
    return float(len(set(runs)) < len(runs))


def has_echo(text: str, documents: Sequence[str]) -> float:
    """Returns 1 if the text holds words of a prompt, else 0: a run of four of them, or a line that begins like one of
    its labels ("Question:"). What stands in a document too is no echo."""
    found = [label.group().strip() for label in _LABEL.finditer(text)]
    if any(label not in document for label in found for document in documents) or (found and not documents):
        return 1.0
    own = _runs(text) & _prompt_runs()
    shown = [normalize(document) for document in documents] if own else []
    return float(any(not any(run in document for document in shown) for run in own))


def says_not_found(text: str) -> float:
    """Returns 1 if the answer's first sentence says that the document does not say, else 0."""
    first = re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0]
    return float(bool(_NOT_FOUND.search(first)))


@cache
def _prompt_runs() -> frozenset[str]:
    """Runs of four words of all prompts here, ours and those of the comparisons."""
    texts = [kv_prompt("", ""), qa_prompt((), "", random_order=True), rag_prompt((), "")]
    for prompts in (Prompts(chat=True), Prompts(chat=False)):
        texts += [prompts.system(read=read) for read in (True, False)]
        texts += [prompts.extract("", verbatim=verbatim) for verbatim in (True, False)]
        texts += [prompts.answer("", [Note("", "")], read=read) for read in (True, False)]
        texts.append(prompts.before_question())
    return frozenset().union(*map(_runs, texts))


def _runs(text: str) -> set[str]:
    words = normalize(text).split()
    return {" ".join(words[at : at + ECHO_WORDS]) for at in range(len(words) - ECHO_WORDS + 1)}
