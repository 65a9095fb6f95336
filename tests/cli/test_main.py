"""The command line as a whole: start-up, help, completion, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.conftest import ROOT, written
from wim_edge.cli import main

COMMAND = [sys.executable, "-m", "wim_edge"]


def commands(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The words and the short help of each."""
    yield path, command.get_short_help_str(200)
    for name, one in command.commands.items() if isinstance(command, click.Group) else ():
        yield from commands(one, (*path, name))


def test_help_of_every_command() -> None:
    shown = {}
    for path, _ in commands():
        result = CliRunner().invoke(main, [*path, "--help"], terminal_width=400)
        assert result.exit_code == 0, path
        assert result.output.startswith(f"Usage: {' '.join(('main', *path))} "), path
        shown[path] = result.output
    assert len(shown) > 20
    for path, summary in commands():
        assert summary, path
        assert path == () or f"  {path[-1]} " in shown[path[:-1]], path
        assert path == () or summary in shown[path[:-1]], path


def test_help_loads_no_native_library_and_nothing_heavy() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom wim_edge.cli import main\n"
        "from tests.cli.test_main import commands\n"
        "assert not [path for path, _ in commands() if CliRunner().invoke(main, [*path, '--help']).exit_code]\n"
        "heavy = {'llama_cpp', 'numpy', 'rich', 'jinja2', 'psutil', 'lxml', 'msgspec', 'huggingface_hub',\n"
        " 'pypdfium2', 'matplotlib', 'wim_edge.evaluation'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("shell", "begins"), [
    ({"_WIM_EDGE_COMPLETE": "zsh_source"}, "#compdef wim-edge\n"),
    ({"_WIM_EDGE_COMPLETE": "zsh_complete", "COMP_WORDS": "wim-edge doct", "COMP_CWORD": "1"}, "plain\ndoctor\nShow "),
    ({"_WIM_EDGE_COMPLETE": "zsh_complete", "COMP_WORDS": "wim-edge ask -m smol", "COMP_CWORD": "3"},
     "plain\nsmollm2-135m\n"),
])  # fmt: skip
def test_completion(shell: dict[str, str], begins: str) -> None:
    done = subprocess.run(COMMAND, env={**os.environ, **shell}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(begins)


def asking(model: Path, story: Path, *options: str) -> subprocess.Popen[str]:
    """A real reading in a process of its own, until its second segment is read."""
    process = subprocess.Popen(
        [*COMMAND, "ask", "-m", str(model), "--judge", "self", "--segment-tokens", "256", "--margin-tokens", "16",
         "--answer-tokens", "24", "--within", "all", *options, str(story),
         "How long must the written offer for source code be valid?"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in process.stderr:
        if line.startswith("read segment 2"):
            return process
    raise AssertionError(f"ended early with {process.wait()}")


@pytest.mark.real
@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")
@pytest.mark.parametrize(
    ("redirection", "codes"),
    [("| head -1", {0}), ("--json > /dev/full", {1}), (">&-", {0, 11}), ("2>&-", {0, 11})],
)
def test_output_that_fails_never_kills_the_process(
    model_file: Callable[[str], Path], tmp_path: Path, redirection: str, codes: set[int]
) -> None:
    story = written(tmp_path / "story.txt", "The house is blue. " * 15)
    options = f"-m {model_file('llama')} --judge self --segment-tokens 128 --margin-tokens 8 --answer-tokens 8"
    command = f"'{sys.executable}' -m wim_edge ask {options} {story} 'Which colour?' {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in codes, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.real
@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
@pytest.mark.parametrize(("presses", "code"), [(1, 10), (2, 130)])
def test_ctrl_c_once_answers_twice_cancels(
    smollm2: Path, tmp_path: Path, long_text: str, presses: int, code: int
) -> None:
    story = written(tmp_path / "story.txt", long_text)
    process = asking(smollm2, story, "--prose", "--answer", "free")  # which takes its time
    process.send_signal(signal.SIGINT)
    for _ in range(presses - 1):
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert "Traceback" not in err
    if presses == 1:
        assert "answer: " in out
        assert "stopped early" in err
    else:
        assert "cancelled" in err
