"""The methods that the paper compares, with their errors and curves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import hypot

import numpy as np

from crowdtally.core.counts import Counts
from crowdtally.core.layout import ITEMS
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import DPSense, DPSenseS
from crowdtally.curator.choices.bounds import DPSenseChoice, RowSums
from crowdtally.curator.choices.dpsense_s import SCALINGS, DPSenseSChoice
from crowdtally.curator.method import method_of
from crowdtally.curator.pricing import pure
from crowdtally.curator.questions import Bound, Chosen
from crowdtally.curator.request.method import CHOOSE
from crowdtally.curator.request.request import Request
from crowdtally.lab.estimates import estimate
from crowdtally.lab.metrics import mae, mre, precision, top_mae, top_mre
from crowdtally.lab.rehearse import Rehearsal, after
from crowdtally_research.lookalikes.drawing import SHAPES, records_per_user
from crowdtally_research.lookalikes.statistics import statistics_of
from crowdtally_research.reproducing.figure import AUTO, Number
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.bench import Bench, Floats, reading
from crowdtally_research.reproducing.papers.day_li.panels import BUDGETS, LARGE, Budget

# The paper's two algorithms on a bench: the choice of the bound, and the counts at any bound.
#
# The choice is the product's, drawn anew for each run from scores that are worked out once. The
# counts are published by the last question of a release, with its noise.


@dataclass(frozen=True, eq=False)
class Scaling:
    """Algorithm 1 at one ε: a tenth of it for the choice of θ, the rest for the counts."""

    bench: Bench
    request: Request
    choice: DPSenseChoice
    """Of a θ from 1 to d."""
    scores: list[int]
    """Of every θ, in the choice's own units."""

    @classmethod
    def of(cls, bench: Bench, epsilon: Epsilon) -> Scaling:
        cells = bench.domain.size
        request = bench.request(epsilon, method=DPSense(cells, choose="dpsense"))
        (table,) = request.bounded
        choice = DPSenseChoice(cells, cells, pure(request.part(CHOOSE)), table.epsilon)
        return cls(bench, request, choice, choice.scores(bench.rows.sums))

    def quality(self, theta: int) -> float:
        """q(θ) by equation 3: the average kept column count, less the mean absolute noise."""
        return quality(self.choice, self.scores[theta - 1])

    @property
    def best(self) -> int:
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
    request: Request
    choice: DPSenseSChoice
    """Of a θ and an s."""

    @classmethod
    def of(cls, bench: Bench, epsilon: Epsilon, largest: int) -> ScalingUp:
        request = bench.request(epsilon, method=DPSenseS(largest, choose="dpsense"))
        (table,) = request.bounded
        choice = DPSenseSChoice(
            bench.domain.size, largest, pure(request.part(CHOOSE)), table.epsilon,
            scalings=SCALINGS,
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
        return DPSenseS(row + 1, scalings=(self.choice.scalings[column],))

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
    """The last question of a release: noise for the rule's bound, and s times the counts."""
    counted = bench.rows.scaled(rule) if counts is None else counts
    bound = Chosen({ITEMS.name: Bound(rule.limit, rule.scaling)})
    _, question = after(method_of(request), (bound,))
    (table,) = question.draw([counted], bench.draws).tables
    return estimate(table)


# Section 4's other way to limit a row: θ of its ones, drawn at random, instead of all, scaled.

_SEED = 1
_PUBLISHED = Fraction(9, 10)
"""The share of ε that DPSense publishes its counts with."""


def sampling_numbers(bench: Bench, title: str, runs: int) -> Iterator[Number]:
    """The error of sampling over that of scaling, at the θ of the best quality, at ε = ln 3."""
    scaling = Scaling.of(bench, LARGE.epsilon)
    rule = DPSense(scaling.best)
    counts = bench.rows.scaled(rule)
    scaled = _error(bench, [scaling.published(rule, counts) for _ in range(runs)])
    sampled = _error(bench, list(_sampled(bench, rule.limit, runs)))
    ratio = sampled.mean / scaled.mean
    spread = hypot(sampled.standard_error / sampled.mean, scaled.standard_error / scaled.mean)
    yield replace(sampled, x=title, mean=ratio, standard_error=ratio * spread)


def _sampled(bench: Bench, limit: int, runs: int) -> Iterator[Floats]:
    """One sample of every row, and fresh noise for each run."""
    epsilon = LARGE.epsilon * _PUBLISHED
    request = bench.request(epsilon, method=SRA(limit))
    with reading(bench.records, bench.domain) as records:
        rehearsal = Rehearsal(request, records.engine, records.prepared)
        halfway = rehearsal.halfway(_SEED, bench.draws)
    for _ in range(runs):
        yield estimate(rehearsal.finish(halfway, bench.draws).tables[0])


def _error(bench: Bench, estimates: list[Floats]) -> Number:
    errors = [mae(bench.rows.truth, np.maximum(one, 0)) for one in estimates]
    return Number.over(panels.SAMPLING, panels.error_line(LARGE), "", errors)


# The numbers of the comparisons: every method's errors, over all columns and over the top k.

_ALL = {"mae": mae, "mre": mre}
_TOP = {"topk-mae": top_mae, "topk-mre": top_mre, "topk": precision}

Errors = Mapping[tuple[str, int], list[float]]
"""By metric and k (0 for all columns), a value for each run."""


@dataclass(frozen=True, eq=False)
class Comparison:
    bench: Bench
    name: str
    """Of the data set, in names of panels."""
    title: str
    largest: int
    """The largest θ of DPSense-S's candidates."""
    runs: int
    autos: int

    def numbers(self) -> Iterator[Number]:
        """Every method at both ε."""
        for budget in BUDGETS:
            yield from self._dpsense(budget)
            yield from self._dpsense_s(budget)
            for method in (self.bench.gs, self.bench.alpa, self.bench.lpa):
                found = method(budget.epsilon, self.runs)
                yield from self._numbers(self._errors(found), method.__name__, budget)
            yield from self._auto(budget)

    def _dpsense(self, budget: Budget) -> Iterator[Number]:
        scaling = Scaling.of(self.bench, budget.epsilon)
        found = [scaling.published(rule) for rule in scaling.chosen(self.runs)]
        yield from self._numbers(self._errors(found), "dpsense", budget)
        yield self._bias("dpsense", budget, found)

    def _dpsense_s(self, budget: Budget) -> Iterator[Number]:
        scaling = ScalingUp.of(self.bench, budget.epsilon, self.largest)
        scores = scaling.scores()
        rules = list(scaling.chosen(scores, self.runs))
        found = [scaling.published(rule) for rule in rules]
        yield from self._numbers(self._errors(found), "dpsense-s", budget)
        yield self._bias("dpsense-s", budget, found)
        factors = [float(rule.scaling) for rule in rules]
        yield Number.over(panels.scalings(budget), "dpsense-s", self.title, factors)
        best = float(scaling.best(scores).scaling)
        yield Number(panels.scalings(budget), panels.BEST, self.title, best)

    def _auto(self, budget: Budget) -> Iterator[Number]:
        """Its median is its estimate for absolute errors, its mean the one that ranks."""
        made = list(self.bench.auto(budget.epsilon, self.autos))
        errors = self._errors([one.median for one in made], tops=False)
        errors |= self._errors([one.mean for one in made], overall=False)
        yield from self._numbers(errors, AUTO, budget)
        yield self._bias(AUTO, budget, [one.mean for one in made])
        line = panels.auto_line(budget)
        yield Number.over(panels.curves(self.name), line, 0, errors["mae", 0])

    def _errors(
        self, estimates: Iterable[Floats], *, overall: bool = True, tops: bool = True
    ) -> dict[tuple[str, int], list[float]]:
        """The errors of runs; negative counts are taken for 0, as in line 11 of Algorithm 1."""
        truth = self.bench.rows.truth
        found: dict[tuple[str, int], list[float]] = defaultdict(list)
        for one in estimates:
            estimate = np.maximum(one, 0)
            for metric, compute in _ALL.items() if overall else ():
                found[metric, 0].append(compute(truth, estimate))
            for metric, on_top in _TOP.items() if tops else ():
                for k in panels.KS:
                    value = on_top(truth, estimate, k)
                    if value is not None:
                        found[metric, k].append(value)
        return found

    def _numbers(self, errors: Errors, method: str, budget: Budget) -> Iterator[Number]:
        for (metric, k), values in errors.items():
            if k:
                yield Number.over(panels.on_top(metric, self.name, budget), method, k, values)
                continue
            yield Number.over(panels.over_all(metric, budget), method, self.title, values)
            # A list of all columns: the end of the curves over k.
            longest = panels.on_top(f"topk-{metric}", self.name, budget)
            yield Number.over(longest, method, self.bench.domain.size, values)

    def _bias(self, method: str, budget: Budget, estimates: Iterable[Floats]) -> Number:
        """The mean error over all columns, negative counts kept, in % of the mean column count."""
        rows = self.bench.rows
        each = [100 * float((one - rows.truth).mean()) / rows.column_mean for one in estimates]
        return Number.over(panels.bias(budget), method, self.title, each)


# Figure 1's numbers: the error of DPSense at given θ, beside what its quality function says.

_TIMES = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 10)
"""θ over the mean row count."""


