"""Integrations into other programs. Each module serves one program, and needs only that program."""
