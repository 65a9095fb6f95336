"""The relevance of segments to the question: the methods, and the interface that they share (relevance.py)."""
