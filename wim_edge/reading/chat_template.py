"""A model's chat template, rendered in a process of its own.

The template comes with the model's file and is a program of that file's author. Jinja's sandbox keeps it from the
machine's files, but not from running for ever or taking all memory; so a child process renders it, which has limits and
whose end harms nobody. The child runs this file too, which then imports nothing of this package.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import subprocess
import sys
from collections.abc import Mapping
from collections.abc import Sequence as Seq
from typing import Any, NoReturn

SECONDS, MEMORY_BYTES, LONGEST = 3, 512 * 1024**2, 4 * 1024**2
"""The most seconds of a processor and bytes that a template may take, and the most characters that it may render."""
_WAITS = 10
"""The longest wait for the process, in ``SECONDS``: on a small or busy machine Python needs many to start."""


class TemplateError(Exception):
    """The template cannot be used; the message says why."""


def rendered(
    template: str, messages: Seq[tuple[str, str]], bos: str, eos: str, variables: Mapping[str, Any]
) -> str:
    """Returns the text of a conversation of (role, text), up to the model's answer. Raises TemplateError."""
    values = {
        "messages": [{"role": role, "content": text} for role, text in messages],
        "add_generation_prompt": True, "bos_token": bos, "eos_token": eos, **variables,
    }  # fmt: skip
    found = _rendered(json.dumps({"template": template, "values": values}), datetime.date.today())
    if "error" in found:
        raise TemplateError(found["error"])
    return found["text"]


@functools.lru_cache(maxsize=256)
def _rendered(job: str, _today: datetime.date) -> dict[str, str]:
    """Renders in a child process. ``_today`` is part of the cache's key, since a template may ask for the date."""
    if getattr(sys, "frozen", False):  # sys.executable is no Python then
        return _render(json.loads(job))
    command = [sys.executable, "-I", __file__]
    try:
        done = subprocess.run(command, input=json.dumps(sys.path) + "\n" + job, capture_output=True, encoding="utf-8",
                              timeout=_WAITS * SECONDS, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"it is not done after {_WAITS * SECONDS} seconds"}
    if done.returncode:
        return {"error": f"it needs more than {SECONDS} seconds, or {MEMORY_BYTES >> 20} MiB"}
    found: dict[str, str] = json.loads(done.stdout)
    return found


def _render(job: Mapping[str, Any]) -> dict[str, str]:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    try:
        text = environment.from_string(job["template"]).render(job["values"])
    except MemoryError:
        return {"error": f"it needs more than {MEMORY_BYTES >> 20} MiB"}
    except Exception as error:  # noqa: BLE001 - a program of the model file's author, it may raise anything
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    if len(text) > LONGEST:
        return {"error": f"it writes {len(text):,} characters"}
    return {"text": text}


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _limit() -> None:
    """Limits the time and memory of this process, if the system knows such limits."""
    if sys.platform != "win32":
        import resource

        limits = (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0)
        for what, most in limits:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.stdin.readline())
    import jinja2.sandbox  # noqa: F401 - before the limit: loading it is no work of the template's

    _limit()
    sys.stdout.write(json.dumps(_render(json.load(sys.stdin))))
