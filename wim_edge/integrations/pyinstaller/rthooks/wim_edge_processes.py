"""PyInstaller's runtime hook: a frozen program that wim-edge starts as a child process runs a module of wim-edge."""

from wim_edge.system.subprocesses import run_if_asked

run_if_asked()
