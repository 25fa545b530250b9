"""Search of events."""

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
    Matrix,
    Single,
    Stakes,
    Statistic,
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
        """From the values in training."""
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
    """The best comparison of one statistic."""

    promise: float
    comparison: Comparison
    value: int
    for_her: bool
    """Whether the event is likelier with the user."""
    may_be_absent: bool
    """Whether the statistic was ever missing."""


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


# The event that promises the highest certified bound, found on training runs alone.

Both = tuple[Matrix, Matrix]
"""Runs with the user, and without."""
_MOST_SINGLES = 48
"""Columns that conjunctions and likelihood ratios are made of: the most telling ones."""
_MOST_CONDITIONS = 10
_STARTS = 4
_FAVOURED = 5
"""By how many times what a condition is worth a claimed law is preferred."""
_MODELLED = 400_000
"""Noises that are made up to see which threshold a law calls best."""


@dataclass(frozen=True)
class Found:
    """An event, the side on which it is likelier, and what it promises."""

    event: Event
    for_her: bool
    """Whether it is likelier with the user."""
    promise: float
    """The bound to be hoped for."""


def search(
    training: Both,
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
    first, second = _halves(training)
    runs = len(first[0]), len(first[1])
    coded = [Coded.of(a, b) for a, b in zip(first[0].T, first[1].T, strict=True)]
    scans = [scan(one, stakes, runs) for one in coded]
    telling = sorted(range(len(scans)), key=lambda place: (-scans[place].promise, place))
    telling = telling[:_MOST_SINGLES]
    candidates = list(_conjunctions(telling, coded, scans, stakes, runs))
    candidates += _combined(telling, first, stakes)
    laplace = [LaplaceRatio.learned(*first)]
    if expected is not None:
        laplace.append(LaplaceRatio.claimed(expected))
    candidates += [_modelled(ratio, stakes) for ratio in laplace if len(ratio.columns)]
    shorter = [(_shortened(one, side, first, stakes), side) for one, side in candidates]
    found = [_weighed(event, for_her, second, stakes) for event, for_her in shorter]
    ratios = [*laplace, *_learned(telling, first, strata)]
    found += [_thresholded(statistic, second, stakes) for statistic in ratios]
    return sorted(found, key=lambda one: -one.promise - _favour(one.event, stakes))[:events]


def _favour(event: Event, stakes: Stakes) -> float:
    """What must be promised more by an event that few runs may flatter.

    A claimed law was fitted to nothing, and its threshold comes from the law. Against a release
    that is not what it claims, others promise far more.
    """
    statistics = [one.statistic for one in event.conditions]
    if any(isinstance(one, LaplaceRatio) and one.is_claimed for one in statistics):
        return _FAVOURED * stakes.worth
    return stakes.worth * event.is_plain


def _halves(training: Both) -> tuple[Both, Both]:
    with_user, without = training
    a, b = len(with_user) // 2, len(without) // 2
    return (with_user[:a], without[:b]), (with_user[a:], without[b:])


def _condition(statistic: Statistic, scanned: Scanned) -> Condition:
    return Condition(statistic, scanned.comparison, scanned.value, scanned.may_be_absent)


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


def _shortened(event: Event, for_her: bool, first: Both, stakes: Stakes) -> Event:
    """Without the conditions that later ones made superfluous."""
    for condition in event.conditions:
        rest = Event(tuple(one for one in event.conditions if one is not condition))
        whole = _weighed(event, for_her, first, stakes).promise
        if _weighed(rest, for_her, first, stakes).promise > whole - stakes.worth / 2:
            event = rest
    return event


def _event(conditions: Sequence[tuple[int, Scanned]]) -> Event:
    return Event(tuple(_condition(Single(place), scanned) for place, scanned in conditions))


def _within(
    conditions: Sequence[tuple[int, Scanned]], coded: Sequence[Coded]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    with_user = np.ones(len(coded[0].with_user), dtype=np.bool_)
    without = np.ones(len(coded[0].without), dtype=np.bool_)
    for place, scanned in conditions:
        one = coded[place]
        held = _levels_held(one, scanned)
        with_user &= held[one.with_user]
        without &= held[one.without]
    return with_user, without


def _levels_held(coded: Coded, scanned: Scanned) -> NDArray[np.bool_]:
    if scanned.comparison == "at least":
        return np.asarray(coded.levels >= scanned.value)
    if scanned.comparison == "at most":
        return np.asarray(coded.levels <= scanned.value)
    return np.asarray(coded.levels == scanned.value)


def _combined(telling: Sequence[int], first: Both, stakes: Stakes) -> list[tuple[Event, bool]]:
    """Sums and differences of columns: noise that two of them share falls out."""
    runs = len(first[0]), len(first[1])
    found = []
    for statistic in combinations(telling, first[1]):
        best = scan(Coded.of(statistic.of(first[0]), statistic.of(first[1])), stakes, runs)
        found.append((best.promise, Event((_condition(statistic, best),)), best.for_her))
    found.sort(key=lambda one: -one[0])
    return [(event, for_her) for _, event, for_her in found[:_STARTS]]


def _learned(telling: Sequence[int], first: Both, strata: Sequence[int]) -> list[Statistic]:
    columns = np.array(sorted(telling), dtype=np.int64)
    found: list[Statistic] = [LearnedRatio.learned(columns, *first)]
    linear = Linear.learned(telling, *first)
    if linear is not None:
        found.append(linear)
    if strata:
        found.append(Stratified.learned(np.array(strata, dtype=np.int64), *first))
    return found


def _modelled(ratio: LaplaceRatio, stakes: Stakes) -> tuple[Event, bool]:
    """The threshold that the laws themselves call best: of more runs than training has."""
    runs = _MODELLED // len(ratio.columns)
    best = scan(Coded.of(*ratio.simulated(runs)), stakes, (runs, runs))
    return Event((_condition(ratio, best),)), best.for_her


def _thresholded(statistic: Statistic, second: Both, stakes: Stakes) -> Found:
    runs = len(second[0]), len(second[1])
    best = scan(Coded.of(statistic.of(second[0]), statistic.of(second[1])), stakes, runs)
    return Found(Event((_condition(statistic, best),)), best.for_her, best.promise)


def _weighed(event: Event, for_her: bool, second: Both, stakes: Stakes) -> Found:
    seen = tuple(np.array([event.holds(side).sum()]) for side in second)
    promises = stakes.promises((seen[0], seen[1]), (len(second[0]), len(second[1])))
    return Found(event, for_her, float(promises[0 if for_her else 1][0]))
