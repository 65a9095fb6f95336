"""How much a segment, or its margin, matters to the question.

    relevance.py    the interface of all methods
    methods.py      from the settings to a method, and whose model scores
    likelihood.py   what a segment does for the question's likelihood: likelihood, likelihood-gain, cascade
    verdict.py      the paper's classifier on a margin
    bm25.py         words in common
"""
