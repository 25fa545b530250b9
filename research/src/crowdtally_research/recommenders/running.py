"""Run every history, recommender and draw, and hold what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from crowdtally.core.privacy import Epsilon
from crowdtally.noise.draws import Draws
from crowdtally.person.plan import Plan
from crowdtally_research.recommenders.histories import (
    PERTURBED,
    RANDOM,
    RAW,
    UNIFORM,
    Histories,
    Learned,
    expected_error,
    uniform,
)
from crowdtally_research.recommenders.models import (
    Floats,
    Popular,
    Recommender,
    best,
    hit_rate,
    ndcg,
)

# What was found, as rows: what the tables and pictures are made of.


@dataclass(frozen=True)
class Quality:
    """How well one recommender recommends to people who gave one kind of history."""

    recommender: str
    history: str
    """A kind of :data:`crowdtally_research.recommenders.histories.WORDS`; ``none`` for a list that
    is the same for all."""
    epsilon: str | None
    """ε of one item, exact, as text; None where nothing is drawn with it."""
    metric: str
    """``hit rate`` or ``ndcg``, of lists of the length that the facts say."""
    mean: float
    """Over people, and over draws where something is drawn."""
    standard_error: float
    """Of the mean, from the people's own means over all draws: people are independent."""
    gain: float
    """The mean less that of the popular list, of the same people."""
    gain_error: float
    """The standard error of the gain, from the people's own differences."""


@dataclass(frozen=True)
class Aggregates:
    """How far off the counts of categories are: a mean over people, draws and categories."""

    scales: str
    """``perturbed`` for the scales of least mean, ``uniform`` for the global sensitivity."""
    epsilon: str
    """ε of one item, exact, as text."""
    expected: float
    """The mean absolute error of the noisy counts by the noise's law."""
    measured: float
    measured_error: float
    rebuilt: float
    """The mean absolute error of the counts of the rebuilt history."""
    rebuilt_error: float


@dataclass(frozen=True)
class Facts:
    command: str
    items: int
    categories: int
    public: int
    """People that recommenders and priors were learned from."""
    people: int
    """Held-out people."""
    mean_history: float
    """Items of their histories, on average."""
    hidden: int
    """Items that were hidden of each."""
    length: int
    draws: int
    """How often every history was perturbed at each ε."""
    seed: int
    """Of the split."""
    rows: int
    left_out: int
    """Rows without a person, or with an item outside the catalogue."""


@dataclass(frozen=True)
class Found:
    qualities: Sequence[Quality]
    aggregates: Sequence[Aggregates]
    facts: Facts


# Every history, every recommender, every draw: the means, and how far they may be off.

METRICS = {"hit rate": hit_rate, "ndcg": ndcg}
NONE = "none"
"""The history of whoever gave none."""

Progress = Callable[[int, int], None]
Key = tuple[str, str, str | None, str]
"""Recommender, history, ε, metric."""


@dataclass
class Tally:
    """Sums over the draws, a number for each person."""

    sums: dict[Key, Floats] = field(default_factory=dict)
    times: dict[Key, int] = field(default_factory=dict)
    """Of how many draws."""

    def add(self, key: Key, values: Floats) -> None:
        self.sums[key] = self.sums.get(key, 0.0) + values
        self.times[key] = self.times.get(key, 0) + 1

    def of(self, key: Key) -> Floats:
        return self.sums[key] / self.times[key]


@dataclass(frozen=True, eq=False)
class Trial:
    """The people, the recommenders and the length of their lists."""

    histories: Histories
    """What can be given of each person."""
    popular: Popular
    """The list that is the same for all."""
    recommenders: Sequence[Recommender]
    """Those that look at a history."""
    length: int
    tally: Tally = field(default_factory=Tally)

    def judge(self, model: Recommender, history: str, epsilon: str | None, given: Floats) -> None:
        """Let one recommender make everybody's list, and look for what was hidden."""
        scores, popularity = model.scores(given), self.popular.popularity
        listed = best(scores, self.histories.had, popularity, self.length)
        hidden = self.histories.split.hidden.toarray() > 0
        for name, metric in METRICS.items():
            self.tally.add((model.name, history, epsilon, name), metric(listed, hidden))

    def without_noise(self, draws: int, seed: int) -> None:
        """The popular list, raw histories, and random ones."""
        raw, generator = self.histories.raw(), np.random.default_rng(seed)
        self.judge(self.popular, NONE, None, raw)
        for model in self.recommenders:
            self.judge(model, RAW, None, raw)
        for _ in range(draws):
            given = self.histories.random(generator)
            for model in self.recommenders:
                self.judge(model, RANDOM, None, given)

    def perturbed(
        self, epsilon: str, plan: Plan, learned: Learned, draws: Draws
    ) -> tuple[Floats, Floats]:
        """One draw at one ε; returns the errors of the counts, noisy and rebuilt, by scales."""
        drawn = self.histories.drawn(plan, learned, draws)
        for history, given in drawn.weights.items():
            for model in self.recommenders:
                self.judge(model, history, epsilon, given)
        kinds = (PERTURBED, UNIFORM)
        noise = np.array([drawn.noise[kind] for kind in kinds])
        return noise, np.array([drawn.rebuilt[kind] for kind in kinds])

    def qualities(self) -> Iterator[Quality]:
        """The means over people, and their gain on the popular list."""
        for key in self.tally.sums:
            recommender, history, epsilon, metric = key
            own = self.tally.of(key)
            gain = own - self.tally.of((self.popular.name, NONE, None, metric))
            yield Quality(recommender, history, epsilon, metric, *_mean(own), *_mean(gain))


def run(
    trial: Trial,
    epsilons: Sequence[Epsilon],
    number: int,
    seed: int,
    draws: Draws,
    progress: Progress = lambda done, total: None,
) -> tuple[list[Quality], list[Aggregates]]:
    """Measure everything.

    Args:
        trial: the people and the recommenders.
        epsilons: each ε to perturb with.
        number: how often.
        seed: of the random histories.
        draws: where the noise comes from.
        progress: is told how many of how many draws are done.
    """
    trial.without_noise(number, seed)
    aggregates: list[Aggregates] = []
    total = number * len(epsilons)
    progress(0, total)
    for epsilon in epsilons:
        plan, errors = Plan.of(trial.histories.catalogue, epsilon), []
        learned = trial.histories.learned(plan, draws)
        for _ in range(number):
            errors.append(trial.perturbed(str(epsilon), plan, learned, draws))
            progress(len(errors) + number * (len(aggregates) // 2), total)
        noise, rebuilt = np.mean(errors, axis=0)  # (optimal or uniform, person)
        for place, (kind, used) in enumerate(((PERTURBED, plan), (UNIFORM, uniform(plan)))):
            aggregates.append(
                Aggregates(
                    kind, str(epsilon), expected_error(used), *_mean(noise[place]),
                    *_mean(rebuilt[place]),
                )
            )  # fmt: skip
    return list(trial.qualities()), aggregates


def _mean(values: Floats) -> tuple[float, float]:
    """A mean over people and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / sqrt(len(values)))
