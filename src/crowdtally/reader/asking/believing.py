"""What is believed of a sum over cells, from the estimates of single cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import hypot, prod

import numpy as np

from crowdtally.format.manifest import TableFacts
from crowdtally.laws.base import Combination, as_counts
from crowdtally.laws.interval import IntervalNoise
from crowdtally.reader.asking.answering import ALL_USERS, Answer
from crowdtally.reader.condition import Box
from crowdtally.reader.estimating.believed import Total
from crowdtally.reader.estimating.covering import NOISE
from crowdtally.reader.estimating.estimator import LEVEL, Estimator
from crowdtally.reader.estimating.sampled import Estimate
from crowdtally.reader.lookup import AxisLookup, Mask


@dataclass(frozen=True)
class BelievedSum:
    """What is believed of a sum, and what its interval covers."""

    total: Total
    """The sum."""
    covers: str
    """What its interval covers."""

    def fields(self) -> tuple[float, float, float, float, str]:
        """As the first fields of ``Sum``."""
        total = self.total
        return total.mean, total.error, total.low, total.high, self.covers


def noise_only(answer: Answer) -> BelievedSum:
    """Where nothing is known but the noisy sum."""
    value, error = answer.estimate.value, answer.estimate.standard_error
    if answer.reach is not None:
        return BelievedSum(Total(value, error, value - answer.reach, value + answer.reach), NOISE)
    reach = Total.normal(0.0, error, LEVEL).high
    return BelievedSum(Total(value, error, value - reach, value + reach), NOISE)


def believed_sum(
    estimator: Estimator,
    table: TableFacts,
    lists: Sequence[AxisLookup],
    found: Sequence[Box],
    answer: Answer,
) -> BelievedSum | None:
    """From the estimates of a table's cells; None where it has none.

    A tree is not asked cell by cell: its own nodes make a better sum.
    """
    of_items = estimator.items
    if of_items is None or table.transform.kind != "none" or table.kind.is_pairs:
        return None
    cells = sum(prod(_sizes(box, lists)) for box in found)
    if isinstance(table.law, IntervalNoise) and cells > 1 and answer.reach is not None:
        # Nobody was left out, and how the noise of cells goes together is known.
        value, reach = max(answer.estimate.value, 0.0), answer.reach
        low, high = answer.estimate.value - reach, answer.estimate.value + reach
        error = answer.estimate.standard_error
        return BelievedSum(Total(value, error, max(low, 0.0), max(high, 0.0)), of_items.covers)
    if estimator.base is not None and table.name == estimator.base.name:
        mask = reduce(np.logical_or, [_cells(box, lists) for box in found])
        total = of_items.believed.total(mask, LEVEL, of_items.whole, of_items.cell)
        return BelievedSum(total, of_items.covers)
    return believed_in_contexts(estimator, lists[0], found)


def believed_in_contexts(
    estimator: Estimator, item: AxisLookup, found: Sequence[Box]
) -> BelievedSum | None:
    """The same over items in contexts, box by box: boxes have no cell in common."""
    of_items, totals = estimator.items, list[Total]()
    for box in found:
        contexts = estimator.context_mask(box)
        total = estimator.total_in_contexts(contexts, box.get(item.name))
        if total is None or of_items is None:
            return None
        totals.append(total)
    if of_items is None:
        return None
    if len(totals) == 1:
        return BelievedSum(totals[0], of_items.covers)
    # What boxes share, such as a calibration, may add up: errors are added, not their squares.
    mean, error = sum(one.mean for one in totals), sum(one.error for one in totals)
    return BelievedSum(Total.normal(mean, error, LEVEL), of_items.covers)


def with_crowd(
    answer: Answer,
    estimator: Estimator,
    table: TableFacts,
    lists: Sequence[AxisLookup],
    found: Sequence[Box],
    cells: int,
) -> Answer:
    """The noisy sum with the crowd as it was measured: the table holds only noise there."""
    crowd = estimator.crowd
    if crowd is None or estimator.base is None or table.name != estimator.base.name:
        return answer
    mask = reduce(np.logical_or, [_cells(box, lists) for box in found])
    inside = [place for place in crowd.counts if mask[place]]
    if not inside:
        return answer
    counts = estimator.noisy_at(np.array(inside, dtype=np.int64))
    value = answer.estimate.value - float(counts.sum()) + sum(crowd.counts[p] for p in inside)
    rest = max(cells - len(inside), 0)
    if not rest:  # then the noise is that of the crowd alone, and nobody was bounded
        of = Combination.of_cells(len(inside))
        reach = float(as_counts(crowd.law.reach(crowd.level, of), crowd.law.unit))
        return Answer(Estimate(value, crowd.law.std(of), ALL_USERS), reach, crowd.table)
    error = hypot(
        table.law.std(Combination.of_cells(rest)),
        crowd.law.std(Combination.of_cells(len(inside))),
    )
    return Answer(replace(answer.estimate, value=value, standard_error=error))


def _sizes(box: Box, lists: Sequence[AxisLookup]) -> list[int]:
    return [int(box[axis.name].sum()) if axis.name in box else len(axis) for axis in lists]


def _cells(box: Box, lists: Sequence[AxisLookup]) -> Mask:
    """Which cells of the lists' grid a box holds, as one long mask."""
    mask = np.ones(1, dtype=np.bool_)
    for axis in lists:
        own = box.get(axis.name, np.ones(len(axis), dtype=np.bool_))
        mask = np.logical_and.outer(mask, own).ravel()
    return mask
