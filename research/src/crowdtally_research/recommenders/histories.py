"""Split people, and make what a recommender may be given of each: raw, perturbed or random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sinh
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import InputError
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.noise.geometric import Integers
from crowdtally.noise.source import WordSource
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.history import History, NoisyCategories
from crowdtally.person.perturbation import chosen, measure, relaxed
from crowdtally.person.plan import Plan
from crowdtally.person.scales import Rates
from crowdtally_research.recommenders.models import Floats, Mask

# How far off the counts of categories are: with the noise of a plan, and with uniform noise.


def uniform(plan: Plan) -> Plan:
    """The usual Laplace mechanism: every category has the noise of the global sensitivity.

    One item changes as many counts as it has categories, Δ at most: the scale is Δ/ε.
    """
    widest = max(map(len, plan.sets))
    rate = min(plan.budgets) / Fraction(widest)
    gap = max(float(1 / rate) / plan.mean_scale - 1, 0.0)
    return replace(plan, noise=Rates((rate,) * len(plan.measured), gap))


def expected_error(plan: Plan) -> float:
    """The mean over the categories of E|noise| = 1/sinh(1/z): the MAE of the noisy counts."""
    return float(np.mean([1 / sinh(float(rate)) for rate in plan.rates]))


def categories_of(catalogue: Catalogue) -> NDArray[np.int64]:
    """1 where an item, a row, has a category, a column."""
    table = np.zeros((len(catalogue.items), len(catalogue.categories)), dtype=np.int64)
    for group in catalogue.groups:
        table[np.ix_(group.places, np.array(group.categories))] = 1
    return table


# People to learn from, and others to recommend to: nobody is both.

FEWEST_PUBLIC = 10
"""People that a recommender learns from, at least."""


@dataclass(frozen=True, eq=False)
class Split:
    """Public people, and held-out ones with some of their items hidden."""

    public: Any
    """Who had what, a row for each public person: recommenders and priors see nothing else."""
    histories: Any
    """What the held-out people had, a row for each, without what is hidden."""
    hidden: Any
    """What of theirs is hidden, and should be recommended."""

    @property
    def people(self) -> int:
        return int(self.histories.shape[0])


def split(visits: Any, people: int, hidden: int, seed: int) -> Split:
    """Hold out some people, and hide some items of each; the same seed does the same.

    Only who had at least twice as many items as are hidden is held out, so that a history is left.

    Args:
        visits: a sparse matrix of ones, a row for each person and a column for each item.
        people: how many to hold out.
        hidden: how many items of each to hide.
        seed: decides who and what.
    """
    generator = np.random.default_rng(seed)
    lengths = np.diff(visits.indptr)
    able = np.flatnonzero(lengths >= 2 * hidden)
    _check(len(able), int((lengths > 0).sum()), people, hidden)
    held_out = np.sort(generator.choice(able, people, replace=False))
    others = np.setdiff1d(np.flatnonzero(lengths > 0), held_out)
    theirs = visits[held_out]
    apart = theirs.copy()
    apart.data[:] = 0
    for start, end in zip(theirs.indptr[:-1], theirs.indptr[1:], strict=True):
        apart.data[generator.choice(np.arange(start, end), hidden, replace=False)] = 1
    histories = theirs - apart
    for matrix in (histories, apart):
        matrix.eliminate_zeros()
    return Split(visits[others], histories, apart)


def _check(able: int, everybody: int, people: int, hidden: int) -> None:
    """Refuse where too few are left, with what would do."""
    if able < people or everybody - people < FEWEST_PUBLIC:
        most = min(able, everybody - FEWEST_PUBLIC)
        instead = f"--people {most} or fewer" if most > 0 else "records of more people"
        raise InputError(
            f"the records have too few people: of {everybody:,}, {able:,} have the {2 * hidden} "
            f"items of the catalogue that are needed to hide {hidden}, and {FEWEST_PUBLIC} must be "
            f"left to learn from, but --people {people} are to be held out. Give {instead}, or "
            "a smaller --hidden."
        )


# Noise for many people: drawn many at a time, handed out one by one.

_STOCK = 1 << 13


class Stock(SystemDraws):
    """The exact samplers, with Laplace noise drawn ahead for each scale.

    Draws are independent, so it does not matter when one is made; each is handed out once.
    """

    def __init__(self, source: WordSource | None = None) -> None:
        super().__init__(source)
        self._ahead: dict[Fraction, Integers] = {}

    def laplace(self, scale: Fraction, size: int) -> Integers:
        """See :meth:`crowdtally.noise.draws.Draws.laplace`."""
        left = self._ahead.get(scale, np.empty(0, dtype=np.int64))
        if len(left) < size:
            left = np.concatenate([left, super().laplace(scale, max(size, _STOCK))])
        self._ahead[scale] = left[size:]
        return left[:size]


# A better phase 2: what people whose counts are like the noisy ones had.
#
# The recommender knows the public people, the catalogue and the law of the noise. So it can say of
# each public person how well that person's counts explain the noisy ones, and take the histories of
# all of them by these odds. It sees noisy counts and public things only: it costs no ε, and nothing
# is drawn. What it does not do is to keep the noisy counts themselves, as EpicRec's phase 2 does.

_AT_ONCE = 64
"""People whose odds are worked out at once: an array of so many by the public people."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The public people as a prior, by their counts of categories."""

    histories: Any
    """Who had what, a row for each public person."""
    counts: Floats
    """How many items of each category each of them had."""

    @classmethod
    def of(cls, public: Any, categories: NDArray[np.int64]) -> Posterior:
        """From the public people.

        Args:
            public: a sparse matrix, a row for each person.
            categories: 1 where an item, a row, has a category, a column.
        """
        return cls(public, np.asarray(public @ categories, dtype=np.float64))

    def weights(self, noisy: list[NoisyCategories], plan: Plan) -> Floats:
        """How likely each item is in each person's history: a row for each of the noisy counts."""
        scales = np.array([float(scale) for scale in plan.scales])
        values = np.array([one.values for one in noisy], dtype=np.float64)
        parts = [
            self._weights(values[start : start + _AT_ONCE], scales)
            for start in range(0, len(values), _AT_ONCE)
        ]
        return np.concatenate(parts)

    def _weights(self, values: Floats, scales: Floats) -> Floats:
        odds = np.zeros((len(values), len(self.counts)))
        for value, count, scale in zip(values.T, self.counts.T, scales, strict=True):
            # Two people of one taste differ by about the root of a count. Without that the odds
            # would stand on very few people where there is little noise.
            width = scale + np.sqrt(count + 1)
            odds -= np.abs(value[:, None] - count) / width + np.log(width)
        likely = np.exp(odds - odds.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        return np.asarray((self.histories.T @ likely.T).T, dtype=np.float32)


def rounded(weights: Floats) -> Floats:
    """A history of 0 and 1: the likeliest items, as many as are to be expected.

    >>> rounded(np.array([[0.9, 0.2, 0.7, 0.1]])).tolist()
    [[1.0, 0.0, 1.0, 0.0]]
    """
    number = np.rint(weights.sum(axis=1)).astype(np.int64)
    order = np.argsort(-weights, axis=1, kind="stable")
    chosen = np.zeros(weights.shape, dtype=np.float32)
    for row, places, many in zip(chosen, order, number, strict=True):
        row[places[:many]] = 1
    return chosen


# A better phase 2: which items go with such noisy counts, learned from perturbed public people.
#
# Public people's counts are known, so noise of the plan's law can be put on them as often as one
# likes, and it can be learned which items people with such noisy counts have. Ridge regression on a
# few functions of the counts is enough. It sees noisy counts and public things only: it costs no ε.

_TIMES = 4
"""How often each public person is perturbed to learn from."""
_RIDGE = 3.0
"""The weight of the squared coefficients, of features with variance 1."""
_NOBODY = 5.0
"""Added to the length of a history, so that shares of a short one do not jump."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A regression from noisy counts to the weight of each item."""

    centre: Floats
    """What is taken off each feature."""
    spread: Floats
    """What each feature is divided by."""
    coefficients: Floats
    """A row for each feature, and one of its own for all alike, a column for each item."""

    @classmethod
    def of(cls, public: Any, counts: Floats, plan: Plan, draws: Draws) -> Learned:
        """Learn from the public people.

        Args:
            public: who had what, a row for each public person.
            counts: how many items of each category each of them had.
            plan: says how noisy the counts of others will be.
            draws: where the noise on the public people's counts comes from.
        """
        seen = [features(_noisy(counts, plan, draws)) for _ in range(_TIMES)]
        centre, spread = np.mean(seen, axis=(0, 1)), np.std(seen, axis=(0, 1)) + 1e-9
        rows = [_with_one((one - centre) / spread) for one in seen]
        squares = np.sum([row.T @ row for row in rows], axis=0)
        ridge = _RIDGE * np.eye(len(squares))
        ridge[-1, -1] = 0.0  # how many had an item on average is not to be shrunk
        # The items are the same whenever a person is perturbed anew: the sums come first.
        products = (public.T @ np.sum(rows, axis=0)).T
        return cls(centre, spread, np.linalg.solve(squares + ridge, products))

    def weights(self, noisy: list[NoisyCategories]) -> Floats:
        """How likely each item is in each person's history; a little below 0 or above 1 at times.

        Recommenders are linear, so nothing is cut off.
        """
        values = np.array([one.values for one in noisy], dtype=np.float64)
        row = _with_one((features(values) - self.centre) / self.spread)
        return np.asarray(row @ self.coefficients, dtype=np.float32)


def features(counts: Floats) -> Floats:
    """What is looked at: the length of a history, and each category's count and share."""
    known = np.maximum(counts, 0.0)
    total = known.sum(axis=1, keepdims=True) + _NOBODY
    share, length = known / total, np.log(total)
    return np.concatenate([length, length**2, share, np.sqrt(share), np.log1p(known)], axis=1)


def _noisy(counts: Floats, plan: Plan, draws: Draws) -> Floats:
    noise = [np.asarray(draws.laplace(scale, len(counts)), dtype=float) for scale in plan.scales]
    return np.asarray(counts + np.transpose(noise))


def _with_one(rows: Floats) -> Floats:
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


# What a recommender may be given of a person, as weights of items: a row for each person.
#
# Of one person there is one release, the noisy counts of one draw; every kind of perturbed history
# below is made from the same counts and from public things. Only ``uniform`` has counts of its own,
# because its noise has another scale.

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
    split: Split

    @cached_property
    def had(self) -> Mask:
        """True for each item of each held-out person's history."""
        return np.asarray(self.split.histories.toarray() > 0)

    @cached_property
    def popularity(self) -> NDArray[np.float64]:
        """How many public people had each item."""
        return np.asarray(self.split.public.sum(axis=0), dtype=np.float64).ravel()

    def raw(self) -> Floats:
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
