"""Exact randomness: integers drawn from their exact law, from one cryptographic source.

Callers receive one object, ``draws.Draws``. No float decides an outcome, and no word is redrawn
because it was hard to decide: its uniform number is extended. The ``*.md`` files prove the laws.
"""
