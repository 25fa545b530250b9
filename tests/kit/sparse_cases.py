"""The rules that the tests of sparse publishing go through."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.core.counts import Keeping

TAUS = [None, "1/2", "1", "3", "7/2", "19/3", "8"]

RULES = [
    Keeping(cut, None if tau is None else Fraction(tau), sides)
    for sides in ("two", "one")
    for cut in (0, 1, 5)
    for tau in TAUS
]


def named(rule: Keeping) -> str:
    return f"{rule.sides}-sided cut {rule.cut} tau {rule.threshold}"
