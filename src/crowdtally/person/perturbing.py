"""S-DPDP: a history is counted by category with exact noise, and made anew from the noisy counts.

Pure: no ledger and no file. ``store.py`` is the way by which something leaves a device.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from crowdtally.noise.draws import Draws
from crowdtally.person.catalogue import Group
from crowdtally.person.history import History
from crowdtally.person.noisy import NoisyCategories
from crowdtally.person.planning import Plan
from crowdtally.person.rebuild import rebuild
from crowdtally.person.sharing import Popularity


@dataclass(frozen=True)
class Perturbed:
    """What may leave the device."""

    noisy: NoisyCategories
    """The noisy counts of the categories."""
    items: tuple[str | int, ...]
    """The perturbed history, in the catalogue's order."""


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

    Args:
        history: the ids of its items.
        plan: everything public.
        draws: where randomness comes from.
        popularity: a public weight ≥ 0 of each item; decides which items of a group are chosen.
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
