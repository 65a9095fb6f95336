"""Print how the house stands, and fail where one of its limits is passed: `python scripts/house.py [--list]`.

Counted are lines by package, the longest file and function, circles of imports, the files on the way of a question,
nouns that two modules define, modules without a test file of their name, and defaults that are stated twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "wim_edge"


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    """Dotted, without the package's own name: `wim.reading`."""
    path: Path
    tree: ast.Module
    n_lines: int

    @property
    def package(self) -> str:
        return self.name.split(".")[0] if "." in self.name or self.path.name == "__init__.py" else "(top)"


@dataclass
class Findings:
    """What was counted, and what stands behind each figure."""

    figures: dict[str, int] = field(default_factory=dict)
    details: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, details: list[str]) -> None:
        self.figures[name] = len(details)
        self.details[name] = details


def modules() -> dict[str, Module]:
    """Reads every module of the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        name = ".".join(parts)
        found[name] = Module(name, path, ast.parse(text), text.count("\n"))
    return found


def imports(module: Module, known: dict[str, Module]) -> set[str]:
    """Returns the package's modules that this one imports, within functions too; those for types alone are left out."""
    here = module.name.split(".") if module.path.name == "__init__.py" else module.name.split(".")[:-1]
    here = [part for part in here if part]
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = here[: len(here) - node.level + 1] + (node.module.split(".") if node.module else [])
            elif node.module and node.module.split(".")[0] == PACKAGE.name:
                base = node.module.split(".")[1:]
            else:
                return
            for alias in node.names:
                for name in (".".join([*base, alias.name]), ".".join(base)):
                    if name in known:
                        found.add(name)
                        break
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(module.tree)
    return found - {module.name}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Returns the strongly connected parts of more than one node (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def functions(module: Module) -> Iterator[tuple[str, int]]:
    """Yields each function's name and its lines."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{module.name}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1
