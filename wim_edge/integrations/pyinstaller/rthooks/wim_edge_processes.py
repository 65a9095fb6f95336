"""PyInstaller's runtime hook: a frozen program that wim-edge starts as its child process runs a wim-edge module."""

from wim_edge.system.subprocesses import run_if_asked

run_if_asked()
