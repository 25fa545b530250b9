"""Items of simulated users, and the noisy values of a bounded release of them, in floats.

Only estimates are tested with it: nothing here is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from crowdtally.inference.facts import Binned, Chosen, ItemFacts, Noisy
from crowdtally.inference.items import equal_mass_groups, estimate_items, heaviest, largest
from crowdtally.inference.rows import best_cap, best_theta, is_light
from crowdtally.laws.laplace import DiscreteLaplace

GRID = 1 << 20
SHAPES = ("zipf", "uniform", "heavy")


@dataclass(frozen=True)
class Crowd:
    """Who has which item, each once."""

    users: np.ndarray
    items: np.ndarray
    size: int

    @property
    def truth(self) -> np.ndarray:
        """How many users each item has."""
        return np.bincount(self.items, minlength=self.size).astype(float)

    def rows(self, bound: float, inside: np.ndarray | None = None) -> np.ndarray:
        """The items' counts where each user's row, inside some items, is scaled to ``bound``."""
        users, items = self.users, self.items
        if inside is not None:
            users, items = users[inside[items]], items[inside[items]]
        sums = np.bincount(users, minlength=int(self.users.max()) + 1)
        weights = np.minimum(1.0, bound / np.maximum(sums, 1))[users]
        return np.bincount(items, weights, minlength=self.size)


def crowd(shape: str, rng: np.random.Generator, size: int = 600, users: int = 3000) -> Crowd:
    """Users of one of three shapes: Zipf items, nearly equal ones, few heavy ones."""
    if shape == "zipf":
        odds = 1 / np.arange(1, size + 1)
        sizes = np.exp(rng.normal(2.0, 0.9, users))
    elif shape == "uniform":
        odds = rng.uniform(0.8, 1.2, size)
        sizes = rng.poisson(12, users).astype(float)
    else:
        odds = np.append(np.full(8, 0.1), 0.3 * rng.dirichlet(np.full(size - 8, 0.7)))
        sizes = np.exp(rng.normal(1.5, 0.8, users))
    sizes = np.clip(np.rint(sizes), 1, size // 3).astype(int)
    keys = np.log(odds / odds.sum()) + rng.gumbel(size=(users, size))
    order = np.argsort(-keys, axis=1)[:, : sizes.max()]
    taken = np.arange(sizes.max()) < sizes[:, None]
    return Crowd(np.repeat(np.arange(users), sizes), order[taken], size)


def law(scale: float) -> DiscreteLaplace:
    """The law of noise of so large a scale, as a count, on a fine grid."""
    return DiscreteLaplace(Fraction(max(round(scale * GRID), 1)), Fraction(1, GRID))


def noise(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    """Laplace noise, nearly enough."""
    return scale * (rng.exponential(size=size) - rng.exponential(size=size))


def release(
    people: Crowd, rng: np.random.Generator, *, epsilon: float = 1.0, zoom: bool = False
) -> ItemFacts:
    """Sizes, table, perhaps a zoom, bins and a head of 15, as a bounded release measures them."""
    size = people.size
    sizes = np.bincount(people.users)
    bins = np.clip(np.floor(np.log2(sizes[sizes > 0])), 0, 12).astype(int)
    histogram = Noisy(
        np.bincount(bins, minlength=13) + noise(rng, 1 / (0.03 * epsilon), 13),
        law(1 / (0.03 * epsilon)),
    )
    read = ItemFacts(size, sizes=histogram).read_sizes()
    assert read is not None
    rest = 0.86 * epsilon
    light = is_light(read, rest, size)
    theta = best_theta(read, rest, size, light=light)
    share = rest / 2 if zoom else rest
    table = people.rows(theta) + noise(rng, theta / share, size)
    known: dict[str, Any] = {"table": Noisy(table, law(theta / share)), "sizes": histogram}
    found = estimate_items(ItemFacts(size, theta=theta, **known))
    if zoom:
        places = heaviest(found, 0.3)
        inside = np.zeros(size, dtype=bool)
        inside[places] = True
        bound = max(1, 3 * theta // 10)
        values = people.rows(bound, inside)[places] + noise(rng, bound / share, len(places))
        known["zoom"] = Chosen(places, values, law(bound / share), bound)
    if not light:
        cap = best_cap(read, 4, 0.03 * epsilon)
        groups = equal_mass_groups(found, 4)
        totals = np.bincount(groups, people.rows(cap), minlength=4)
        scale = cap / (0.03 * epsilon)
        known["bins"] = Binned(groups, totals + noise(rng, scale, 4), law(scale), cap)
        places = np.sort(largest(found, 15))
        scale = 15 / (0.08 * epsilon)
        known["head"] = Chosen(places, people.truth[places] + noise(rng, scale, 15), law(scale))
    return ItemFacts(size, theta=theta, **known)
