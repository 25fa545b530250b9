"""Perturb a history: noisy counts, and a new history made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws
from crowdtally.person.catalogue import Group, Popularity, in_widths, shared, systematic, weights_of
from crowdtally.person.history import History, NoisyCategories
from crowdtally.person.plan import Plan
from crowdtally.person.solver import Floats, Incidence, one_thread, solved

# Phase 2's least squares: min ½‖Sᵀ(n∘x) − target‖² over 0 ≤ x ≤ 1, the solution of least norm.
#
# x_g is the value that all n_g items of group g share. The proof is in rebuild.md. Floats are
# fine here: the target is released already, and whatever is made of it is free.

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

    Within 0 ≤ x ≤ 1, for sizes n > 0. The dual has one unknown ν_j for each category: x =
    clip(Sν, 0, 1), and ν is the least of a convex function with a continuous slope, made of
    finitely many quadratic pieces. Newton's method with an exact search along each step ends on
    the right piece.
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


# Phase 2: a history that has the noisy counts, made from public things alone. See rebuild.md.
#
# It receives noisy counts and the plan. Neither knows the person's items, so what is made here
# can lean on none of them: which items of a group are chosen is chance, or public popularity.

_BEYOND = 1 << 20
"""A count so far beyond the catalogue's size is as good as one further beyond, and floats can hold
it; only an ε of about 1e-4 and less has such noise."""


def rebuild(
    noisy: NoisyCategories, plan: Plan, draws: Draws, popularity: Popularity | None = None
) -> NDArray[np.int64]:
    """The places of the items of a perturbed history, in no particular order.

    Post-processing: it costs nothing however often it is done. The draws give the one offset of
    the rounding; ``popularity``, a public weight ≥ 0 of each item, chooses within a group.
    """
    weights = None if popularity is None else weights_of(popularity, plan.catalogue)
    return chosen(relaxed(noisy, plan), plan, draws, weights)


def chosen(
    values: NDArray[np.float64],
    plan: Plan,
    draws: Draws,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """The places of items chosen so that each group has its share, in no particular order.

    ``values`` are the shares from :func:`relaxed`; without ``weights`` all items are alike.
    """
    widths = [
        shared(group, width, weights)
        for group, width in zip(plan.groups, in_widths(values).tolist(), strict=True)
    ]
    # The items of a group lie side by side, so that rounding keeps the sum of each group.
    places = np.concatenate([group.places for group in plan.groups])
    return np.asarray(places[systematic(np.concatenate(widths), draws)])


def relaxed(noisy: NoisyCategories, plan: Plan) -> NDArray[np.float64]:
    """The share of each perturbed group's items whose counts come nearest to the noisy ones."""
    if not isinstance(noisy, NoisyCategories) or noisy.categories != plan.categories:
        raise UsageError("phase 2 takes the noisy counts of the plan's own categories.")
    sizes = np.array([group.size for group in plan.groups], dtype=np.float64)
    edge = _BEYOND + 4 * int(sizes.sum())
    target = np.array([float(max(-edge, min(edge, value))) for value in noisy.values])
    return bounded_least_squares(Incidence(plan.sets, len(plan.measured)), sizes, target)


# S-DPDP: a history is counted by category with exact noise, and made anew from the noisy counts.
#
# Pure: no ledger and no file. ``store.py`` is the way by which something leaves a device.


@dataclass(frozen=True)
class Perturbed:
    noisy: NoisyCategories
    items: tuple[str | int, ...]
    """In the catalogue's order."""


def perturb(
    history: History | Iterable[object],
    plan: Plan,
    draws: Draws,
    *,
    popularity: Popularity | None = None,
) -> Perturbed:
    """Perturb a history once.

    Unit: one item of one person's history, added or removed. Loss: at most ε_i of the plan for a
    perturbed item, 0 for a withheld one; nothing is promised for items that leave as they are.
    Whoever calls this again on the same history spends as much again.
    """
    known = History.of(history, plan.catalogue)
    noisy = measure(known, plan, draws)  # from here on the perturbed items see noisy counts alone
    chosen = rebuild(noisy, plan, draws, popularity)
    places = np.sort(np.concatenate([chosen, _as_they_are(known, plan.passed)]))
    return Perturbed(noisy, tuple(plan.catalogue.items[place] for place in places.tolist()))


def measure(history: History, plan: Plan, draws: Draws) -> NoisyCategories:
    """The counts of the measured categories, each with discrete Laplace noise of its own scale.

    Only items of perturbed groups are counted. One of them more or less changes the counts of its
    categories by 1 and no others: the loss is the sum of their rates, which is at most ε_i.
    """
    noise = [int(draws.laplace(scale, 1)[0]) for scale in plan.scales]
    pairs = zip(counted(history, plan), noise, strict=True)
    return NoisyCategories(plan.categories, tuple(count + more for count, more in pairs))


def counted(history: History, plan: Plan) -> tuple[int, ...]:
    """The exact counts of the measured categories: private; ``measure`` alone uses them."""
    inside = np.zeros(len(plan.catalogue.items), dtype=np.bool_)
    inside[history.places] = True
    counts = [0] * len(plan.measured)
    for group, categories in zip(plan.groups, plan.sets, strict=True):
        items = int(inside[group.places].sum())
        for category in categories:
            counts[category] += items
    return tuple(counts)


def _as_they_are(history: History, groups: tuple[Group, ...]) -> np.ndarray:
    """The places of the history's items that the levels release as they are."""
    own = [np.intersect1d(history.places, group.places) for group in groups]
    return np.concatenate([np.empty(0, dtype=np.int64), *own])
