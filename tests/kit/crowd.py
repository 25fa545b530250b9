"""Hundreds of small databases in one table: an engine that takes seconds a job sees them at once.

The database's number is part of each user's id, so that they have no user in common.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from crowdtally.curator.bounding.hpa import HPA
from crowdtally.curator.bounding.sra import SRA
from crowdtally.curator.bounding.tempered import Tempered
from crowdtally.curator.engine.prepare import prepare
from crowdtally.values.counts import What
from kit.histories import CONTEXTS, DOMAIN, ITEMS, Kept, Row, Shape, kept_by

BARE, STORED = Shape("string"), Shape("string", id="int64")
POPULARITY = np.array([9, -3, 4, 4], dtype=np.int64)
RULES: dict[str, Callable[[int], Any]] = {
    "sra": SRA,
    "hpa": lambda limit: HPA(limit, POPULARITY),
    "tempered": lambda limit: Tempered(limit, POPULARITY, Fraction(3, 2)),
}
# Names that some program or other takes for equal.
_NAMES = ["1", "01", " 1", "1 ", "a", "A", "\u00e9", "e\u0301", "", "NULL"]


def databases(count: int, seed: int) -> list[list[Row]]:
    """Databases of one to four users: nulls, values outside the lists, repeated rows and ids."""
    rng = np.random.default_rng(seed)
    return [_database(number, rng) for number in range(count)]


def _database(number: int, rng: np.random.Generator) -> list[Row]:
    users = rng.choice(_NAMES, rng.integers(1, 5), replace=False)
    rows: list[Row] = []
    for user in users:
        for _ in range(rng.integers(1, 9)):
            item, context, place = rng.integers(0, [ITEMS + 1, CONTEXTS + 1, 12])
            rows.append((f"{number}:{user}", *_with_nulls([item, context, place], rng)))
        rows.extend(rows[-1:] * rng.integers(0, 3))
    rows.append((None, 0, 0, 0))
    return [rows[place] for place in rng.permutation(len(rows))]


def _with_nulls(values: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    return tuple(None if rng.random() < 0.06 else int(value) for value in values)


def together(parts: Sequence[Sequence[Row]]) -> list[Row]:
    return [row for rows in parts for row in rows]


def neighbours(parts: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """Each database without its first user."""
    return [[row for row in rows if row[0] != _first(rows)] for rows in parts]


def _first(rows: Sequence[Row]) -> str:
    return min(row[0] for row in rows if row[0] is not None)


def kept(
    start: Callable[[], Any], source: object, shape: Shape, rule: Any, key: int, what: What
) -> Kept:
    """What a rule keeps of each user of the source."""
    with start() as engine:
        prepared = prepare(engine, shape.records(source, DOMAIN), DOMAIN)
        return kept_by(engine, prepared, rule, key, what)


def farthest(one: Kept, other: Kept, width: int) -> int:
    """The largest L1 distance, over all databases, of the counts of cells ``width`` together."""
    apart: dict[str, Counter[int]] = defaultdict(Counter)
    for sign, found in ((1, one), (-1, other)):
        for user, cells in found.items():
            for cell, times in cells.items():
                apart[str(user).partition(":")[0]][cell // width] += sign * times
    return max(sum(map(abs, counts.values())) for counts in apart.values())
