"""`--explain-settings`: each effective setting, and where it comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from wim_edge.cli.terminal import one_line
from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.reading.resolved_settings import ResolvedSettings
    from wim_edge.settings import Settings


def explain(settings: Settings, documents: tuple[str, ...], as_json: bool) -> None:
    """Prints the settings that these documents would be read with. Raises the errors of `Runtime.resolve`."""
    if settings.rpc is not None:
        raise InvalidRequestError("--explain-settings asks no other machine", "Leave --rpc away.")
    from wim_edge.runtime import Runtime

    with Runtime(settings) as runtime:
        resolved = runtime.resolve(documents)
    if as_json:
        click.echo(json.dumps(resolved.explained(), indent=2, ensure_ascii=False))
    else:
        show_settings(resolved)


def show_settings(resolved: ResolvedSettings) -> None:
    """Prints the settings, a line each, the pattern with the reason for it."""
    for name, setting in resolved.explained().items():
        why = f" ({resolved.why})" if name == "pattern" and resolved.why else ""
        click.echo(f"{name:<20} {setting_line(**setting)}{why}")


def setting_line(value: object, origin: object) -> str:
    """Returns a setting's value as a person reads it, and where it comes from."""
    shown = "-" if value in (None, []) else one_line(str(value))
    return f"{shown:<16} {origin}"
