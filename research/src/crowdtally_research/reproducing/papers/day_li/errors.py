"""The numbers of the comparisons: every method's errors, over all columns and over the top k."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from crowdtally.lab.metrics import mae, mre, precision, top_mae, top_mre
from crowdtally_research.reproducing.figure import AUTO
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.bench import Bench, Floats
from crowdtally_research.reproducing.papers.day_li.budgets import BUDGETS, Budget
from crowdtally_research.reproducing.papers.day_li.dpsense import Scaling, ScalingUp

_ALL = {"mae": mae, "mre": mre}
_TOP = {"topk-mae": top_mae, "topk-mre": top_mre, "topk": precision}

Errors = Mapping[tuple[str, int], list[float]]
"""By metric and k (0 for all columns), a value for each run."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods on one data set."""

    bench: Bench
    """The records."""
    name: str
    """Of the data set, in names of panels."""
    title: str
    """Of the data set, for people."""
    largest: int
    """The largest θ of DPSense-S's candidates."""
    runs: int
    """Of every method but auto."""
    autos: int
    """Of auto."""

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
