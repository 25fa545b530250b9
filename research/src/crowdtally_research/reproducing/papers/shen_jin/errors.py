"""The error of a person's category counts, by what is made of them, against ε."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import process_time

import numpy as np
from numpy.typing import NDArray

from crowdtally.noise.draws import Draws
from crowdtally.person.catalogue import ONE, in_widths
from crowdtally.person.history import History, NoisyCategories
from crowdtally.person.perturbation import chosen, measure, relaxed
from crowdtally.person.plan import Plan, Policy, quantify
from crowdtally_research.recommenders.histories import Posterior, Stock
from crowdtally_research.reproducing.figure import Given, Number
from crowdtally_research.reproducing.papers.shen_jin.example import expected_error, global_scale
from crowdtally_research.reproducing.papers.shen_jin.people import People, people_of

MAE, BUDGET, TIME = "mae", "budget", "time"
BOUND, GLOBAL, OPTIMAL, LAW = "2‖z‖₁/c", "global sensitivity", "optimal noise", "its law"
INDEPENDENT, SYSTEMATIC, OURS = "rebuilt, as printed", "rebuilt, ours", "posterior, ours"
LINES = (BOUND, GLOBAL, OPTIMAL, LAW, INDEPENDENT, SYSTEMATIC, OURS)
_ETAS = ("0.5", "1", "2", "5", "10")

Floats = NDArray[np.float64]


def errors(given: Given, *, epsilons: Sequence[str], persons: int, public: int) -> Sequence[Number]:
    """Each line at every ε, as a mean over people.

    Args:
        given: where the data are.
        epsilons: exact, as text.
        persons: how many people are perturbed, once at every ε.
        public: how many others the posterior may know; all of them are public.
    """
    people = people_of(given.data)
    order = np.random.default_rng(1).permutation(people.matrix.shape[0])
    tried = Trial(people, order[:persons], order[persons : persons + public], Stock())
    found = [one for epsilon in epsilons for one in tried.numbers(epsilon)]
    return [*found, *quantified(people)]


@dataclass(frozen=True, eq=False)
class Trial:
    """Some people to perturb, and others who are public."""

    people: People
    private: NDArray[np.int64]
    """Who is perturbed."""
    public: NDArray[np.int64]
    """Whose histories anybody knows."""
    draws: Draws

    def numbers(self, epsilon: str) -> Iterator[Number]:
        plan, x = Plan.of(self.people.catalogue, epsilon), float(epsilon)
        mean = plan.mean_scale
        yield Number(MAE, BOUND, x, 2 * mean)
        found, times = self._found(plan)
        for line in (GLOBAL, OPTIMAL):
            yield Number.over(MAE, line, x, found[line])
        law = [expected_error(scale) for scale in plan.scales]
        yield Number(MAE, LAW, x, sum(law) / len(law))
        for line in (INDEPENDENT, SYSTEMATIC, OURS):
            yield Number.over(MAE, line, x, found[line])
        yield Number.over(TIME, "phase 2", x, times)

    def _found(self, plan: Plan) -> tuple[dict[str, list[float]], list[float]]:
        """For each line the error of each person, and the milliseconds of each rebuilding."""
        categories = self.people.categories
        truth = np.asarray(self.people.matrix[self.private] @ categories, dtype=np.float64)
        found: dict[str, list[float]] = defaultdict(list)
        times, noisy = [], []
        for person, true in zip(self.private.tolist(), truth, strict=True):
            history = History.of(self.people.history(person), plan.catalogue)
            noisy.append(measure(history, plan, self.draws))
            widest = Fraction(global_scale(plan)) / plan.epsilon.value
            uniform = np.asarray(self.draws.laplace(widest, len(true)), dtype=np.float64)
            found[GLOBAL].append(float(np.abs(uniform).mean()))
            found[OPTIMAL].append(_off(np.array(noisy[-1].values), true))
            start = process_time()
            for line, places in self._rebuilt(noisy[-1], plan):
                found[line].append(_off(categories[places].sum(axis=0), true))
            times.append(1000 * (process_time() - start))
        weights = Posterior.of(self.people.matrix[self.public], categories).weights(noisy, plan)
        found[OURS] = [_off(w @ categories, true) for w, true in zip(weights, truth, strict=True)]
        return found, times

    def _rebuilt(
        self, noisy: NoisyCategories, plan: Plan
    ) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Phase 2, with both ways to round its shares of items."""
        shares = relaxed(noisy, plan)
        yield INDEPENDENT, independently(shares, plan, self.draws)
        yield SYSTEMATIC, chosen(shares, plan, self.draws)


def independently(shares: Floats, plan: Plan, draws: Draws) -> NDArray[np.int64]:
    """The paper's rounding: every item by itself, with the probability that phase 2 gave it."""
    sizes = [group.size for group in plan.groups]
    widths = np.repeat(in_widths(shares), sizes)
    drawn = draws.uniforms_below(np.full(len(widths), ONE, dtype=np.uint64))
    places = np.concatenate([group.places for group in plan.groups])
    return np.asarray(places[np.asarray(drawn, dtype=np.int64) < widths])


def _off(estimate: NDArray[np.generic], true: Floats) -> float:
    """The mean absolute error over the categories."""
    return float(np.abs(np.asarray(estimate, dtype=np.float64) - true).mean())


def quantified(people: People) -> Iterator[Number]:
    """S-PBQ's ε for several public rates η."""
    for eta in _ETAS:
        found = quantify(people.catalogue, Policy.of(eta, "0.01", 100))
        yield Number(BUDGET, "s-pbq", float(eta), float(found.value))
