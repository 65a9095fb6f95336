"""Prints figures of how tidy the package is, and fails if one exceeds its limit.

    python scripts/house.py           the figures
    python scripts/house.py --list    and the findings behind each figure

The figures count lines, the longest file and function, circular imports, the files on the way of a question, which
docs/how-it-works.md lists, and other signs of untidiness.

The test file of `wim_edge/engine/gguf.py` is `tests/engine/test_gguf.py`: who changes a module finds its tests. A
module of data and protocols needs no test file: none of its functions and methods has a body.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "wim_edge"
LIMITS = {
    "lines without evaluation": 30_587,
    "modules": 187,
    "lines of tests": 30_799,
    "lines of scripts": 6_853,
    "words of docs": 19_994,
    "lines of the answer": 1_577,
    "longest file": 383,
    "longest function": 55,
    "circles of modules": 0,
    "circles of packages": 0,
    "files on the way of ask": 23,
    "modules that a question loads": 69,
    "steps back on the way": 0,
    "classes defined twice": 0,
    "modules without a test file": 0,
    "test files too long": 0,
    "defaults stated twice": 0,
    "docstrings without a verb or noun": 0,
    "words of a language in reading or answer": 0,
    "names assigned twice": 0,
}
"""The limits of the figures. A limit may be lowered, never raised."""
LONGEST_TEST = 400
_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FRAGMENT = re.compile(
    r"(?:What|Which|As|With|Of|How|Where|That|When|By|From|For|In|On|Whether|Also|Such|Because|To|At|Those|Than|Like)\b"
)
"""The words that a docstring must not begin with. It should begin with a verb, or name its object."""
WITHOUT_WORDS = ("reading", "answer")
"""The packages without lists of words of a language, and without such words in regular expressions."""
MOST_WORDS = 12
_OF_A_PATTERN = re.compile(r"\\.|\[(?:\\.|[^\]])*\]|\(\?P?<?[\w=!]*>?|\{[\d,]*\}|https?|www")
"""The parts of a regular expression that are not text, or text of no language."""
SAME_THING = {"Sequence", "Context", "Model", "Embedder", "Grammar"}
"""The names that protocols share with the classes that implement them (`wim_edge.engine.protocols`)."""


@dataclass(frozen=True)
class Module:
    """One file of the package wim_edge."""

    name: str
    """The dotted name without the package's own name: `reading.plan`."""
    path: Path
    tree: ast.Module
    n_lines: int

    @property
    def room(self) -> str:
        """The subpackage that the module is in. A module of the top level is a room of its own."""
        return self.name.split(".")[0]


