"""The event that promises the highest certified bound, found on training runs alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.combining import Linear, combinations
from crowdtally.lab.auditing.events import Condition, Event, Single, Statistic
from crowdtally.lab.auditing.features import Matrix
from crowdtally.lab.auditing.fitting import Expected, LaplaceRatio, Stratified
from crowdtally.lab.auditing.histograms import LearnedRatio
from crowdtally.lab.auditing.promise import Stakes
from crowdtally.lab.auditing.scanning import Coded, Scanned, scan

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
    """The event."""
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
    shorter = [
        (_shortened(event, for_her, first, stakes), for_her) for event, for_her in candidates
    ]
    found = [_weighed(event, for_her, second, stakes) for event, for_her in shorter]
    ratios = [*laplace, *_learned(telling, first, strata)]
    found += [_thresholded(statistic, second, stakes) for statistic in ratios]
    return sorted(found, key=lambda one: -one.promise - _favour(one.event, stakes))[:events]


def _favour(event: Event, stakes: Stakes) -> float:
    """What must be promised more by an event that few runs may flatter.

    A claimed law was fitted to nothing, and its threshold comes from the law. Against a release
    that is not what it claims, others promise far more.
    """
    if any(
        isinstance(one.statistic, LaplaceRatio) and one.statistic.is_claimed
        for one in event.conditions
    ):
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
