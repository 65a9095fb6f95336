"""Recall: a model decodes titles of a library, then the first words of their passages (MindRef, arXiv 2402.17010)."""
