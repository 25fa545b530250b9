"""The cases of ``tools/equal.py``: what the program says and writes, as texts.

::

    seams      the one file that knows the program's insides: chance, the command line, names
    texts      answers and folders as texts, without what differs between two runs
    stage      a folder of its own for each scene, and the commands that are given there
    inputs     the small town whose records are counted, in every kind of source
    releases   releases of every kind, and what readers say about them
    frames     the same through the library: frames, tables in memory, Spark's frames
    serving    servers in processes of their own, and their pages
    planning   plans, inspections, helps and refusals
    ledgers    the life of a ledger
    people     one person's own device
    labs       comparisons, attacks, look-alikes
    numbers    draws of the samplers, and numbers of the laws
    every      all scenes
"""