def thetas(bench: Bench, scalings: Sequence[Scaling]) -> list[int]:
    """The places of the curves: multiples of the mean row count, and where the quality is best."""
    mean = bench.rows.row_mean
    every = {max(1, round(mean * times)) for times in _TIMES}
    every |= {one.best for one in scalings}
    return sorted(theta for theta in every if theta <= bench.domain.size)


def curve_numbers(bench: Bench, name: str, title: str, runs: int) -> Iterator[Number]:
    """All curves of one data set, and where each has its optimum."""
    scalings = [Scaling.of(bench, budget.epsilon) for budget in BUDGETS]
    places = thetas(bench, scalings)
    half = bench.rows.column_mean / 2
    for budget, scaling in zip(BUDGETS, scalings, strict=True):
        qualities = {theta: scaling.quality(theta) for theta in places}
        line = panels.quality_line(budget)
        for theta, value in qualities.items():
            yield Number(panels.curves(name), line, theta, value)
        yield from _errors(scaling, budget, qualities, name, title, runs)
        yield Number(panels.OPTIMUM, line, title, scaling.best / bench.rows.row_mean)
    for theta in places:
        yield Number(panels.averages(name), panels.HALF, theta, half)


def _errors(
    scaling: Scaling, budget: Budget, qualities: dict[int, float], name: str, title: str, runs: int
) -> Iterator[Number]:
    """The measured curve, what it averages to with the quality, and how far that is from half."""
    error, average = panels.error_line(budget), panels.average_line(budget)
    rows = scaling.bench.rows
    found: dict[int, float] = {}
    gaps: dict[str, list[float]] = {panels.GAP: [], panels.GAP_KEPT: []}
    for theta, quality in qualities.items():
        cut, kept = _measured(scaling, theta, runs)
        found[theta] = float(np.mean(cut))
        yield Number.over(panels.curves(name), error, theta, cut)
        both = [(quality + one) / 2 for one in cut]
        yield Number.over(panels.averages(name), average, theta, both)
        for panel, values in ((panels.GAP, cut), (panels.GAP_KEPT, kept)):
            gap = (quality + float(np.mean(values)) - rows.column_mean) / 2
            gaps[panel].append(100 * abs(gap) / rows.column_mean)
    for panel, each in gaps.items():
        yield Number(panel, average, title, float(np.mean(each)))
    least = min(found, key=found.__getitem__)
    yield Number(panels.OPTIMUM, error, title, least / rows.row_mean)


