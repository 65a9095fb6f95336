"""Operating-system helpers: atomic files, child processes, journals of runs, addresses, strict conversion of data."""
