"""Tasks of the long-context literature, asked of the runtime: examples, metrics, runs, summaries, plots.

    tasks/       a data set or a generator -> examples (documents, question, answers)
    runner       examples x patterns -> records, one JSON line each; a stopped run can continue
    summary      records -> accuracy with its confidence interval, cost, and the rank of gold documents
    report       summary -> one HTML page and its plots

The runtime does not import this package, which consumes the runtime's events.
"""
