"""Faults of a machine in the middle of a command: a kill, a full or read-only disk, no locks, a clock that jumps.

Each command runs on a copy of a home with a model, a saved reading, a library, a tuned model and questions on the
server; one of its changes of a file fails. It must end with a clear error, or work and report what failed. Afterwards
the same command works and all data is still there (`tests.attack.after`).
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.attack.fork_server import ForkServer
from tests.attack.hub import FILE, REPO, WAITS, Hub, running, write_entry
from tests.attack.run import Outcome, command
from tests.tiny import write_tiny

SECONDS = 180.0
TEXT = "The ferry sails at noon. It is a small ship, and the harbour is cold in winter. "
SHORT = ("--model", "tiny", "--segment-tokens", "64", "--judge", "self", "--answer-tokens", "4")


@dataclass(frozen=True)
class Scene:
    """A command that ``module`` runs on a copy of the home."""

    name: str
    arguments: tuple[str, ...]
    module: str = "wim_edge"
    keeps: bool = True
    """True if saved readings are reused afterwards."""


SCENES = (
    Scene("read", ("read", "{home}/texts/new.txt", *SHORT[:6])),
    Scene("ask", ("ask", "{home}/texts/new.txt", "When does the ferry sail?", *SHORT)),
    Scene("forget", ("readings", "clear", "--yes"), keeps=False),
    Scene("add", ("library", "add", "{home}/texts/new.txt", "{home}/texts/more", "--model", "tiny")),
    Scene("recall", ("ask", "--library", "default", "When does the ferry sail?", *SHORT)),
    Scene("tune", ("tune", "tiny"), "tests.attack.tune", keeps=False),
    Scene("pull", ("models", "pull", "other", "--alone")),
    Scene("serve", (), "tests.attack.visit"),
)


def make_home(home: Path, server: ForkServer) -> None:
    """Makes a home with a local model and one to pull, a reading, a library, a tuned model and a question."""
    file = write_tiny(home.parent / FILE, "llama")
    target = write_entry(home, None, repos={"tiny": REPO, "other": "owner/other-GGUF"}, nbytes=file.stat().st_size)
    target.parent.mkdir(parents=True)
    shutil.move(file, target)
    (home / "texts/more").mkdir(parents=True)
    (home / "texts/old.txt").write_text(TEXT * 8)
    (home / "texts/new.txt").write_text("Nobody knows it. " + TEXT * 4)
    for number in range(3):
        (home / f"texts/more/{number}.txt").write_text(f"Ship number {number} is another one. {TEXT}")
    for module, arguments in (
        ("wim_edge", ("read", f"{home}/texts/old.txt", *SHORT[:6])),
        ("wim_edge", ("library", "add", f"{home}/texts/old.txt", "--model", "tiny")),
        ("tests.attack.tune", ("tune", "tiny")),
        ("tests.attack.visit", ()),
    ):
        made = command(server, "", arguments, home, seconds=5 * SECONDS, module=module,
                       environment={"VISIT_KEEPS": "1"})  # fmt: skip
        assert made.how == "works", made


def build_shim(source: Path, folder: Path) -> Path:
    """Compiles a library for LD_PRELOAD. Raises FileNotFoundError without a compiler or Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        raise FileNotFoundError("a C compiler on Linux")
    made = folder / f"{source.stem}.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


