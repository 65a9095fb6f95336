"""A check, in a child process, that llama.cpp can load and use a model file: it may abort even if the header is sound.
A file that no catalog lists is checked until it passes; again if path, size or time, or llama.cpp's build, changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from wim_edge import errors
from wim_edge.engine.gguf import read_header
from wim_edge.errors import ModelFileError, WimEdgeError
from wim_edge.settings import Paths, Settings
from wim_edge.system import subprocesses

_SECONDS, _BYTES_A_SECOND = 8, 10 * 1024**2
"""The limit of the child's processor time, in seconds: `_SECONDS`, and one more for each `_BYTES_A_SECOND` bytes of the
file. A Raspberry Pi 4 takes an estimated four seconds per token of a model with four billion weights."""
_TOKENS = 32
_PATIENCE = 4  # limit of elapsed time, as a multiple of the processor time: other programs may run too
_ADDRESS_SPACE = 4 * 1024**3  # bytes of the child's address space, besides twice the file's size
_SAMPLE = "Who may end it, and when? Ünïcödé 🚢 \t\n\n" + "".join(map(chr, range(1, 256)))
_HINT = "It is damaged or not supported by this build of llama.cpp. Fetch another model."


def check(path: Path, *, embeds: bool = False) -> None:
    """Tests a model file in a child process, unless it passed before. Raises ModelFileError, or the child's error."""
    # os.path.exists never raises, unlike Path's
    if not subprocesses.has_python() or (os.path.exists(path) and os.path.exists(_known(path, embeds))):
        return
    read_header(path, embeds=embeds)  # refuses most bad files without a child
    known = _known(path, embeds)
    seconds = _seconds(path)
    command = subprocesses.command("wim_edge.engine.load_check", str(path), *["embeds"] * embeds)
    endless = ModelFileError(f"{path}: llama.cpp did not load it within {seconds:.0f} seconds", _HINT)
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_PATIENCE * seconds, check=False, env=subprocesses.environment()
        )
    except subprocess.TimeoutExpired as error:
        raise endless from error
    if done.returncode == -getattr(signal, "SIGXCPU", 0) < 0:
        raise endless
    if done.returncode == 0:
        with contextlib.suppress(OSError):
            known.parent.mkdir(parents=True, exist_ok=True)
            known.touch()
        return
    try:
        raise errors.from_dict(json.loads(done.stdout))
    except (ValueError, KeyError):
        how = f"signal {signal.Signals(-done.returncode).name}" if done.returncode < 0 else f"code {done.returncode}"
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        said = f": {why[-1].rpartition('/llama.cpp/')[2].strip()[:200]}" if why else ""
        raise ModelFileError(f"{path}: llama.cpp crashes on it ({how}){said}", _HINT) from None


def use(path: Path, *, embeds: bool = False) -> None:
    """Loads a model file and evaluates (or embeds) a sample. Raises ModelFileError; llama.cpp may abort the process."""
    if embeds:
        from wim_edge.engine.embedding import EmbeddingModel

        with EmbeddingModel(path, Settings(n_gpu_layers=0)) as embedder:
            if not np.isfinite([*embedder.texts([_SAMPLE, "x"]), embedder.query(_SAMPLE)]).all():
                raise ModelFileError(f"{path}: its vectors are not finite", _HINT)
        return
    from wim_edge.engine.model import Model

    with Model(path, Settings(n_gpu_layers=0, n_batch=128)) as model:
        known = [*model.tokenize(_SAMPLE)[:96], 0, model.n_vocab - 1]
        for token in known:
            model.piece(token)
        tokens = known[-_TOKENS:]
        context = model.context(256, n_sequences=2)
        with context.sequence() as sequence:
            sequence.append(tokens)
            with sequence.fork() as fork:
                if not np.isfinite(fork.append(tokens[:1])).all():
                    raise ModelFileError(f"{path}: its logits are not finite", _HINT)


def _known(path: Path, embeds: bool) -> Path:
    """Returns the path of the empty file that exists once the model has passed with this build of llama.cpp."""
    from importlib.metadata import version

    state = os.stat(path)
    what = f"{path.absolute()} {state.st_size} {state.st_mtime_ns} {version('llama-cpp-python')}"
    what += " embeds" * embeds
    return Paths.from_environment().cache / "usable" / hashlib.blake2b(os.fsencode(what), digest_size=12).hexdigest()


def _seconds(path: Path) -> float:
    """Returns the limit of processor time for the check of a file, in seconds."""
    return _SECONDS + path.stat().st_size / _BYTES_A_SECOND


def main(path: Path, embeds: bool) -> int:
    # The processor time is limited here too, in case the parent was killed
    subprocesses.limit(_ADDRESS_SPACE + 2 * path.stat().st_size, int(_seconds(path)))
    try:
        use(path, embeds=embeds)
    except WimEdgeError as error:
        sys.stdout.write(json.dumps(error.to_dict()))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "embeds" in sys.argv[2:]))
