"""What the tables of a release's steps hold, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdtally.format import Published
from crowdtally.format.manifest import AutoFacts, TableFacts
from crowdtally.inference.rows import Norm
from crowdtally.reader import tables
from crowdtally.reader.estimating.believed import Floats, Ints
from crowdtally.reader.lookup import AxisLookup


def number(auto: AutoFacts, step: str, name: str) -> int | None:
    """A whole number that was decided for a step; None where it was not taken."""
    found = auto.step(step)
    value = None if found is None else found.facts.get(name)
    return None if value is None else int(value)


def norm_of(auto: AutoFacts, step: str) -> Norm:
    """What the bound of a step bounds: the sums of users' rows, or their norms."""
    found = auto.step(step)
    return "l2" if found is not None and found.facts.get("norm") == "l2" else "l1"


def found_alike(auto: AutoFacts) -> bool:
    """Whether a first look at the contexts found that they hardly differ."""
    return any(step.facts.get("differ") is False for step in auto.steps)


def counts(published: Published, table: TableFacts) -> Floats:
    """The noisy counts of a table, in the order of its file."""
    return np.asarray(tables.column(published.path(table), "count"), dtype=np.float64)


def places(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> Ints:
    """The numbers of the cells that the rows of a table name, among those of these lists."""
    path = published.path(table)
    numbers: Ints = np.zeros(1, dtype=np.int64)
    for axis in lists:
        numbers = numbers * len(axis) + axis.places_of(tables.column(path, axis.name))
    return numbers


def groups(table: TableFacts) -> Ints:
    """The group of every item, one character for each; ``-``: in none."""
    signs = np.frombuffer((table.groups or "").encode(), dtype=np.uint8).astype(np.int64)
    return np.where(signs == ord("-"), -1, signs - ord("0"))
