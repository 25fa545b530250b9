"""Exact brackets for e^(−y) in plain integers: an arithmetic that shares nothing with arb.

Numbers are integers in units of 2^−PLACES; every operation rounds outwards.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

PLACES = 2048
ONE = 1 << PLACES
Bracket = tuple[int, int]


def floor_ceil(value: Fraction) -> Bracket:
    scaled = value * ONE
    return scaled.numerator // scaled.denominator, -(-scaled.numerator // scaled.denominator)


@lru_cache
def exp_neg(y: Fraction) -> Bracket:
    """A bracket of e^(−y), y ≥ 0: alternating Taylor sums of y/2^h ≤ 1/2, then h squarings."""
    halvings = max(0, (2 * y.numerator // y.denominator).bit_length())
    low_y, high_y = floor_ceil(y / 2**halvings)
    low, high = _taylor(high_y)[0], _taylor(low_y)[1]
    for _ in range(halvings):
        low, high = low * low >> PLACES, -(-high * high >> PLACES)
    return max(low, 0), high


def _taylor(y: int) -> Bracket:
    """Terms y^n/n! fall, so the truncated alternating sum errs by less than the next term."""
    total, term, n = ONE, ONE, 0
    while term:
        n += 1
        term = term * y // (n << PLACES)
        total += -term if n % 2 else term
    return total - 2 * n - 2, total + 2 * n + 2  # each floored term errs by at most 2 units


class ExactDigit:
    """Boundaries b(k) = (1−α^(k+1))/T of Pr[D=k] ∝ α^k, from a bracket of α = e^(−y)."""

    def __init__(self, alpha: Bracket, highest: bool, boundaries: int) -> None:
        powers = [alpha]
        while len(powers) < 256:
            low, high = powers[-1]
            powers.append((low * alpha[0] >> PLACES, -(-high * alpha[1] >> PLACES)))
        total = (ONE, ONE) if highest else (ONE - powers[255][1], ONE - powers[255][0])
        self.highest = highest
        self.boundaries = [
            ((ONE - high) * ONE // total[1], -(-(ONE - low) * ONE // total[0]))
            for low, high in powers[: boundaries if highest else 255]
        ]

    def digit(self, words: list[int], width: int = 64) -> int | None:
        """The digit of U = 0.w₁w₂…, if the boundaries' brackets and U's interval decide it."""
        head = 0
        for word in words:
            head = head << width | word
        shift = PLACES - width * len(words)
        assert shift >= 0
        low, high = head << shift, (head + 1) << shift
        passed = sum(1 for _, upper in self.boundaries if upper <= low)
        if passed < len(self.boundaries):
            return passed if high <= self.boundaries[passed][0] else None
        assert not self.highest, "more boundaries are needed"
        return 255

    def probability(self, k: int) -> float:
        """Pr[D=k] to the last bits of a float."""
        above = self.boundaries[k][0] if k < len(self.boundaries) else ONE
        below = self.boundaries[k - 1][0] if k else 0
        return float(Fraction(above - below, ONE))
