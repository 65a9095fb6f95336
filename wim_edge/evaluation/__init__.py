"""The evaluation of wim-edge: accuracy and cost on tasks of the long-context literature.

    tasks/       a data set or a generator -> examples (documents, question, answers)
    runner       examples x conditions -> records, one JSON line each; a stopped run can continue
    summary      records -> figures of each condition: accuracy with its 95% interval, and cost
    report       summary -> one HTML page with plots

This package consumes the runtime's events. The runtime does not import this package.
"""
