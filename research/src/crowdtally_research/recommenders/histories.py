"""What a recommender may be given of a person, as weights of items: a row for each person.

Of one person there is one release, the noisy counts of one draw; every kind of perturbed history
below is made from the same counts and from public things. Only ``uniform`` has counts of its own,
because its noise has another scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.noise.draws import Draws
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.history import History
from crowdtally.person.noisy import NoisyCategories
from crowdtally.person.perturbing import measure
from crowdtally.person.planning import Plan
from crowdtally.person.rebuild import chosen, relaxed
from crowdtally_research.recommenders.aggregates import categories_of, uniform
from crowdtally_research.recommenders.judging import Floats, Mask
from crowdtally_research.recommenders.learned import Learned
from crowdtally_research.recommenders.posterior import Posterior, rounded
from crowdtally_research.recommenders.splitting import Split

RAW = "raw"
RANDOM = "random"
PERTURBED = "perturbed"
UNIFORM = "uniform"
WORDS = {
    RAW: "the history as it is: no privacy",
    RANDOM: "as many items, chosen blindly: the length alone is true",
    PERTURBED: "S-DPDP: noise of the least mean, rebuilt from the categories alone",
    UNIFORM: "the same with the noise of the global sensitivity on every category",
    "popularity prior": "perturbed; the items of a category set are chosen by public popularity",
    "likely": "perturbed; rebuilt as the likeliest items of public people with such counts",
    "posterior": "the same, not rounded: each item weighs as much as it is likely",
    "learned": "perturbed; the weight of each item by a regression on perturbed public people",
}
"""Each kind of history and what it is."""
DRAWN = (PERTURBED, UNIFORM, "popularity prior", "likely", "posterior", "learned")
"""The kinds that depend on ε."""


@dataclass(frozen=True)
class Drawn:
    """What one draw made of all people's histories."""

    weights: dict[str, Floats]
    """For each kind the weights of all items, a row for each person."""
    noise: dict[str, Floats]
    """For optimal and uniform scales the mean |noisy − true| over a person's categories."""
    rebuilt: dict[str, Floats]
    """The same of the counts of the rebuilt history, for :data:`PERTURBED` and :data:`UNIFORM`."""


@dataclass(frozen=True, eq=False)
class Histories:
    """The held-out people, and what is public."""

    catalogue: Catalogue
    """The items and their categories."""
    split: Split
    """The people."""

    @cached_property
    def had(self) -> Mask:
        """True for each item of each held-out person's history."""
        return np.asarray(self.split.histories.toarray() > 0)

    @cached_property
    def popularity(self) -> NDArray[np.float64]:
        """How many public people had each item."""
        return np.asarray(self.split.public.sum(axis=0), dtype=np.float64).ravel()

    def raw(self) -> Floats:
        """The histories as they are."""
        return self.had.astype(np.float32)

    def random(self, generator: np.random.Generator) -> Floats:
        """As many items as each person has, each set of so many being as likely."""
        weights = np.zeros(self.had.shape, dtype=np.float32)
        for row, number in zip(weights, self.had.sum(axis=1), strict=True):
            row[generator.choice(len(row), number, replace=False)] = 1
        return weights

    def learned(self, plan: Plan, draws: Draws) -> Learned:
        """What the public people teach about counts as noisy as this plan's."""
        return Learned.of(self.split.public, self._posterior.counts, plan, draws)

    def drawn(self, plan: Plan, learned: Learned, draws: Draws) -> Drawn:
        """Perturb every history once, and make each kind of the noisy counts."""
        noisy, alike = self._measured(plan, draws), uniform(plan)
        shares = [relaxed(one, plan) for one in noisy]
        others = self._measured(alike, draws)
        soft = self._posterior.weights(noisy, plan)
        weights = {
            PERTURBED: self._rows(chosen(one, plan, draws) for one in shares),
            UNIFORM: self._rows(chosen(relaxed(one, alike), alike, draws) for one in others),
            "popularity prior": self._rows(
                chosen(one, plan, draws, self.popularity) for one in shares
            ),
            "likely": rounded(soft),
            "posterior": soft,
            "learned": learned.weights(noisy),
        }
        counts = {PERTURBED: noisy, UNIFORM: others}
        return Drawn(
            weights,
            {kind: self._off(np.array([o.values for o in of])) for kind, of in counts.items()},
            {kind: self._off(weights[kind] @ self._categories) for kind in counts},
        )

    def _measured(self, plan: Plan, draws: Draws) -> list[NoisyCategories]:
        return [measure(history, plan, draws) for history in self._private]

    def _off(self, counts: NDArray[Any]) -> Floats:
        """The mean error of the counts of each person."""
        return np.asarray(np.abs(counts - self._counts).mean(axis=1), dtype=np.float64)

    def _rows(self, chosen_places: Iterator[NDArray[np.int64]]) -> Floats:
        weights = np.zeros(self.had.shape, dtype=np.float32)
        for row, places in zip(weights, chosen_places, strict=True):
            row[places] = 1
        return weights

    @cached_property
    def _private(self) -> list[History]:
        return [History(self.catalogue, np.flatnonzero(row)) for row in self.had]

    @cached_property
    def _categories(self) -> NDArray[np.int64]:
        return categories_of(self.catalogue)

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        return np.asarray(self.had.astype(np.int64) @ self._categories)

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior.of(self.split.public, self._categories)
