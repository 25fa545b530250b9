"""Tails of the discrete Gaussian law, certified: probabilities, least places, cuts, thresholds.

The proofs are in ``gaussian.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from crowdtally.core.numbers import is_whole
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.lattice import bell_sum, bell_total

WIDE = 4
"""From this variance on sums of noises are, for all that floats can tell, of the same kind."""
_BITS = 128
_PATIENCE = 1 << 12
_SHOWN_BITS = 64
_SMALLEST = Fraction(1, 10**400)
"""A smaller chance is told as this: rounded up, as any."""


def beyond(variance: Fraction, least: int) -> arb:
    """Pr[Z ≥ least], as a ball at the precision in force.

    >>> with precision(64):
    ...     float(beyond(Fraction(1), 2)).__round__(6)
    0.058558
    """
    if least <= 0:
        return 1 - beyond(variance, 1 - least)
    return bell_sum(variance, least) / bell_total(variance)


def beyond_at_most(variance: Fraction, least: int) -> Fraction:
    """Pr[Z ≥ least] rounded up, to about 64 bits: for promises, which must not be too small."""
    with precision(_BITS):
        return rounded_up(beyond(variance, least))


def rounded_up(chance: arb) -> Fraction:
    """A rational of about 64 bits that is certainly no less than a chance, and at most 1."""
    if chance.upper() <= as_ball(_SMALLEST).lower():
        return _SMALLEST
    scale = _SHOWN_BITS - int((chance.upper().log() / arb(2).log()).lower().floor().unique_fmpz())
    units = int((chance * arb((1, scale))).upper().ceil().unique_fmpz())
    return min(Fraction(units, 1 << scale) if scale >= 0 else Fraction(1), Fraction(1))


def moment(variance: Fraction, power: int, low: int, high: int | None = None) -> arb:
    """E[Z^power; low ≤ Z ≤ high] for low ≥ 0, or from ``low`` on: one side of the law."""
    total = bell_sum(variance, low, power)
    if high is not None:
        total = total - bell_sum(variance, max(high + 1, low), power)
    return total / bell_total(variance)


def first_within(variance: Fraction, chance: Callable[[], arb], lowest: int) -> int:
    """The least k ≥ lowest with Pr[Z ≥ k] ≤ chance, as far as balls can tell, else one more.

    Args:
        variance: σ².
        chance: a ball around the chance, at the precision in force.
        lowest: from where on.
    """
    return _first(lambda k: _at_most(lambda: beyond(variance, k), chance), lowest)


def _at_most(value: Callable[[], arb], chance: Callable[[], arb]) -> bool:
    """Whether value ≤ chance, certainly: what no patience tells apart counts as above."""
    bits = _BITS
    while True:
        with precision(bits):
            found, wanted = value(), chance()
            if found <= wanted:
                return True
            if found > wanted or bits > _PATIENCE:
                return False
        bits *= 2


def _first(passes: Callable[[int], bool], lowest: int) -> int:
    """The least k ≥ lowest that passes; from one that does, all that follow do."""
    if passes(lowest):
        return lowest
    step = 1
    while not passes(lowest + step):
        step *= 2
    failed, passed = lowest + step // 2, lowest + step
    while passed - failed > 1:
        middle = (failed + passed) // 2
        failed, passed = (failed, middle) if passes(middle) else (middle, passed)
    return passed


def unknown_threshold(variance: Fraction, limit: int, delta: Fraction) -> int:
    """The least T ≥ 1 with 1 − (1−p)^limit ≤ delta, where p = Pr[1 + Z ≥ T], rounded up.

    For cells that no public list names: a user who alone has ``limit`` of them, with a count of 1
    each, makes one of them appear with at most ``delta``, if those are published whose noisy count
    is *at least* T.

    Args:
        variance: σ² of the noise.
        limit: l, the most cells that one user has.
        delta: δ₂, above 0 and below 1.

    >>> unknown_threshold(Fraction(100), 10, Fraction(1, 10**6))
    54
    """
    if not is_whole(limit) or limit < 1:
        raise UsageError(f"the cells of one user are a whole number of 1 or more: {limit!r}.")
    if not isinstance(delta, Fraction) or not 0 < delta < 1:
        raise UsageError("delta must be an exact Fraction above 0 and below 1.")
    return _first(lambda t: unknown_delta(variance, limit, t) <= delta, 1)


def unknown_delta(variance: Fraction, limit: int, threshold: int) -> Fraction:
    """1 − (1−p)^limit for p = Pr[1 + Z ≥ threshold], each rounded up: what T really costs."""
    alone = beyond_at_most(variance, threshold - 1)
    if alone == 1:
        return alone
    with precision(_BITS):
        return rounded_up(-(limit * (-as_ball(alone)).log1p()).expm1())
