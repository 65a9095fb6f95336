"""Batches: many questions about many documents, in a run that can stop and continue."""
