"""What a release of ``auto`` says about its steps, as its ``release.json`` tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.published import Published
from crowdtally.published.table import TableFacts
from crowdtally.reader import tables
from crowdtally.reader.estimating.believed import Floats, Ints
from crowdtally.reader.lookup import AxisLookup


@dataclass(frozen=True)
class Steps:
    """The facts of an ``auto`` release that estimates need."""

    repeats: bool
    """Whether a user may have an item several times."""
    taken: Mapping[str, Mapping[str, Any]]
    """What was decided for each step, by its name."""

    @classmethod
    def of(cls, published: Published) -> Steps | None:
        """None where the release was made by another method."""
        facts = published.metadata.get("auto")
        if facts is None:
            return None
        return cls(bool(facts["repeats"]), {step["name"]: step for step in facts["steps"]})

    def number(self, step: str, *names: str) -> int | None:
        """A whole number that was decided for a step, by the first of these names it has."""
        facts = self.taken.get(step, {})
        found = next((facts[name] for name in names if facts.get(name) is not None), None)
        return None if found is None else int(found)


def entry(published: Published, name: str) -> Mapping[str, Any]:
    """What ``release.json`` says about a table beside what every table has."""
    return next(one for one in published.metadata["tables"] if one["name"] == name)


def counts(published: Published, table: TableFacts) -> Floats:
    """The noisy counts of a table, in the order of its file."""
    return np.asarray(tables.column(published.path(table), "count"), dtype=np.float64)


def places(published: Published, table: TableFacts, lists: Sequence[AxisLookup]) -> Ints:
    """The numbers of the cells that the rows of a table name, among those of these lists."""
    path = published.path(table)
    numbers: Ints = np.zeros(1, dtype=np.int64)
    for axis in lists:
        known = axis.places
        found = [known[value] for value in tables.column(path, axis.name).tolist()]
        numbers = numbers * len(axis) + np.array(found, dtype=np.int64)
    return numbers


def groups(published: Published, name: str) -> Ints:
    """The group of every item, one character for each; a sign that is no digit: in none."""
    written = str(entry(published, name)["groups"])
    return np.array([int(sign) if sign.isdecimal() else -1 for sign in written], dtype=np.int64)
