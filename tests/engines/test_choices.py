"""Private choices of a bound read the same numbers on both engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.layout import Layout
from crowdtally.curator import questions as bounds
from crowdtally.curator.bounding.scaling import GRID, DPSense
from crowdtally.curator.choices.bounds import log_spaced
from crowdtally.curator.counting.bounded import count_scaled
from crowdtally.curator.counting.count import Reading as CrowdReading
from crowdtally.curator.counting.count import count
from crowdtally.curator.counting.users import row_norms
from crowdtally.curator.method import method_of
from crowdtally.curator.request.request import Request, make_request
from crowdtally.records.prepare import Prepared
from kit import reference
from kit.databases import Shape
from kit.draws import SilentDraws
from kit.spark import (
    BARE,
    DOMAIN,
    EVERYONE,
    OTHERS,
    PLAIN,
    STEP,
    Crowd,
    Histories,
    Tally,
    tally,
    together,
)

# ---- What the private choices read of the records: exact on every engine -------------------------


Crowds = Callable[[Shape], Crowd]
FULL, FEWER = (reference.histories(together(side)) for side in (EVERYONE, OTHERS))
MOST = 20


class Reading:
    """Stands where a choice does, and remembers what it was given."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.parameters: list[tuple[Any, ...]] = []
        self.read: list[Any] = []

    def __call__(self, *parameters: Any, **_: Any) -> Reading:
        self.parameters.append(parameters)
        return self

    def pick(self, read: Any, draws: Any) -> Any:
        self.read.append(read)
        return self._answer


def asked(side: Prepared, **options: Any) -> Request:
    domain = DOMAIN if side.domain.contexts else PLAIN
    records = BARE.records(None, domain)
    return make_request(records, domain, epsilon=1, **options)


def read_by(
    choice: str, crowd: Crowd, side: Prepared, patch: pytest.MonkeyPatch, **options: Any
) -> Reading:
    """What one of the choices reads of one side."""
    reading = Reading((3, Fraction(1)) if choice == "DPSenseSChoice" else 3)
    patch.setattr(bounds, choice, reading)
    first: Any = next(method_of(asked(side, **options)).ask())
    counted = count(first, CrowdReading(crowd.engine, side))
    found = first.draw(counted.found, SilentDraws()).bounds
    assert {bound.limit for bound in found.values()} == {3}
    return reading


def histogram(read: Any) -> Counter[int]:
    assert len(set(read.sums.tolist())) == len(read.sums)
    return Counter(dict(zip(read.sums.tolist(), read.users.tolist(), strict=True)))


def sums_of(own: Histories, cap: int) -> Counter[int]:
    return Counter(reference.row_sums(own, cap).values())


