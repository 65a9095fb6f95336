"""Tools on the operating system: atomic files, processes, journals of runs, addresses."""
