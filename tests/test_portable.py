"""The package runs where there is no Unix: what only Unix has stands behind a guard, and names suit every disk."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

import wim_edge
from tests.script import ROOT
from tests.windows import UNIX_MODULES, UNIX_NAMES, refuses_name

PACKAGE = Path(wim_edge.__file__).parent
_METHODS = {"add_signal_handler"}
"""Methods of an event loop that Windows does not have."""
GUARDED = {
    "cli/ask.py": {"readline": 1},
    "engine/available_memory.py": {"resource": 1},
    "engine/bindings.py": {"os.sched_getaffinity": 1},
    "library/readings_db.py": {"os.getuid": 1},
    "server/uploads.py": {"os.O_CLOEXEC": 3, "os.O_DIRECTORY": 2, "os.O_NOFOLLOW": 2, "os.O_NONBLOCK": 1},
    "system/subprocesses.py": {"resource": 1},
    "reading/chat_template.py": {"resource": 1},
    "reading/timings.py": {"resource": 1},
}
"""What only Unix has, and stands behind a guard, by file: how often."""
_GUARD = re.compile(r"sys\.platform|os\.name|hasattr\(|(suppress\(|except )ImportError")


def used(tree: ast.AST, guarded: bool = False) -> Iterator[tuple[str, int, bool]]:
    """Yields what only Unix has: its name, the line, and whether a guard stands before it."""
    if isinstance(tree, ast.Import):
        yield from ((one.name, tree.lineno, guarded) for one in tree.names if one.name.split(".")[0] in UNIX_MODULES)
    elif isinstance(tree, ast.ImportFrom):
        names = UNIX_NAMES.get(tree.module or "", frozenset())
        yield from ((f"{tree.module}.{one.name}", tree.lineno, guarded) for one in tree.names if one.name in names)
        if tree.module in UNIX_MODULES:
            yield tree.module, tree.lineno, guarded
    elif isinstance(tree, ast.Attribute):
        of = tree.value.id if isinstance(tree.value, ast.Name) else ""
        if tree.attr in UNIX_NAMES.get(of, ()) or tree.attr in _METHODS:
            yield f"{of}.{tree.attr}".lstrip("."), tree.lineno, guarded
    guarded |= _GUARD.search(_condition(tree)) is not None
    for child in ast.iter_child_nodes(tree):
        yield from used(child, guarded)


def _condition(tree: ast.AST) -> str:
    """What may keep the rest of a node from running; whether it does so on the right system mypy tells."""
    match tree:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.BoolOp(values=[test, *_]):
            return ast.unparse(test)
        case ast.With(items=items):
            return " ".join(map(ast.unparse, items))
        case ast.Try(handlers=handlers):
            return " ".join(f"except {ast.unparse(one.type)}" for one in handlers if one.type)
    return ""


def test_what_only_unix_has_is_guarded_and_listed() -> None:
    found: dict[str, dict[str, int]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, line, guarded in used(ast.parse(path.read_text(encoding="utf-8"))):
            assert guarded, f"{path}:{line} {name}"
            of = found.setdefault(path.relative_to(PACKAGE).as_posix(), {})
            of[name] = of.get(name, 0) + 1
    assert found == GUARDED


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import fcntl", [("fcntl", False)]),
        ("def f():\n    from termios import tcgetattr", [("termios", False)]),
        ("os.kill(1, signal.SIGKILL)", [("signal.SIGKILL", False)]),
        ("if sys.platform != 'win32':\n    import pwd", [("pwd", True)]),
        ("n = os.getuid() if hasattr(os, 'getuid') else 0", [("os.getuid", True)]),
        ("with suppress(ImportError):\n    import readline", [("readline", True)]),
        ("try:\n    import grp\nexcept ImportError:\n    pass", [("grp", True)]),
        ("try:\n    import grp\nexcept OSError:\n    pass", [("grp", False)]),
        ("loop.add_signal_handler(2, stop)", [("loop.add_signal_handler", False)]),
        ("from os import fork, path", [("os.fork", False)]),
        ("os.getpid(), signal.SIGINT, select.select", []),
    ],
)
def test_each_way_to_use_it_is_seen(text: str, found: list[tuple[str, bool]]) -> None:
    assert [(name, guarded) for name, _, guarded in used(ast.parse(text))] == found


def test_git_leaves_ends_of_lines_as_they_are() -> None:
    """Git for Windows would end each with CR LF, of which Bash takes the CR for a part of the command."""
    rules = [line.split() for line in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()]
    assert ["*", "-text"] in rules


def test_every_file_can_be_checked_out_on_every_disk() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    paths = [path for path in listed.stdout.decode("utf-8").split("\0") if path]
    if listed.returncode:  # no checkout
        paths = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if "__pycache__" not in path.parts]
    assert len(paths) > 500
    assert [path for path in paths if any(map(refuses_name, PurePosixPath(path).parts))] == []
    assert len({path.casefold() for path in paths}) == len(paths)
    assert max(len(path) for path in paths) < 150  # of the 260 that Windows allows
