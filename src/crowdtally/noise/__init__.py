"""Exact randomness: integers drawn from their exact law, from one cryptographic source.

::

    source      uint64 words from AES-256-CTR, keyed by the operating system
    balls       real numbers known by ever smaller certified balls: rates and probabilities
    uniform     one uniform number whose words are drawn when asked for; integers below n
    digits      one base-256 digit of a geometric number, by a table of certified boundaries
    geometric   Pr[G=k] ∝ e^(−xk), digit by digit
    laplace     Pr[X=k] ∝ e^(−|k|/b), a difference of two geometric numbers
    gaussian    Pr[Z=k] ∝ e^(−k²/(2σ²)), whole or beyond a cut (gaussian_cells, falling)
    interval    Pr[z] ∝ e^(−ε(max z⁺ + max z⁻)) on K cells together
    bernoulli   coins of rational and of real probability
    skip        every cell included independently, at the cost of the included ones
    rare        the same where a single hit is already unlikely
    choose      the exponential mechanism over exact scores
    draws       all of it bundled over one source, the one object that callers receive

No float decides an outcome, and nothing is ever redrawn because a word was hard to decide: its
uniform number is extended. Beside each module stands the proof of its law.
"""
