"""The event that promises the highest certified bound, found on training runs alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.observe import (
    ABSENT,
    Comparison,
    Condition,
    Counted,
    Event,
    Runs,
    Single,
    Stakes,
    Statistic,
    compared,
)
from crowdtally.lab.auditing.ratios import (
    Expected,
    LaplaceRatio,
    LearnedRatio,
    Linear,
    Stratified,
    combinations,
)

# Every comparison of a statistic with a number, weighed at once.

_MOST_LEVELS = 400
"""Of a statistic with more values, only so many are tried as thresholds."""
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)


@dataclass(frozen=True, eq=False)
class Coded:
    """A statistic in training: the levels that it is compared with, and each run's level."""

    levels: NDArray[np.int64]
    """Ascending; a run's value lies between its level and the next one."""
    with_user: NDArray[np.int64]
    """The level's number of each run with the user."""
    without: NDArray[np.int64]
    exact: bool
    """Whether a level is one value, so that it can be compared with exactly."""

    @classmethod
    def of(cls, with_user: NDArray[np.int64], without: NDArray[np.int64]) -> Coded:
        values = np.concatenate([with_user, without])
        levels = np.unique(values)
        exact = len(levels) <= _MOST_LEVELS
        if not exact:
            ranks = np.linspace(0, len(values) - 1, _MOST_LEVELS).astype(np.int64)
            levels = np.unique(np.sort(values)[ranks])
        codes = np.searchsorted(levels, values, side="right") - 1
        return cls(levels, codes[: len(with_user)], codes[len(with_user) :], exact)


@dataclass(frozen=True)
class Scanned:
    promise: float
    comparison: Comparison
    value: int
    for_her: bool
    """Whether the event is likelier with the user."""
    may_be_absent: bool
    """Whether the statistic was ever missing."""

    def of(self, statistic: Statistic) -> Condition:
        return Condition(statistic, self.comparison, self.value, self.may_be_absent)


def scan(
    coded: Coded,
    stakes: Stakes,
    runs: tuple[int, int],
    within: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None,
) -> Scanned:
    """The comparison that promises most, among the runs where other conditions hold already."""
    with_user, without = coded.with_user, coded.without
    if within is not None:
        with_user, without = with_user[within[0]], without[within[1]]
    size = len(coded.levels)
    each = np.bincount(with_user, minlength=size), np.bincount(without, minlength=size)
    absent = bool(coded.levels[0] == ABSENT)
    best = Scanned(-np.inf, "at least", int(coded.levels[0]), True, absent)
    for comparison in COMPARISONS:
        if comparison == "exactly" and not coded.exact:
            continue
        seen = _seen(each[0], comparison), _seen(each[1], comparison)
        for for_her, promises in zip((True, False), stakes.promises(seen, runs), strict=True):
            place = int(np.argmax(promises))
            if promises[place] > best.promise:
                value = _value(coded, comparison, place)
                best = Scanned(float(promises[place]), comparison, value, for_her, absent)
    return best


def _seen(each: Counted, comparison: Comparison) -> Counted:
    if comparison == "at least":
        return np.cumsum(each[::-1])[::-1]
    return np.cumsum(each) if comparison == "at most" else each


def _value(coded: Coded, comparison: Comparison, place: int) -> int:
    # "At most" a level of several values means: below the next level.
    if comparison == "at most" and not coded.exact and place + 1 < len(coded.levels):
        return int(coded.levels[place + 1]) - 1
    if comparison == "at most" and not coded.exact:
        return int(np.iinfo(np.int64).max)
    return int(coded.levels[place])


_MOST_SINGLES = 48
"""Columns that conjunctions and likelihood ratios are made of: the most telling ones."""
_MOST_CONDITIONS = 10
_STARTS = 4
_FAVOURED = 5
"""A claimed law is preferred by so many times the worth of a condition."""
_MODELLED = 400_000
"""Simulated noises that show the best threshold of a law."""


@dataclass(frozen=True)
class Found:
    """An event, the side on which it is likelier, and what it promises."""

    event: Event
    for_her: bool
    """Whether it is likelier with the user."""
    promise: float


