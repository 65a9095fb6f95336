"""The prompts of "Lost in the Middle", word for word."""

from __future__ import annotations

from wim_edge import Document
from wim_edge.evaluation.source_prompt import kv_prompt, qa_prompt

INSTRUCTION = (
    "Write a high-quality answer for the given question using only the provided search results (some of which might be "
    "irrelevant)."
)


def test_documents_are_search_results_by_their_titles() -> None:
    documents = [Document("a.txt", "It is red.", title="House 1"), Document("b.txt", "It is blue.")]
    assert qa_prompt(documents, "Which colour?", random_order=False) == (
        f"{INSTRUCTION}\n\nDocument [1](Title: House 1) It is red.\nDocument [2](Title: b.txt) It is blue.\n\n"
        "Question: Which colour?\nAnswer:"
    )


def test_a_random_order_is_said() -> None:
    said = f"{INSTRUCTION} The search results are ordered randomly.\n\n"
    assert qa_prompt([Document("a", "x")], "?", random_order=True).startswith(said)


def test_a_key_is_asked_of_a_json_object() -> None:
    assert kv_prompt('{"a": "b"}', "a") == (
        "Extract the value corresponding to the specified key in the JSON object below.\n\n"
        'JSON data:\n{"a": "b"}\n\nKey: "a"\nCorresponding value:'
    )
