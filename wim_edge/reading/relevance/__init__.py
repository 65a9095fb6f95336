"""The relevance of a segment, or of its margin, to the question.

    relevance.py    the interface of all methods
    methods.py      the method that the settings ask for, and the model that scores
    likelihood.py   the likelihood of the question after a segment: likelihood, likelihood-gain, cascade
    verdict.py      the paper's classifier on a margin
    bm25.py         words in common
"""
