"""Noise laws in closed form: neutral ground, nothing is random here.

::

    law        what every law answers: deviations of weighted sums, intervals, probabilities
    laplace    the discrete Laplace law
    tails      sums over its tail: what becomes of an empty cell
    sums       the noise of a sum of several cells
    registry   from ``release.json`` to a law; a new law is one line there
    balls      certified ball arithmetic
"""
