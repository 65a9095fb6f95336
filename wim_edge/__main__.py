"""The command-line program: `wim-edge`, or `python -m wim_edge`."""

import sys


def main() -> None:
    try:
        from wim_edge.cli import main as command
    except KeyboardInterrupt:  # Ctrl-C during the imports
        sys.stderr.write("cancelled\n")
        sys.exit(130)
    try:
        command(prog_name="wim-edge")
    except SystemExit as ended:
        if "ray" in sys.modules and isinstance(ended.code, int):
            _end_at_once(ended.code)
        raise


def _end_at_once(code: int) -> None:
    """Ends the process without a shutdown, in which Ray's threads may crash, unless the output cannot be written."""
    import os

    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


if __name__ == "__main__":
    main()
