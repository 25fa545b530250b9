"""What ``bench/accuracy.py`` is made of.

::

    files     the real files: which columns, which public lists, which contexts
    ways      every way to spend ε that is compared
    scores    how good estimates are, beside the truth
    running   one way on one file, several runs; in parallel processes
    kept      runs that are kept, so that an interrupted measurement goes on
    judging   means over runs, and what must be shown

``before.json`` has the scores of the method that ``auto`` was before.
"""
