"""Rows that stand for persons, with and without weights: every engine adds up the same persons."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from crowdtally.core.domain import Domain
from crowdtally.core.layout import grid
from crowdtally.core.records import Records
from crowdtally.curator.counting.bounded import count_rows
from crowdtally.records.prepare import prepare
from kit.crowd import CONTEXTS, DATABASES, DOMAIN, LISTED, STEP, Start, Tally, farthest, tally

MOST_PERSONS = 2**33
_LISTED = frozenset(LISTED)
_WEIGHTS = [1, 1, 2, 7, 2**31 + 1, MOST_PERSONS, MOST_PERSONS + 1, 0, -3, None]
# One person fewer makes nobody of the first, and of the last a weight that is just taken as it is.
_FIRST = [1, 2, 3, MOST_PERSONS, MOST_PERSONS + 1]
Person = tuple[Any, Any, Any]
"""Item, context and weight of a row."""


def rows_of_persons() -> list[list[Person]]:
    """Databases whose first row stands for somebody who can be counted."""
    rng = np.random.default_rng(12)
    found: list[list[Person]] = []
    for number in range(DATABASES):
        places = rng.integers(0, [STEP, CONTEXTS + 1, len(_WEIGHTS)], (rng.integers(1, 6), 3))
        others = [
            (STEP * number + item, context, _WEIGHTS[weight])
            for item, context, weight in places.tolist()
        ]
        found.append([(STEP * number, 0, _FIRST[number % len(_FIRST)]), *others, (None, 0, 1)])
    return found


def one_person_fewer(parts: list[list[Person]]) -> list[list[Person]]:
    return [[(item, context, weight - 1), *rows] for (item, context, weight), *rows in parts]


def expected(parts: list[list[Person]], weighted: bool) -> Tally:
    found: Tally = Counter()
    for item, context, weight in (row for rows in parts for row in rows):
        persons = weight or 0 if weighted else 1
        if item in _LISTED and context in range(CONTEXTS):
            found[item, context] += max(0, min(persons, MOST_PERSONS))
    return +found


def counted(start: Start, parts: list[list[Person]], weighted: bool) -> Tally:
    """The cells' counts, after a look at the items'."""
    columns = zip(*(row for rows in parts for row in rows), strict=True)
    arrays = [pa.array(column, pa.int64()) for column in columns]
    source = pa.table(dict(zip(("item", "context", "weight"), arrays, strict=True)))
    records = Records(
        source, None, "item", {"context": None}, weight="weight" if weighted else None
    )
    with start() as engine:
        items, edges = count_rows(engine, prepare(engine, records, DOMAIN)).found
    found = tally(edges, grid(DOMAIN.axes))
    by_item: Tally = Counter()
    for (item, _), persons in found.items():
        by_item[item,] += persons
    assert tally(items, grid([DOMAIN.items])) == by_item
    assert (items.l1_bound, edges.l1_bound) == (1, 1)
    return found


def test_each_row_as_many_persons_as_its_weight(start_engine: Start) -> None:
    everyone = rows_of_persons()
    others = one_person_fewer(everyone)
    full, fewer = (counted(start_engine, side, True) for side in (everyone, others))
    assert full == expected(everyone, True)
    assert fewer == expected(others, True)
    assert farthest(full, fewer) == 1


def test_weights_in_text_are_cut_and_not_dropped(start_engine: Start) -> None:
    """Beyond 64 bits too: one person more never takes a row's other persons away."""
    weights = ["1", "0007", str(2**63 - 1), str(2**63), "9" * 400, "", "x", "-2", None]
    persons = [1, 7, MOST_PERSONS, MOST_PERSONS, MOST_PERSONS, 0, 0, 0, 0]
    items = list(range(len(weights)))
    source = pa.table({"item": items, "weight": pa.array(weights, pa.string())})
    with start_engine() as engine:
        records = Records(source, None, "item", weight="weight")
        counts, _ = count_rows(engine, prepare(engine, records, Domain(items, item="item"))).found
    assert counts.dense().tolist() == persons


def test_each_row_one_person(start_engine: Start) -> None:
    everyone = rows_of_persons()
    assert counted(start_engine, everyone, False) == expected(everyone, False)