class House:
    """The package's modules, and the imports between them."""

    def __init__(self) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted(PACKAGE.rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            parts = [part for part in path.relative_to(PACKAGE).with_suffix("").parts if part != "__init__"]
            name = ".".join(parts)
            self.modules[name] = Module(name, path, ast.parse(text), text.count("\n"))

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules that each module imports, also within functions, but not for types alone."""
        return {name: set(self._imported(module.tree)) - {name} for name, module in self.modules.items()}

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE.name:
            base = ".".join(node.module.split(".")[1:])
            for alias in node.names:
                inner = f"{base}.{alias.name}" if base else alias.name
                if inner in self.modules or base:
                    yield inner if inner in self.modules else base
        if isinstance(node, ast.Import):
            names = [alias.name.partition(".")[2] for alias in node.names if alias.name.startswith(f"{PACKAGE.name}.")]
            yield from (name for name in names if name in self.modules)
        for child in ast.iter_child_nodes(node):
            yield from self._imported(child)

    def rooms(self) -> dict[str, set[str]]:
        """Returns the subpackages that each subpackage imports."""
        found: dict[str, set[str]] = {module.room: set() for module in self.modules.values()}
        for name, others in self.imports.items():
            own = self.modules[name].room
            found[own] |= {self.modules[other].room for other in others} - {own}
        return found

    # What is counted; each finding is a line

    def lines(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for module in self.modules.values():
            is_of_a_room = "." in module.name or module.path.name == "__init__.py"
            counts[module.room if is_of_a_room else "(top)"] += module.n_lines
        return counts

    def functions(self) -> list[tuple[int, str]]:
        return sorted(
            ((node.end_lineno or node.lineno) - node.lineno + 1, f"{module.name}:{node.name}")
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )[::-1]

    def classes_twice(self) -> list[str]:
        defined = defaultdict(list)
        for module in self.modules.values():
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef) and node.name not in SAME_THING:
                    defined[node.name].append(module.name)
        return [f"{name}: {', '.join(where)}" for name, where in sorted(defined.items()) if len(where) > 1]

    def untested(self) -> list[str]:
        """Returns the modules with code that lack a test file at their place, except the packages' own files."""
        doing = (one for one in self.modules.values() if one.path.name != "__init__.py" and _does_something(one.tree))
        return [one.name for one in doing if not _test_file(one.path).is_file()]

    def long_tests(self) -> list[str]:
        """Returns the test files of more than `LONGEST_TEST` lines."""
        lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "tests").rglob("test_*.py")}
        return [f"{n} {path.relative_to(ROOT)}" for path, n in sorted(lengths.items()) if n > LONGEST_TEST]

    def defaults_twice(self) -> list[str]:
        """Returns the parameters and fields that have a setting's name, and a default of their own."""
        from wim_edge.settings import Settings

        usual = {name: value for name, value in vars(Settings()).items() if value is not None}
        found = []
        for module in self.modules.values():
            if module.name in ("settings", "testing"):  # what it scripts is made small
                continue
            for name, default, line in _defaults(module.tree):
                if name in usual and isinstance(default, ast.Constant) and default.value is not None:
                    found.append(f"{module.name}:{line} {name} = {default.value!r}")
        return found

    def fragments(self) -> list[str]:
        """Returns the docstrings that begin with a word like "Of" or "Whether", so not with a verb or their object."""
        return [f"{module.name}:{line} {text.strip()[:60]}" for module in self.modules.values()
                for line, text in _docstrings(module.tree) if _FRAGMENT.match(text.strip())]  # fmt: skip

    def words(self) -> list[str]:
        """Returns the long lists of words, and the words in regular expressions, in packages `WITHOUT_WORDS`."""
        found = []
        for module in self.modules.values():
            if module.room in WITHOUT_WORDS:
                found += [f"{module.name}:{line} {what}" for line, what in _words_of(module.tree)]
        return found

    def assigned_twice(self) -> list[str]:
        """Returns the names that a module assigns or defines again, so that the first value is never seen."""
        found = []
        for module in self.modules.values():
            names = Counter(name for node in module.tree.body for name in _assigned(node))
            found += [f"{module.name} {name}" for name, times in names.items() if times > 1]
        return found

    def way(self) -> list[str]:
        """Returns the modules on the way of a question, as docs/how-it-works.md lists them."""
        text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
        drawn = re.search(r"## The way of a question.*?```\n(.*?)```", text, re.DOTALL)
        paths = re.findall(r"^\s*([\w/]+)\.py\b", drawn[1], re.MULTILINE) if drawn else []
        return [path.replace("/", ".") for path in paths]

    def loaded(self) -> list[str]:
        """Returns the modules that are loaded before the first question."""
        code = "import sys, wim_edge.session; print(*(name for name in sys.modules if 'wim_edge' in name))"
        return subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).split()

    def steps_back(self) -> list[str]:
        """Returns the imports that lead up the way of a question: a module imports one above it."""
        way = self.way()
        found = [f"{name} is drawn, and not there" for name in way if name not in self.modules]
        for at, name in enumerate(way):
            found += [f"{name} imports {other}, which is above it" for other in way[:at]
                      if other in self.imports.get(name, ())]  # fmt: skip
        return found


def _texts(folder: str, pattern: str) -> Iterator[str]:
    return (path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob(pattern))


