"""Noise laws in closed form: neutral ground, nothing is random here.

::

    law        what every law answers: deviations of weighted sums, intervals, probabilities
    laplace    the discrete Laplace law
    gaussian   the discrete Gaussian law (gaussian.md)
    lattice    certified sums of a bell over whole steps
    bells      its tails: probabilities, cuts, thresholds
    bell_floors  its noise floor
    interval   interval noise, drawn for all cells of a table together (interval.md)
    widths     the law of its width
    shapes     its probabilities, of one cell and of sums
    tails      sums over its tail: what becomes of an empty cell
    sums       the noise of a sum of several cells
    terms      what is summed for one line of a list
    floors     the noise floor: how large the largest of many pure noises gets (floors.md)
    stepwise   the tail of a sum, for it
    seen       what is seen of an empty cell, for it
    odds       what a belief can become under ε
    registry   from ``release.json`` to a law; a new law is one line there
    balls      certified ball arithmetic
"""
