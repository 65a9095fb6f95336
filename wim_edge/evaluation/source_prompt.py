"""The prompts of "Lost in the Middle" (Liu et al. 2023, figures 2 and 7), for the condition ``llm:source``.

The publication's own prompt with the whole context, so that no result depends on our wording. Instructed models get it
as one turn, as in the publication.
"""

from __future__ import annotations

from collections.abc import Sequence

from wim_edge.documents import Document

_QA = (
    "Write a high-quality answer for the given question using only the provided search results (some of which might "
    "be irrelevant)."
)
_RANDOM = " The search results are ordered randomly."
_KV = "Extract the value corresponding to the specified key in the JSON object below."


def qa_prompt(documents: Sequence[Document], question: str, *, random_order: bool) -> str:
    """Returns the prompt of figure 2; ``random_order``: with the sentence of appendix B about it."""
    shown = [f"Document [{n}](Title: {one.title or one.name}) {one.text}" for n, one in enumerate(documents, 1)]
    results, about_order = "\n".join(shown), _RANDOM if random_order else ""
    return f"{_QA}{about_order}\n\n{results}\n\nQuestion: {question}\nAnswer:"


def kv_prompt(data: str, key: str) -> str:
    """Returns the prompt of figure 7 for a JSON object and one of its keys."""
    return f'{_KV}\n\nJSON data:\n{data}\n\nKey: "{key}"\nCorresponding value:'