def search(
    training: Runs,
    stakes: Stakes,
    *,
    expected: Expected | None = None,
    strata: Sequence[int] = (),
    events: int = 1,
) -> list[Found]:
    """The best events, best first: made on the first half of training, weighed on the second.

    The likelihood ratios are fitted on the first half, and their thresholds are chosen on the
    second, where no ratio is flattered by its own fit.
    """
    first = Runs(*(side[: len(side) // 2] for side in training))
    second = Runs(*(side[len(side) // 2 :] for side in training))
    coded = [Coded.of(*columns) for columns in zip(first[0].T, first[1].T, strict=True)]
    scans = [scan(one, stakes, _sizes(first)) for one in coded]
    telling = sorted(range(len(scans)), key=lambda place: (-scans[place].promise, place))
    telling = telling[:_MOST_SINGLES]
    candidates = list(_conjunctions(telling, coded, scans, stakes, _sizes(first)))
    candidates += _combined(telling, first, stakes)
    laplace = [LaplaceRatio.learned(*first)]
    if expected is not None:
        laplace.append(LaplaceRatio.claimed(expected))
    candidates += [_modelled(ratio, stakes) for ratio in laplace if len(ratio.columns)]
    shorter = [(_shortened(one, side, first, stakes), side) for one, side in candidates]
    found = [_weighed(event, for_her, second, stakes) for event, for_her in shorter]
    for statistic in [*laplace, *_learned(telling, first, strata)]:
        best = _best(statistic, second, stakes)
        found.append(Found(Event((best.of(statistic),)), best.for_her, best.promise))
    return sorted(found, key=lambda one: -one.promise - _favour(one.event, stakes))[:events]


def _sizes(runs: Runs) -> tuple[int, int]:
    return len(runs.with_user), len(runs.without)


def _best(statistic: Statistic, runs: Runs, stakes: Stakes) -> Scanned:
    return scan(Coded.of(*map(statistic.of, runs)), stakes, _sizes(runs))


def _favour(event: Event, stakes: Stakes) -> float:
    """The lead of an event over those that few runs may flatter.

    A claimed law was fitted to nothing, and its threshold comes from the law. Against a release
    that is not what it claims, others promise far more.
    """
    statistics = [one.statistic for one in event.conditions]
    if any(isinstance(one, LaplaceRatio) and one.is_claimed for one in statistics):
        return _FAVOURED * stakes.worth
    return stakes.worth * event.is_plain


def _conjunctions(
    telling: Sequence[int],
    coded: Sequence[Coded],
    scans: Sequence[Scanned],
    stakes: Stakes,
    runs: tuple[int, int],
) -> Iterator[tuple[Event, bool]]:
    """From each of the best conditions on, greedily: the one that adds most, while it adds."""
    for start in telling[:_STARTS]:
        best = scans[start]
        conditions = [(start, best)]
        yield _event(conditions), best.for_her
        while len(conditions) < _MOST_CONDITIONS:
            within = _within(conditions, coded)
            options = [(place, scan(coded[place], stakes, runs, within)) for place in telling]
            place, step = max(options, key=lambda one: one[1].promise)
            if step.promise <= conditions[-1][1].promise + stakes.worth:
                break
            conditions.append((place, step))
            yield _event(conditions), step.for_her


def _shortened(event: Event, for_her: bool, first: Runs, stakes: Stakes) -> Event:
    """Leave out conditions that later ones made superfluous."""
    for condition in event.conditions:
        rest = Event(tuple(one for one in event.conditions if one is not condition))
        whole = _weighed(event, for_her, first, stakes).promise
        if _weighed(rest, for_her, first, stakes).promise > whole - stakes.worth / 2:
            event = rest
    return event


def _event(conditions: Sequence[tuple[int, Scanned]]) -> Event:
    return Event(tuple(scanned.of(Single(place)) for place, scanned in conditions))


def _within(
    conditions: Sequence[tuple[int, Scanned]], coded: Sequence[Coded]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    with_user = np.ones(len(coded[0].with_user), dtype=np.bool_)
    without = np.ones(len(coded[0].without), dtype=np.bool_)
    for place, scanned in conditions:
        one = coded[place]
        held = compared(one.levels, scanned.comparison, scanned.value)
        with_user &= held[one.with_user]
        without &= held[one.without]
    return with_user, without


def _combined(telling: Sequence[int], first: Runs, stakes: Stakes) -> list[tuple[Event, bool]]:
    """Sums and differences of columns: noise that two of them share cancels."""
    scans = [(one, _best(one, first, stakes)) for one in combinations(telling, first.without)]
    scans.sort(key=lambda one: -one[1].promise)
    return [(Event((best.of(statistic),)), best.for_her) for statistic, best in scans[:_STARTS]]


def _learned(telling: Sequence[int], first: Runs, strata: Sequence[int]) -> Iterator[Statistic]:
    yield LearnedRatio.learned(np.array(sorted(telling), dtype=np.int64), *first)
    linear = Linear.learned(telling, *first)
    if linear is not None:
        yield linear
    if strata:
        yield Stratified.learned(np.array(strata, dtype=np.int64), *first)


def _modelled(ratio: LaplaceRatio, stakes: Stakes) -> tuple[Event, bool]:
    """The best threshold by the laws themselves: of more runs than training has."""
    runs = _MODELLED // len(ratio.columns)
    best = scan(Coded.of(*ratio.simulated(runs)), stakes, (runs, runs))
    return Event((best.of(ratio),)), best.for_her


def _weighed(event: Event, for_her: bool, runs: Runs, stakes: Stakes) -> Found:
    seen = np.array([event.holds(runs[0]).sum()]), np.array([event.holds(runs[1]).sum()])
    promises = stakes.promises(seen, _sizes(runs))
    return Found(event, for_her, float(promises[0 if for_her else 1][0]))
