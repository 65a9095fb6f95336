"""A model's chat template, rendered in a child process with limits. The template comes with the model's file and is
untrusted code: Jinja's sandbox keeps it from the machine's files, but not from endless loops or too much memory. The
child runs this file as a script, so the file imports nothing from this package."""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence as Seq
from typing import Any, NoReturn

SECONDS, MEMORY_BYTES, LONGEST = 3, 512 * 1024**2, 4 * 1024**2
"""The limits for rendering a template: CPU seconds, bytes of memory, and characters of the result."""
_WAITS = 10  # the child's timeout, as a multiple of SECONDS: Python starts slowly on a small or busy machine


class TemplateError(Exception):
    """The template can't be used; the message says why."""


def rendered(template: str, messages: Seq[tuple[str, str]], bos: str, eos: str, variables: Mapping[str, Any]) -> str:
    """Returns the template's text for (role, text) messages, up to the model's answer. Raises TemplateError."""
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
    """Renders ``job`` (JSON) and returns {"text": ...} or {"error": ...}. ``_today``: renews the cache daily."""
    if getattr(sys, "frozen", False):  # in a frozen program sys.executable is not Python
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
    except Exception as error:  # noqa: BLE001 - untrusted code may raise anything
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    return {"error": f"it writes {len(text):,} characters"} if len(text) > LONGEST else {"text": text}


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _limit() -> None:
    """Limits the CPU time and memory of this process, where the operating system supports it."""
    if sys.platform != "win32":
        import resource

        limits = (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0)
        for what, most in limits:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.stdin.readline())
    import jinja2.sandbox  # noqa: F401 - imported before the limits, which apply to the template alone

    _limit()
    sys.stdout.write(json.dumps(_render(json.load(sys.stdin))))
