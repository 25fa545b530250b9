"""Test which items changed, at a false discovery rate: see ``changes.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.reader.axes import Floats, Ints
from crowdtally.reader.changes.measured import Measured
from crowdtally.reader.changes.tails import Errors, Noise, Sample, reach, tail


def harmonic(size: int) -> float:
    """1 + 1/2 + … + 1/m: what p-values are raised by where tests depend on each other in any way.

    >>> round(harmonic(3), 4)
    1.8333
    """
    return float((1 / np.arange(1, size + 1)).sum())


def adjusted(chances: Floats) -> Floats:
    """Benjamini and Hochberg's adjusted p-values: the smallest rate at which each is discovered.

    >>> adjusted(np.array([0.01, 0.5, 0.02, 0.03])).tolist()
    [0.04, 0.5, 0.04, 0.04]
    """
    size = len(chances)
    order = np.argsort(chances, kind="stable")
    raised = chances[order] * size / np.arange(1, size + 1)
    found = np.empty(size)
    found[order] = np.minimum.accumulate(raised[::-1])[::-1]
    return np.minimum(found, 1.0)


@dataclass(frozen=True, eq=False)
class Discovered:
    lines: Ints
    rose: NDArray[np.bool_]
    """Which of them rose; the others fell."""
    p_values: Floats
    """Of both sides together."""
    q_values: Floats
    """The smallest rate at which each is still discovered."""
    ways: Ints
    """By which of several measurements each was discovered."""

    def __len__(self) -> int:
        return len(self.lines)


def discovered(rises: Sequence[Floats], falls: Sequence[Floats], fdr: float) -> Discovered:
    """Find changes by one-sided p-values, an array for each measurement.

    Rises and falls are two families of tests, each at half of the rate.
    """
    parts = []
    for rose, several in ((True, rises), (False, falls)):
        stacked = np.stack(several)
        ways = stacked.argmin(axis=0)
        chances = stacked.min(axis=0)
        rates = np.minimum(2 * adjusted(chances), 1.0)
        lines = np.flatnonzero(rates <= fdr)
        both_sides = np.minimum(2 * chances[lines], 1.0)
        parts.append((lines, np.full(len(lines), rose), both_sides, rates[lines], ways[lines]))
    return Discovered(*(np.concatenate(both) for both in zip(*parts, strict=True)))


# The p-value of each item's difference, if nothing changed.

OF_TABLE, OF_HEAD = 0.8, 0.2
"""How the error probability is divided where items were measured twice: in the table, and apart."""
_HIGHER = 2.0
"""Standard deviations added to counts on which sampling errors depend."""
_TOLD = 3.0
"""Standard deviations that a total must be above 0, to be divided by."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two measurements of the same items, and what a share is."""

    earlier: Measured
    later: Measured
    ratio: float = 1.0
    """What earlier values are multiplied by: 1, or for shares the later total by the earlier."""
    ratio_error: float = 0.0
    """How far the ratio is off, relative to it."""
    weight: float = 1.0
    """Which part of the error probability this pair may use."""

    def risen(self) -> Floats:
        """The least that each item can have risen by, as measured; −∞ where that is unknown."""
        return _known(self.later.low - self.ratio * self.earlier.high)

    def fallen(self) -> Floats:
        return _known(self.ratio * self.earlier.low - self.later.high)

    @property
    def dependent(self) -> bool:
        """Whether items have noise that is drawn together."""
        return self.earlier.drawn_together or self.later.drawn_together

    def errors(self, *, up: bool, changed: bool = False) -> Errors:
        """The errors of later less earlier values, or the other way round.

        ``changed``: whether both true counts may differ; else they are equal.
        """
        before, after, ratio = self.earlier, self.later, self.ratio
        noises = [*after.noises, *(Noise(one.law, ratio * one.factors) for one in before.noises)]
        steps = (-ratio * before.sampled, after.sampled)
        samples = [
            Sample(means, step if up else -step)
            for means, step in zip(self._means(changed=changed), steps, strict=True)
            if step
        ]
        return Errors(noises, samples, self._variances(changed=changed))

    def _variances(self, *, changed: bool) -> Floats:
        """Of what is relative to the counts: calibrations, and the ratio of the totals."""
        before, after = self.ratio * self.earlier.middle, self.later.middle
        if not changed:  # then both measure the same
            before = after = (before + after) / 2
        of_earlier = self.earlier.own**2 + self.earlier.shared**2 + self.ratio_error**2
        of_later = self.later.own**2 + self.later.shared**2
        return np.asarray(before**2 * of_earlier + after**2 * of_later, dtype=np.float64)

    def _means(self, *, changed: bool) -> tuple[Floats, Floats]:
        """Expected counts for sampling errors, rather too large than too small.

        Where nothing changed both releases measure the same: their mean, and two of its deviations.
        """
        before, after = self.ratio * self.earlier.middle, self.later.middle
        noise = self.ratio**2 * self.earlier.noise_variance, self.later.noise_variance
        steps = self.ratio * self.earlier.sampled, self.later.sampled
        if changed:
            return _raised(before, noise[0], steps[0]), _raised(after, noise[1], steps[1])
        both = _raised((before + after) / 2, (noise[0] + noise[1]) / 4, sum(steps) / 4)
        return both, both

    def p_values(self) -> tuple[Floats, Floats]:
        """Pr[so large a rise] of each item where it did not change, and of so large a fall."""
        found = []
        for values, up in ((self.risen(), True), (self.fallen(), False)):
            likely = tail(self.errors(up=up), values)
            times = harmonic(len(values)) if self.dependent else 1.0
            found.append(np.minimum(likely * times / self.weight, 1.0))
        return found[0], found[1]

    def intervals(self, lines: Ints, missed: float, *, up: bool) -> tuple[Floats, Floats]:
        """The ends of the intervals of some changes, in this direction; NaN where there is none."""
        times = harmonic(len(self.later)) if self.dependent else 1.0
        chances = np.full(len(lines), missed * self.weight / times / 2)
        values = (self.risen() if up else self.fallen())[lines]
        low = values - reach(self.errors(up=up, changed=True).take(lines), chances)
        high = values + reach(self.errors(up=not up, changed=True).take(lines), chances)
        whole = (self.earlier.low == self.earlier.high) & (self.later.low == self.later.high)
        return low, np.where(whole[lines], high, np.nan)