def _measured(scaling: Scaling, theta: int, runs: int) -> tuple[list[float], list[float]]:
    """The errors of runs with negative counts set to 0, as Algorithm 1 does, and kept."""
    rule, truth = DPSense(theta), scaling.bench.rows.truth
    counts = scaling.bench.rows.scaled(rule)
    cut, kept = [], []
    for _ in range(runs):
        estimate = scaling.published(rule, counts)
        kept.append(mae(truth, estimate))
        cut.append(mae(truth, np.maximum(estimate, 0)))
    return cut, kept


def full_size_numbers(name: str, title: str) -> Iterator[Number]:
    """Where the quality is best at the full size of a data set that was made smaller.

    Equation 3 needs the lengths of the rows alone.
    """
    numbers = statistics_of(name)
    lengths = records_per_user(
        numbers.users, numbers.records, fewest=numbers.fewest, most=numbers.most,
        spread=SHAPES[name].spread,
    )  # fmt: skip
    sums = RowSums(*(one.astype(np.int64) for one in np.unique(lengths, return_counts=True)))
    for budget in BUDGETS:
        spent, kept = budget.epsilon * Fraction(1, 10), budget.epsilon * Fraction(9, 10)
        choice = DPSenseChoice(numbers.items, numbers.items, spent, kept)
        optimum = best(choice.scores(sums)) / numbers.mean
        place = f"{title}{panels.FULL}"
        yield Number(panels.OPTIMUM, panels.quality_line(budget), place, optimum)
