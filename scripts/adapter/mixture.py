"""The passages to train on. Each one depends only on the seed and its number."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adapter import chosen, natural, squad, wiki
from adapter.casts import cast_passage
from adapter.passages import Passage
from adapter.records import record_passage
from adapter.tables import table_passage
from adapter.writing import written_passage

SHARES = {"squad2": 24, "wiki": 20, "written": 23, "tables": 22, "records": 2, "casts": 5, "natural": 4}
"""The number of passages from each source in every hundred. `load` has further sources, for other mixtures."""


@dataclass(frozen=True)
class Mixture:
    """All sources of passages, and the share of each."""

    sources: dict[str, Callable[[random.Random], Passage]]
    seed: int
    shares: dict[str, int]

    def passage(self, number: int) -> Passage:
        """Returns the passage with this number. The same seed gives the same passage."""
        rng = random.Random(f"{self.seed}:{number}")
        while True:
            name = rng.choices(list(self.shares), list(self.shares.values()))[0]
            passage = self.sources[name](rng)
            if len(passage.questions) > 1:
                return passage


def load(data: Path, seed: int, hold_out: list[str], shares: dict[str, int]) -> Mixture:
    """Returns the mixture of the data in a folder, without the articles of SQuAD in ``hold_out``."""
    articles = squad.articles(data / "training" / "squad2.jsonl.gz")
    if unknown := set(hold_out) - set(articles):
        raise SystemExit(f"no such article: {', '.join(sorted(unknown))} (there are {', '.join(articles)})")
    trained = [article for name, article in articles.items() if name not in hold_out]
    asked = natural.rows(data)
    policies = squad.policies(data / "training" / "policyqa.jsonl.gz")
    pages = wiki.Wiki(wiki.pages(data))
    reports, lookups, altqa, leval = (chosen.chosen(data / "outside" / name)
                                      for name in ("tatqa", "wtq", "altqa", "leval_nq"))  # fmt: skip
    sources: dict[str, Callable[[random.Random], Passage]] = {
        "squad2": lambda rng: squad.squad_passage(rng, trained),
        "policyqa": lambda rng: squad.policy_passage(rng, policies),
        "natural": lambda rng: natural.natural_passage(rng, asked),
        "reports": lambda rng: chosen.table_passage(rng, reports, "reports", 0.4),
        "lookups": lambda rng: chosen.table_passage(rng, lookups, "lookups", 0.6),
        "pages": lambda rng: chosen.prose_passage(rng, altqa + leval, "pages"),
        "casts": cast_passage,
        "records": record_passage,
        "written": written_passage,
        "tables": table_passage,
        "wiki": pages.passage,
    }
    for language in chosen.LANGUAGES:
        some, name = chosen.chosen(data / "outside" / f"xquad_{language}"), f"articles {language}"
        sources[name] = partial(chosen.prose_passage, some=some, name=name)
    return Mixture(sources, seed, shares)