def _test_file(path: Path) -> Path:
    folder = path.relative_to(PACKAGE).parent
    return ROOT / "tests" / folder / f"test_{path.stem.strip('_')}.py"


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields (line, text) of each docstring: each string that is a statement, also after an attribute."""
    for node in ast.walk(tree):
        for one in getattr(node, "body", ()) if isinstance(node, _SCOPES) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                yield one.lineno, one.value.value


def _words_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            texts = list(map(_text, node.elts))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            texts = [_text(node.func.value)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
            pattern = _OF_A_PATTERN.sub(" ", "".join(map(_text, ast.walk(node.args[0]))))
            yield from ((node.lineno, word) for word in re.findall(r"[^\W\d_]{3,}", pattern))
            continue
        else:
            continue
        n_words = sum(word.isalpha() for text in texts for word in text.split())
        if n_words > MOST_WORDS:
            yield node.lineno, f"{n_words} words"


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _assigned(node: ast.stmt) -> Iterator[str]:
    """Yields the names that a statement of a module binds, without overloads and names for type checkers alone."""
    if isinstance(node, ast.Assign):
        targets = (one for target in node.targets for one in getattr(target, "elts", [target]))
        yield from (one.id for one in targets if isinstance(one, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    elif isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list:
        yield node.name


def _does_something(tree: ast.Module) -> bool:
    """Returns True if any function or method has a body besides its docstring and `...`."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    statements = (statement for function in functions for statement in function.body)
    return any(not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)) for one in statements)


def _defaults(tree: ast.Module) -> Iterator[tuple[str, ast.expr, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            pairs = [*zip(given, node.args.defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults,
                                                                        strict=True)]  # fmt: skip
            yield from ((arg.arg, default, node.lineno) for arg, default in pairs if default is not None)
        elif isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None:
                    yield field.target.id, field.value, field.lineno


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Returns the strongly connected components of more than one node (Tarjan 1972), each as a line."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[str] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            part: list[str] = []
            while not part or part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(", ".join(sorted(part)))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="what stands behind each figure")
    options = parser.parse_args()
    house = House()
    lines, functions = house.lines(), house.functions()
    files = sorted(((module.n_lines, name) for name, module in house.modules.items()), reverse=True)
    details = {
        "circles of modules": circles(house.imports),
        "circles of packages": circles(house.rooms()),
        "files on the way of ask": house.way(),
        "modules that a question loads": house.loaded(),
        "steps back on the way": house.steps_back(),
        "classes defined twice": house.classes_twice(),
        "modules without a test file": house.untested(),
        "test files too long": house.long_tests(),
        "defaults stated twice": house.defaults_twice(),
        "docstrings without a verb or noun": house.fragments(),
        "words of a language in reading or answer": house.words(),
        "names assigned twice": house.assigned_twice(),
    }
    figures = {
        "lines without evaluation": lines.total() - lines["evaluation"],
        "modules": len(house.modules),
        "lines of tests": sum(len(text.splitlines()) for text in _texts("tests", "*.py")),
        "lines of scripts": sum(len(text.splitlines()) for text in _texts("scripts", "*.py")),
        "words of docs": sum(len(text.split()) for text in _texts("docs", "*.md")),
        "lines of the answer": lines["answer"],
        "longest file": files[0][0],
        "longest function": functions[0][0],
        **{name: len(found) for name, found in details.items()},
    }
    print(", ".join(f"{room} {n:,}" for room, n in lines.most_common()))
    for name, figure in figures.items():
        print(f"{name:<40} {figure:>7,}  (at most {LIMITS[name]:,}){'' if figure <= LIMITS[name] else '  TOO MANY'}")
        if options.list:
            longest = [f"{n} {what}" for n, what in (files if "file" in name else functions)[:8]]
            for line in details.get(name, longest if name.startswith("longest") else []):
                print(f"    {line}")
    sys.exit(any(figure > LIMITS[name] for name, figure in figures.items()))


if __name__ == "__main__":
    main()
