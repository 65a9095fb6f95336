"""PyInstaller's runtime hook: if wim-edge starts the frozen program as a child process, it runs wim-edge's module."""

from wim_edge.system.subprocesses import run_if_asked

run_if_asked()
