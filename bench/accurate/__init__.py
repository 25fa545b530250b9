"""What ``bench/accuracy.py`` is made of.

::

    files     the real files: which columns, which public lists, which contexts
    ways      every way to spend ε that is compared, and the settings that are tried
    scores    how good estimates are, beside the truth
    running   one way on one file, several runs; in parallel processes
    kept      results that are kept, so that an interrupted measurement goes on
    judging   means, the best of others, and what misses its target
    telling   tables for people, and the page
"""
