"""From a table's rows to an answer, by the estimator that its publishing needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.law import Combination
from crowdtally.published import number
from crowdtally.reader import tables
from crowdtally.reader.asking.boxes import Summed
from crowdtally.reader.axes import Listed
from crowdtally.reader.condition import Box
from crowdtally.reader.estimating.sampled import Estimate, Sampled, weighted_sum
from crowdtally.reader.estimating.sketch import sketch_sum
from crowdtally.values.sketching import Sketching

MOST_SKETCHED = 5_000_000
"""Cells that a question to a sketch may have: it adds them up one by one."""
_LARGEST = 1e300
_WHOLE = {
    "dense": "",
    "threshold on unknown items": (
        "the noisy numbers of users of the items that were released; others are not in it, and "
        "those near the threshold are high, or they would not have passed it"
    ),
}
"""Publishings whose listed cells are all there; what is special about a sum of them."""


def is_whole(table: Mapping[str, Any]) -> bool:
    """Whether every cell that the release lists was published."""
    return table["publishing"] in _WHOLE


@dataclass(frozen=True)
class Answer:
    """An answer in the table's units."""

    estimate: Estimate
    """Value, standard error, and what it is unbiased for."""
    half_width: int | None = None
    """Of the noise interval, where noise is all that stands between the answer and the truth."""


def from_table(
    table: Mapping[str, Any], path: Path, questions: Sequence[Summed], cells: int
) -> Answer:
    """From a table whose cells, nodes or coefficients add up to the answer."""
    noise = {
        name: number(table["noise"][name], name) for name in ("scale", "unit", "interval_level")
    }
    sampled, unit = Sampled.of(table, noise["scale"]), float(noise["unit"])
    squares = min(float(sum(question.squares for question in questions)), _LARGEST)
    if table["name"] == "pairs":
        squares = float(cells)
    if not is_whole(table):
        found = [tables.weighed(path, question.rows) for question in questions]
        values = np.rint(np.concatenate([counts for counts, _, _ in found]) / unit)
        weights = np.concatenate([weights for _, weights, _ in found])
        return Answer(weighted_sum(values, weights, squares, sampled))
    value = sum(tables.total(path, question.rows) for question in questions)
    if noise["unit"] != 1:
        value /= unit
    error = DiscreteLaplace(noise["scale"]).std(Combination(squares, squares))
    estimate = Estimate(value, error, _WHOLE[table["publishing"]] or sampled.unbiased_for())
    if not all(question.plain for question in questions):
        return Answer(estimate)
    law = DiscreteLaplace(noise["scale"])
    return Answer(estimate, law.half_width(noise["interval_level"], int(squares)))


def from_sketch(
    table: Mapping[str, Any], path: Path, lists: Sequence[Listed], found: Sequence[Box], cells: int
) -> Answer:
    """From the buckets of a sketch, cell by cell."""
    if cells > MOST_SKETCHED:
        raise UsageError(
            f"a sketch adds up cells one by one, at most {MOST_SKETCHED}: the condition has "
            f"{cells}. Ask for fewer cells."
        )
    facts, size = table["transform"], prod(len(axis) for axis in lists)
    sketching = Sketching(size, facts["buckets"], facts["rows"], facts["seed"])
    unit = float(number(table["noise"]["unit"], "the unit"))
    buckets = np.rint(tables.column(path, "count") / unit)
    numbers = np.concatenate([_numbers(box, lists, size) for box in found])
    return Answer(sketch_sum(buckets, numbers, sketching))


def _numbers(box: Box, lists: Sequence[Listed], size: int) -> NDArray[Any]:
    """The numbers of a box's cells: mixed radix, the last axis fastest."""
    kind = np.int64 if size <= 1 << 63 else object
    numbers: NDArray[Any] = np.zeros(1, dtype=kind)
    for axis in lists:
        codes = np.arange(len(axis)) if axis.name not in box else np.flatnonzero(box[axis.name])
        numbers = np.add.outer(numbers * len(axis), codes.astype(kind)).ravel()
    return numbers


def shown(value: float) -> str:
    """For people: a tenth of a person is more than any answer knows.

    >>> shown(4231.02437), shown(-12.0), shown(2.0**40)
    ('4231', '-12', '1099511627776')
    """
    return f"{round(float(value), 1):.16g}"
