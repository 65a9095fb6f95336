"""Recall: the model names the titles and the first words of the passages worth reading (MindRef, arXiv 2402.17010)."""