def _known(values: Floats) -> Floats:
    return np.asarray(np.where(np.isnan(values), -np.inf, values), dtype=np.float64)


def _raised(counts: Floats, noise: Floats, step: float) -> Floats:
    """Counts that are known with this noise and sampled in such steps, two deviations higher."""
    return np.asarray(counts + _HIGHER * np.sqrt(noise + step * counts), dtype=np.float64)


def pairs_of(earlier: Sequence[Measured], later: Sequence[Measured], *, shares: bool) -> list[Pair]:
    """What is compared with what: the tables, and what both releases measured apart."""
    ratio, error = _ratio(earlier[0], later[0]) if shares else (1.0, 0.0)
    both = list(zip(earlier, later, strict=False))
    weights = [1.0] if len(both) == 1 else [OF_TABLE, OF_HEAD]
    return [
        Pair(before, after, ratio, error, weight)
        for (before, after), weight in zip(both, weights, strict=True)
    ]


def _ratio(earlier: Measured, later: Measured) -> tuple[float, float]:
    found = []
    for which, one in (("earlier", earlier.whole), ("later", later.whole)):
        if one is None:
            raise UsageError(
                f"the {which} release left out cells by a rule that leaves no unbiased total: "
                "its shares are not known. Compare counts (--of counts), or release with "
                "--summary dense."
            )
        if one.value < _TOLD * one.deviation or one.value <= 0:
            raise UsageError(
                f"the total of the {which} release is not told apart from noise, so shares of it "
                "mean nothing: compare counts (--of counts)."
            )
        found.append(one)
    before, after = found
    error = hypot(before.deviation / before.value, after.deviation / after.value)
    return after.value / before.value, error