@dataclass(frozen=True)
class Stage:
    """A home to copy, the shim, a server with the idle shim inside, and a hub to pull from."""

    folder: Path
    home: Path
    shim: Path
    server: ForkServer
    hub: Hub

    def play(self, scene: Scene, what: str, fault: Mapping[str, str], kill_after: float | None = None) -> Outcome:
        """Runs the scene with a fault, then again without, and checks the home's data."""
        home = self.folder / f"{scene.name}-{what}".replace(" ", "-")
        shutil.copytree(self.home, home, symlinks=True)
        try:
            found = self._run(scene, home, self._preloaded(home, fault) if fault else {}, kill_after)
            found = replace(found, what=f"{scene.name}: {what}")
            if found.how in ("CRASH", "HANG"):
                return found
            again = self._run(scene, home, {})
            if again.how != "works":
                return replace(found, how="CRASH", said=f"not again: {again.said}; {found.said}")
            kept = ("reading",) if scene.keeps else ()
            after = command(self.server, "", (str(home), *kept), home, seconds=SECONDS, module="tests.attack.after")
            if after.how != "works":
                return replace(found, how="CRASH", said=f"afterwards: {after.said}; {found.said}")
            return found
        finally:
            shutil.rmtree(home)

    def changes(self, scene: Scene) -> list[tuple[int, str]]:
        """Returns the scene's changes of files: number, operation and file."""
        home, log = self.folder / f"{scene.name}-count", self.folder / f"{scene.name}.log"
        shutil.copytree(self.home, home, symlinks=True)
        fault = {"ATTACK_HOW": "count", "ATTACK_LOG": str(log)}
        found = self._run(scene, home, self._preloaded(home, fault))
        assert found.how == "works", found
        shutil.rmtree(home)
        lines = (line.split("\t") for line in log.read_text().splitlines())
        return sorted((int(number), f"{what} {path.removeprefix(str(home))}") for number, what, path in lines)

    def _preloaded(self, home: Path, fault: Mapping[str, str]) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.shim), "ATTACK_UNDER": str(home), **fault}

    def _run(
        self, scene: Scene, home: Path, environment: Mapping[str, str], kill_after: float | None = None
    ) -> Outcome:
        arguments = [argument.format(home=home) for argument in scene.arguments]
        environment = {**WAITS, "HF_ENDPOINT": self.hub.endpoint, **environment}
        if kill_after is not None and scene.name == "serve":
            environment, kill_after = {**environment, "VISIT_KILLS_AFTER": str(kill_after)}, None
        return command(self.server, scene.name, arguments, home, seconds=SECONDS, module=scene.module,
                       environment=environment, kill_after=kill_after)  # fmt: skip


Case = Callable[[], Outcome]


@contextmanager
def staged(folder: Path) -> Iterator[Stage]:
    """Yields a stage. Raises FileNotFoundError if the shim cannot be made."""
    shim = build_shim(Path(__file__).with_name("faults.c"), folder)
    with closing(ForkServer(environment={"LD_PRELOAD": str(shim)})) as server:
        make_home(folder / "home", server)
        with running(Hub((folder / "home/models" / REPO / FILE).read_bytes())) as hub:
            yield Stage(folder, folder / "home", shim, server, hub)


def at_changes(stage: Stage, how: str) -> Iterator[Case]:
    """Yields each scene, with the fault at the first, the middle and the last of each operation (open, write, rename
    and so on) on each file."""
    for scene in SCENES:
        kinds: dict[str, list[int]] = {}
        for at, kind in stage.changes(scene):
            kinds.setdefault(kind, []).append(at)
        for at in sorted({times[n] for times in kinds.values() for n in (0, len(times) // 2, -1)}):
            fault = {"ATTACK_HOW": how, "ATTACK_AT": str(at)}
            yield partial(stage.play, scene, f"{how} at {at}", fault)


def at_moments(stage: Stage, times: int = 20, seed: int = 7) -> Iterator[Case]:
    """Yields each scene, killed at so many random moments."""
    rng = random.Random(seed)
    for scene in SCENES:
        seconds = stage.play(scene, "whole", {}).seconds
        for number in range(times):
            yield partial(stage.play, scene, f"kill {number}", {}, rng.uniform(0.1, seconds))


def throughout(stage: Stage) -> Iterator[Case]:
    """Yields each scene without locks, and with clocks that jump."""
    years = 365 * 24 * 3600
    for scene in SCENES:
        yield partial(stage.play, scene, "no locks", {"ATTACK_HOW": "locks"})
        for off in (-20 * years, -3600, 3600, 20 * years):
            yield partial(stage.play, scene, f"clock jumps by {off}", {"ATTACK_CLOCK": str(off)})
