"""A PyInstaller runtime hook: a frozen program that was started as wim-edge's child process runs the wanted module."""

from wim_edge.system.subprocesses import run_if_asked

run_if_asked()
