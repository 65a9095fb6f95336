"""`--explain-settings`: each effective setting, and where it comes from."""

from __future__ import annotations

import click

from wim_edge.cli.terminal import one_line, print_json
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import Settings


def explain(settings: Settings, documents: tuple[str, ...], as_json: bool) -> None:
    """Prints the settings that these documents would be read with. Raises the errors of `Runtime.resolve`."""
    if settings.rpc is not None:
        raise InvalidRequestError("--explain-settings connects to no other machine", "Leave out --rpc.")
    from wim_edge.runtime import Runtime

    with Runtime(settings) as runtime:
        resolved = runtime.resolve(documents)
    explained = resolved.explained()
    if as_json:
        print_json(explained)
        return
    for name, setting in explained.items():
        why = f" ({resolved.why})" if name == "pattern" and resolved.why else ""
        click.echo(setting_line(name, **setting) + why)


def setting_line(name: str, value: object, origin: object) -> str:
    """Returns a setting's name, its value as a person reads it, and where it comes from."""
    shown = "-" if value in (None, []) else one_line(str(value))
    return f"{name:<20} {shown:<16} {origin}"
