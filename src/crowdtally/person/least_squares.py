"""Phase 2's least squares: min ½‖Sᵀ(n∘x) − target‖² over 0 ≤ x ≤ 1, the solution of least norm.

x_g is the value that all n_g items of group g share. The proof is in rebuild.md. Floats are fine
here: the target is released already, and whatever is made of it is free.
"""

from __future__ import annotations

import numpy as np

from crowdtally.person.incidence import Floats, Incidence, one_thread, solved

_RIDGE = 2.0**-20
"""The weight of ‖d‖² beside the squares, for items in groups of mean size: it makes the solution
unique, and leaves the squares within this share of the least."""
_FIRST = tuple(_RIDGE * 4.0**power for power in range(9, 0, -1))
"""Larger weights to begin with, each started from the solution of the one before: a small weight
alone can take hundreds of steps from piece to piece."""
_ROUGH = 1.0
"""How near to a count these need to come."""
_MOST_STEPS = 1000
_ROUNDING = 2.0**-50


def bounded_least_squares(sets: Incidence, sizes: Floats, target: Floats) -> Floats:
    """The x of each group: the unique least of ½‖Sᵀ(n∘x) − target‖² + ½ρ·Σ n_g·x_g².

    Within 0 ≤ x ≤ 1. By its dual, which has one unknown ν_j for each category: x = clip(Sν, 0, 1),
    and ν is the least of a convex function with a continuous slope, made of finitely many quadratic
    pieces. Newton's method with an exact search along each step ends on the right piece.

    Args:
        sets: the categories of each group.
        sizes: n > 0, how many items each group has.
        target: what the counts should be.
    """
    with one_thread():
        return _by_newton(sets, sizes, target)


def _by_newton(sets: Incidence, sizes: Floats, target: Floats) -> Floats:
    mean = max(1.0, float(sizes.mean()))
    nu = np.zeros(sets.columns)
    for ridge in _FIRST:
        nu = _descended(sets, sizes, target, (nu, ridge * mean), _ROUGH)
    nu = _descended(sets, sizes, target, (nu, _RIDGE * mean), 0.0)
    return np.clip(sets.sums(nu), 0, 1)


def _descended(
    sets: Incidence, sizes: Floats, target: Floats, ridged: tuple[Floats, float], near: float
) -> Floats:
    """The ν at which no slope is above ``near``, or floats can tell no better."""
    nu, ridge = ridged
    reach, scale = sets.spread(sizes), 1.0 + float(np.abs(target).max())
    for _ in range(_MOST_STEPS):
        raw = sets.sums(nu)
        slope = sets.spread(sizes * np.clip(raw, 0, 1)) - target + ridge * nu
        blurred = _ROUNDING * (reach * (1 + float(sets.sums(np.abs(nu)).max())) + scale)
        if (np.abs(slope) <= np.maximum(blurred, near)).all():
            break
        free = (raw >= 0) & (raw <= 1)
        curve = sets.gram(np.where(free, sizes, 0.0))
        curve[np.diag_indices_from(curve)] += ridge
        step = -solved(curve, slope)
        length = _lowest(raw, sets.sums(step), sizes, slope, (step, ridge))
        if length <= 0:
            break
        nu = nu + length * step
    return nu


def _lowest(
    raw: Floats, change: Floats, sizes: Floats, slope: Floats, ridged: tuple[Floats, float]
) -> float:
    """How far along the step the dual is lowest: where its increasing derivative is 0.

    Between two multiples at which a group meets a bound the derivative is a line.
    """
    step, ridge = ridged
    rise, bend = float(slope @ step), ridge * float(step @ step)
    before = np.clip(raw, 0, 1)

    def derivative(length: float) -> float:
        moved = np.clip(raw + length * change, 0, 1) - before
        return rise + float((sizes * change) @ moved) + length * bend

    moving = change != 0
    meets = np.concatenate([(bound - raw[moving]) / change[moving] for bound in (0.0, 1.0)])
    meets = np.sort(meets[meets > 0])
    low, high = 0, len(meets)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if derivative(meets[middle]) < 0 else (low, middle)
    begin = float(meets[low - 1]) if low else 0.0
    end = float(meets[low]) if low < len(meets) else 2 * begin + 1.0
    falls, rises = derivative(begin), derivative(end)
    return begin + (end - begin) * -falls / (rises - falls) if rises > falls else begin
