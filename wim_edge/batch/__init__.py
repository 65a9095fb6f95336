"""Asks many questions about many documents, in a run that can be stopped and continued."""
