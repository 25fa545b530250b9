"""The paper's two algorithms on a bench: the choice of the bound, and the counts at any bound.

The choice is the product's, drawn anew for each run from scores that are worked out once. The
counts are published by the last step of a release, with its noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crowdtally.curator.bounding.dpsense import DPSense, DPSenseS
from crowdtally.curator.choosing.dpsense import DPSenseChoice
from crowdtally.curator.choosing.dpsense_s import DPSenseSChoice
from crowdtally.curator.counting.reading import Read
from crowdtally.curator.pricing import pure
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.split import CHOOSE
from crowdtally.curator.steps.making import steps_of
from crowdtally.curator.steps.step import Released
from crowdtally.lab.estimates import estimate
from crowdtally.values.counts import Counts
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.table_kinds import ITEMS
from crowdtally_research.reproducing.papers.day_li.bench import Bench, Floats


@dataclass(frozen=True, eq=False)
class Scaling:
    """Algorithm 1 at one ε: a tenth of it for the choice of θ, the rest for the counts."""

    bench: Bench
    """The records."""
    request: Request
    """The release."""
    choice: DPSenseChoice
    """Of a θ from 1 to d."""
    scores: list[int]
    """Of every θ, in the choice's own units."""

    @classmethod
    def of(cls, bench: Bench, epsilon: Epsilon) -> Scaling:
        """With all scores."""
        cells = bench.domain.size
        request = bench.request(epsilon, bounding="dpsense", choose="dpsense", max_records=cells)
        (table,) = request.bounded
        choice = DPSenseChoice(cells, cells, pure(request.part(CHOOSE)), table.epsilon)
        return cls(bench, request, choice, choice.scores(bench.rows.sums))

    def quality(self, theta: int) -> float:
        """q(θ) by equation 3: the average kept column count, less the mean absolute noise."""
        return quality(self.choice, self.scores[theta - 1])

    @property
    def best(self) -> int:
        """The θ of the largest quality."""
        return best(self.scores)

    def chosen(self, runs: int) -> Iterator[DPSense]:
        """A θ for each run."""
        for _ in range(runs):
            place = self.bench.draws.choose(self.scores, self.choice.rate)
            yield DPSense(self.choice.candidates[place])

    def published(self, rule: DPSense, counts: Counts | None = None) -> Floats:
        """What is published with a θ; negative counts are kept."""
        return published(self.bench, self.request, rule, counts)


@dataclass(frozen=True, eq=False)
class ScalingUp:
    """Algorithm 2 at one ε."""

    bench: Bench
    """The records."""
    request: Request
    """The release."""
    choice: DPSenseSChoice
    """Of a θ and an s."""

    @classmethod
    def of(cls, bench: Bench, epsilon: Epsilon, largest: int) -> ScalingUp:
        """With θ up to ``largest``."""
        request = bench.request(
            epsilon, bounding="dpsense-s", choose="dpsense", max_records=largest
        )
        (table,) = request.bounded
        choice = DPSenseSChoice(
            bench.domain.size, largest, pure(request.part(CHOOSE)), table.epsilon,
            scalings=request.method.scalings,
        )  # fmt: skip
        return cls(bench, request, choice)

    def scores(self) -> list[int]:
        """Of every θ and, for each of them, every s."""
        scores: list[int] = self.choice.scores(self.bench.rows.table).ravel().tolist()
        return scores

    def chosen(self, scores: list[int], runs: int) -> Iterator[DPSense]:
        """A θ and an s for each run."""
        for _ in range(runs):
            yield self._rule(self.bench.draws.choose(scores, self.choice.rate))

    def best(self, scores: list[int]) -> DPSense:
        """The θ and the s of the best score."""
        return self._rule(scores.index(max(scores)))

    def _rule(self, place: int) -> DPSense:
        row, column = divmod(place, len(self.choice.scalings))
        return DPSenseS(theta=row + 1, scaling=self.choice.scalings[column])

    def published(self, rule: DPSense, counts: Counts | None = None) -> Floats:
        """What is published with a θ and an s; negative counts are kept."""
        return published(self.bench, self.request, rule, counts)


def quality(choice: DPSenseChoice, score: int) -> float:
    """A score as equation 3 has it."""
    return score / (choice.cells * choice.published.value.numerator)


def best(scores: list[int]) -> int:
    """The θ of the largest score; the smallest of equal ones."""
    return scores.index(max(scores)) + 1


def published(
    bench: Bench, request: Request, rule: DPSense, counts: Counts | None = None
) -> Floats:
    """The last step of a release: noise for the rule's bound on the counts, and s times them."""
    *_, step = steps_of(request)
    counted = bench.rows.scaled(rule) if counts is None else counts
    read = Read(({ITEMS.name: rule}, [counted]), bench.dropped)
    (table,) = step.release(read, Released(), bench.draws).tables
    return estimate(table)
