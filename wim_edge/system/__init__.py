"""Small tools on the operating system: files that are replaced whole, processes, journals, addresses."""