def test_the_rank_rule_reads_how_many_records_users_have(
    crowds: Crowds, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = crowds(BARE)
    for side, own in ((crowd.everyone, FULL), (crowd.others, FEWER)):
        reading = read_by(
            "RankChoice", crowd, side, monkeypatch, method=ct.SRA(MOST, choose="rank")
        )
        expected = Counter(cells.total() for cells in own.values())
        assert [histogram(read) for read in reading.read] == [expected]
        # Candidates that end at the longest row would tell how long it is.
        assert max(expected) < MOST
        assert reading.parameters[0][1] == log_spaced(MOST)


def test_the_rank_rule_of_users_reads_distinct_items(
    crowds: Crowds, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = crowds(BARE).without_contexts()
    options = {"method": ct.SRA(MOST, choose="rank"), "count": "users", "pairs": True}
    reading = read_by("RankChoice", crowd, crowd.everyone, monkeypatch, **options)
    own = reference.of_items(FULL, "users")
    assert [histogram(read) for read in reading.read] == [sums_of(own, 1)]


def test_scaled_rows_are_read_table_by_table(
    crowds: Crowds, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = crowds(BARE)
    options = {"method": ct.DPSense(MOST, cap=2, choose="dpsense")}
    reading = read_by("DPSenseChoice", crowd, crowd.everyone, monkeypatch, **options)
    expected = [sums_of(own, 2) for own in (reference.of_items(FULL), FULL)]
    assert [histogram(read) for read in reading.read] == expected


def test_rows_and_columns_are_read_together(
    crowds: Crowds, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = crowds(BARE)
    options = {"method": ct.DPSenseS(MOST, cap=2, choose="dpsense")}
    reading = read_by("DPSenseSChoice", crowd, crowd.everyone, monkeypatch, **options)
    layouts = [table.cells for table in asked(crowd.everyone, **options).tables]
    tables = (reference.of_items(FULL), FULL)
    for read, layout, own in zip(reading.read, layouts, tables, strict=True):
        assert read.fits(layout.size, 2)
        assert by_row_sum(read, layout) == totals(own, 2)


def by_row_sum(read: Any, layout: Layout) -> Counter[tuple[int, ...]]:
    named = layout.columns(read.columns)
    keys = zip(read.sums.tolist(), *(column.tolist() for column in named.values()), strict=True)
    return Counter(dict(zip(keys, read.totals.tolist(), strict=True)))


def totals(own: Histories, cap: int) -> Counter[tuple[int, ...]]:
    """For each row sum and cell, what users of that row sum have there."""
    found: Counter[tuple[int, ...]] = Counter()
    sums = reference.row_sums(own, cap)
    for user, cells in own.items():
        for cell, times in cells.items():
            found[sums[user], *cell] += min(times, cap)
    return found


# ---- Rows scaled to a Euclidean norm, and the histogram of norms: plain Python's, on every
#      engine


SIDES = [reference.histories(together(side)) for side in (EVERYONE, OTHERS)]


def scaled(own: Histories, theta: int, cap: int) -> Histories:
    """Each user's row by the definition, in units of 1/g."""
    found: Histories = {}
    for user, cells in own.items():
        row = {cell: min(times, cap) for cell, times in cells.items()}
        squares = sum(x * x for x in row.values())
        each = GRID if squares <= theta**2 else isqrt(GRID**2 * theta**2 // squares)
        found[user] = Counter({cell: each * x for cell, x in row.items()})
    return found


def farthest(one: Tally, other: Tally) -> int:
    """The largest L2 distance of a table, over all databases, squared."""
    apart: Counter[int] = Counter()
    for cell in one.keys() | other.keys():
        apart[cell[0] // STEP] += (one[cell] - other[cell]) ** 2
    return max(apart.values())


def check(rule: DPSense, crowd: Crowd, table: Callable[[Histories], Histories]) -> None:
    """Each database's counts with and without its first user, and how far they are apart."""
    found = []
    for own, side in zip(SIDES, (crowd.everyone, crowd.others), strict=True):
        counts = count_scaled(crowd.engine, side, rule, side.domain.size).found
        found.append(tally(counts, crowd.cells))
        assert found[-1] == reference.total(scaled(table(own), rule.limit, rule.most))
        assert counts.squared == (GRID * rule.limit) ** 2
    most = (GRID * rule.limit) ** 2
    assert 0.999 * most < farthest(*found) <= most


def test_items_in_context(crowds: Crowds) -> None:
    check(DPSense(2, cap=2, norm="l2"), crowds(BARE), lambda own: own)


@pytest.mark.quick_on_spark
def test_items(crowds: Crowds) -> None:
    """Items by the rows of items: by those in context a user of several contexts weighs more."""
    check(DPSense(2, norm="l2"), crowds(BARE).without_contexts(), reference.of_items)


def test_the_histogram_of_norms(crowds: Crowds) -> None:
    crowd, cap = crowds(BARE), 3
    found: Any = row_norms(crowd.engine, crowd.everyone, cap, width=1).found
    wanted: Counter[tuple[int, int]] = Counter()
    for cells in SIDES[0].values():
        row = [min(times, cap) for times in cells.values()]
        wanted[sum(x * x for x in row), sum(row)] += 1
    columns = np.stack([found.squares, found.sums, found.users]).T.tolist()
    assert {(squares, total): users for squares, total, users in columns} == wanted
