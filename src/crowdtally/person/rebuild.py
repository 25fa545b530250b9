"""Phase 2: a history that has the noisy counts, made from public things alone. See rebuild.md.

It receives noisy counts and the plan. Neither knows the person's items, so what is made here can
lean on none of them: which items of a group are chosen is chance, or public popularity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws
from crowdtally.person.incidence import Incidence
from crowdtally.person.least_squares import bounded_least_squares
from crowdtally.person.noisy import NoisyCategories
from crowdtally.person.planning import Plan
from crowdtally.person.rounding import in_widths, systematic
from crowdtally.person.sharing import Popularity, shared, weights_of

_BEYOND = 1 << 20
"""A count so far beyond the catalogue's size is as good as one further beyond, and floats can hold
it; only an ε of about 1e-4 and less has such noise."""


def rebuild(
    noisy: NoisyCategories, plan: Plan, draws: Draws, popularity: Popularity | None = None
) -> NDArray[np.int64]:
    """The places of the items of a perturbed history, in no particular order.

    Post-processing: it costs nothing however often it is done.

    Args:
        noisy: the noisy counts of the plan's categories.
        plan: everything public.
        draws: where the one offset of the rounding comes from.
        popularity: a public weight ≥ 0 of each item; decides which items of a group are chosen.
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

    Args:
        values: the share of each perturbed group's items, from :func:`relaxed`.
        plan: everything public.
        draws: where the one offset of the rounding comes from.
        weights: a public weight ≥ 0 of each item of the catalogue; None: all alike.
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
