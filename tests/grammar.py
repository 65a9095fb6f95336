"""A scripted model that keeps its grammars."""

from __future__ import annotations

from typing import Any

from wim_edge.testing import FakeGrammar, FakeModel


class KeptGrammar(FakeGrammar):
    """Knows its schema and what it accepted."""

    def __init__(self, schema: object) -> None:
        self.schema = schema
        self.accepted: list[int] = []

    def accept(self, token: int) -> None:
        self.accepted.append(token)


class GrammarModel(FakeModel):
    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.grammars: list[KeptGrammar] = []

    def grammar(self, schema: object) -> KeptGrammar:
        self.grammars.append(KeptGrammar(schema))
        return self.grammars[-1]
