"""``crowdtally person page``: the person's own side as pages, on the person's own machine.

::

    choice      what an address says: an epsilon and the levels of categories, never the history
    desk        the history, its catalogue and its store: what the pages are about
    rows        the categories in a list: own counts, widths of noise and, once drawn, noisy counts
    picture     the same as a drawing
    overview    the facts of each page
    deeds       what buttons do: draw once, draw again, write a file
    app         addresses and what answers them
    serving     a server at 127.0.0.1, with a secret in its address

Pages are read with GET, which changes nothing; what is drawn or written is asked for with POST, by
a page of this server alone. Nothing has a script.
"""
