"""The program: `wim-edge`, or `python -m wim_edge`."""

import sys


def main() -> None:
    try:
        from wim_edge.cli import main as command
    except KeyboardInterrupt:  # Ctrl-C at once: there is no command yet that could end well
        sys.stderr.write("cancelled\n")
        sys.exit(130)
    command(prog_name="wim-edge")


if __name__ == "__main__":
    main()
