"""`wim-edge mcp`: lets an assistant read and ask documents, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wim_edge.cli.library import library_names
from wim_edge.cli.options import question_options, settings_from
from wim_edge.errors import InvalidRequestError


@click.command(short_help="Serve documents to an assistant (Model Context Protocol).")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(exists=True, file_okay=False))
@click.option("--library", "libraries", multiple=True, metavar="NAME", shell_complete=library_names,
              help="Serve this library too (`wim-edge library add`); may be given several times.")
@question_options
def mcp(folders: tuple[str, ...], libraries: tuple[str, ...], **options: Any) -> None:
    """Speak the Model Context Protocol on standard input and output, for an assistant that starts this command.

    Its tools list, read and ask files of the named FOLDERs and libraries, and no others.
    """
    if not (folders or libraries):
        raise InvalidRequestError("nothing is named to serve", "Name a folder, or --library NAME.")
    settings = settings_from(options)
    try:
        from wim_edge.server.mcp_server import make_server
    except ImportError as error:
        raise InvalidRequestError(f"this needs {error.name}", "pip install 'wim-edge[mcp]'") from error
    make_server(settings, [Path(folder) for folder in folders], libraries).run()
