"""Choosing a bound privately: every candidate is public, every score exact, every choice charged.

::

    rows         what the choices read: row sums, and row sums by column
    candidates   the public lists to choose from
    dpsense      DPSense's Algorithm 1: θ by its kept total, no factor ½
    dpsense_s    DPSense's Algorithm 2: (θ, s) by its expected error, with the factor ½
    sweep        the exact errors that Algorithm 2 needs, for all θ and s at once
    rank         the rank rule: the θ that the right number of users exceed
    norms        θ of rows scaled to a Euclidean norm, from a noisy histogram of their norms
    theory       the bound that Theorem 2 of Fan & Jin (corrected) expects, from public guesses
"""
