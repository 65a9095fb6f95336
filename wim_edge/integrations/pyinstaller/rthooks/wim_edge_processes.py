"""PyInstaller's runtime hook: the frozen program runs a module of wim-edge if it was started for that."""

from wim_edge.system.subprocesses import run_if_asked

run_if_asked()
