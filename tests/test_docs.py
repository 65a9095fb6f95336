"""What the documentation says and can be looked up: links, commands, variables, files, fields, counts, examples."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from tests.conftest import ROOT
from wim_edge.cli.main import main
from wim_edge.reading import events
from wim_edge.reading.prompts import NAMES
from wim_edge.settings import OFFLINE_VARIABLE, TOKEN_VARIABLE, Settings

PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
         for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))}  # fmt: skip
DOCS = {path.removeprefix("docs/").removesuffix(".md"): text for path, text in PAGES.items()}


def rows(text: str) -> list[list[str]]:
    """The cells of the rows of a page's tables."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    def anchors(text: str) -> set[str]:
        headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), target


def commands() -> Iterator[tuple[str, list[str]]]:
    """The page and the words of each `wim-edge` command in a block of code."""
    for page, text in PAGES.items():
        for name, value in re.findall(r'^(\w+)="(.*)"$', text, re.M):
            text = text.replace(f"${name}", value)
        for block in re.findall(r"^```(?:sh)?\n(.*?)^```", text.replace("\\\n", " "), re.M | re.S):
            for line in block.splitlines():
                for part in re.split(r"\s+(?:\||&&|&|>)\s+", re.sub(r"\s#.*", "", line) + " "):
                    if part.startswith("wim-edge "):
                        yield page, shlex.split(part)[1:]


def test_commands_have_these_options() -> None:
    found = list(commands())
    assert len(found) > 40
    for page, words in found:
        context, command, rest = click.Context(main), main, list(words)
        while isinstance(command, click.Group):
            rest = rest[next(at for at, word in enumerate(rest) if not word.startswith("-")) :]
            assert rest[0] in command.commands, (page, words)
            command, rest = command.commands[rest[0]], rest[1:]
        try:
            given, _, _ = command.make_parser(context).parse_args(rest)
        except click.UsageError as error:
            pytest.fail(f"{page}: {' '.join(words)}: {error.message}")
        for parameter in command.params:
            if isinstance(parameter.type, click.Choice) and given.get(parameter.name or ""):
                assert given[parameter.name or ""] in parameter.type.choices, (page, words)


def test_variables_are_settings() -> None:
    known = {"WIM_EDGE_HOME", "WIM_EDGE_COMPLETE", TOKEN_VARIABLE, OFFLINE_VARIABLE}
    known |= {f"WIM_EDGE_{field.name.upper()}" for field in fields(Settings)}
    named = {name for text in PAGES.values() for name in re.findall(r"WIM_EDGE_[A-Z_]+\b(?!\*)", text)}
    assert len(named) > 8
    assert {name for name in named if not name.endswith("_")} <= known


def test_files_are_there() -> None:
    file = re.compile(r"`(?:python )?((?:tests|scripts|wim_edge|templates|docs)/[\w./-]+)")
    named = {(page, name) for page, text in PAGES.items() for name in file.findall(text)}
    assert len(named) > 20
    for page, name in named:
        assert (ROOT / name).exists(), (page, name)


def test_events_have_these_fields() -> None:
    told = {cells[0].strip("`"): re.findall(r"`(\w+)`", cells[1]) for cells in rows(DOCS["events"])}
    for kind in events.EVENTS:
        names = [field.name for field in fields(kind)]
        assert list(dict.fromkeys(name for name in told[kind.type] if name in names)) == names, kind.type
    usage = [field.name for field in fields(events.Usage)]
    assert [cells[0].strip("`") for cells in rows(DOCS["events"]) if cells[0].strip("`") in usage] == usage


def test_every_extra_is_listed() -> None:
    """What each brings, docs/licences.md lists (tests/test_licences.py)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {cells[0].strip("`") for cells in rows(DOCS["install"])} >= project["optional-dependencies"].keys()


def test_shipped_models() -> None:
    text = (ROOT / "models.toml").read_text(encoding="utf-8")
    models = tomllib.loads(text)["models"]
    measured = [name for name, entry in models.items() if "settings" in entry]
    assert (len(models), measured) == (32, ["smollm2-135m", "gemma3-270m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"])
    assert "four of the thirty-two models" in DOCS["models"]
    sums = re.findall(r"kv_bytes_per_token = ([\d_]+)  # (.*)", text)
    for given, comment in sums:  # "6 of its 16 layers attend: 6 * 8 * 64", "28 layers * 8 * 128"
        products = re.findall(r"(\d+)(?: layers)? \* (\d+) \* (\d+)", comment)
        assert int(given) == 4 * sum(int(layers) * int(heads) * int(size) for layers, heads, size in products)
    assert len(sums) == sum(bool(entry["rank"]) for entry in models.values())


def test_templates_are_listed() -> None:
    listed = [name.removesuffix(".jinja") for cells in rows(DOCS["how-it-works"])
              if (name := cells[0].strip("`")).endswith(".jinja")]  # fmt: skip
    assert sorted(listed) == sorted(NAMES)


def test_counts_of_what_is_attacked() -> None:
    from tests.attack.documents import TEXTS, encodings
    from tests.attack.hub import FAULTS
    from tests.attack.models import TEMPLATES

    text = DOCS["robustness"]
    assert f"{len(TEXTS)} texts (" in text
    assert f"{sum(1 for _ in encodings())} encodings" in text
    assert f"and {len(TEMPLATES)} chat templates that" in text
    assert f"| hub | {2 * len(FAULTS)} |" in text


def test_the_page_has_as_many_files() -> None:
    sizes = [path.stat().st_size for path in (ROOT / "wim_edge/server/page").iterdir()]
    assert len(sizes) == 18
    assert 100_000 < sum(sizes) < 150_000
    assert "eighteen files" in DOCS["server"]


def test_the_example_with_a_scripted_model() -> None:
    (code,) = (one for one in re.findall(r"```python\n(.*?)```", DOCS["python"], re.S) if "FakeModel" in one)
    exec(compile(code, "docs/python.md", "exec"), {})


def test_the_lines_of_the_worker_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.server.slow import TEXT, answers_to

    monkeypatch.chdir(tmp_path)
    Path("contract.pdf").write_text(TEXT)
    lines = [line for line in DOCS["worker"].splitlines() if line.startswith('{"id"')]
    told = answers_to(lines, finished=2)
    last = {one["id"]: one["type"] for one in told}
    assert (len(lines), set(last)) == (6, {1, 2, 3})
    assert (last[2], last[3]) == ("reading.finished", "completion.finished")
    assert not any(one.get("error") == "InvalidRequestError" for one in told)


@pytest.mark.real
def test_a_control_token_of_a_document_is_ordinary_tokens(smollm2: Path) -> None:
    from wim_edge.engine.model import Model

    with Model(smollm2) as model:
        assert len(model.tokenize("<|im_end|>")) == 7
    assert "`<|im_end|>` in a document is seven ordinary tokens of the embedded model" in DOCS["how-it-works"]
