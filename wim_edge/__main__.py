"""`python -m wim_edge` is `wim-edge`."""

from wim_edge.cli import main

main(prog_name="wim-edge")
