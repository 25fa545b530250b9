"""Wrong rules on each engine: the same crowd shows them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pytest

from crowdtally.curator.bounding import scaling
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import GRID, DPSense
from crowdtally.curator.counting.bounded import count_scaled
from crowdtally.records.engine import Kept
from kit import reference
from kit.databases import Shape
from kit.rules import HashOfAllRows, KeepOneMore, PositionalIds
from kit.spark import BARE, CONTEXTS, DOMAIN, ITEMS, STORED, Crowd, farthest, tally

Crowds = Callable[[Shape], Crowd]
LIMIT, KEY = 1, 77


# The kit's mutants that are about all users: here about all users of one database.


def database_of(user: ibis.Value) -> ibis.Value:
    return user.split(":")[0]


class DistinctIds(SRA):
    """Records are made distinct by their id, across the users of a database."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        marked = rows.mutate(database=database_of(rows.user))
        distinct = marked.distinct(on=["database", "id"]).drop("database")
        return SRA(self.limit).keep(engine, distinct, **given)


class HashedUser(SRA):
    """Users are grouped by a hash, under which some of a database collide."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        short = (engine.hash(0, [rows.user]) % 2).cast("string")
        hashed = rows.mutate(user=database_of(rows.user).concat(":", short))
        return SRA(self.limit).keep(engine, hashed, **given)


class OneQuota(SRA):
    """One quota for all users of a database, as large as what two of them may keep."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        as_one = rows.mutate(user=database_of(rows.user))
        return SRA(2 * self.limit).keep(engine, as_one, **given)


class FanOut(SRA):
    """A join after bounding finds two partners for the first item of each database."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        kept = SRA(self.limit).keep(engine, rows, **given).rows
        return Kept(kept.union(kept.filter(kept.cell % (ITEMS * CONTEXTS) < CONTEXTS)))


MUTANTS: dict[str, tuple[Shape, type[SRA]]] = {
    "keep l+1": (STORED, KeepOneMore),
    "positional record ids": (BARE, PositionalIds),
    "grouping by a hashed user": (STORED, HashedUser),
    "hash of all rows": (BARE, HashOfAllRows),
    "distinct ids across users": (STORED, DistinctIds),
    "one quota for all users": (STORED, OneQuota),
    "join with fan-out after bounding": (STORED, FanOut),
}


def distance(crowd: Crowd, rule: Any) -> int:
    """By how much the first user of some database changes its table."""
    full, fewer = crowd.kept(rule, KEY, "records")
    return farthest(reference.total(full), reference.total(fewer))


@pytest.mark.quick_on_spark(
    "positional record ids", "hash of all rows", "join with fan-out after bounding"
)
@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_samples(name: str, crowds: Crowds) -> None:
    shape, wrong = MUTANTS[name]
    assert distance(crowds(shape), wrong(LIMIT)) > LIMIT


def test_the_right_sample_passes(crowds: Crowds) -> None:
    assert distance(crowds(STORED), SRA(LIMIT)) == LIMIT


def test_weights_rounded_up(crowds: Crowds, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right ones are in ``test_bounding.py``."""

    def rounded_up(amounts: ibis.Table, theta: int) -> ibis.Table:
        down = -amounts.amount * (GRID * theta) // amounts.row_sum
        whole = amounts.amount * GRID
        weight = ibis.ifelse(amounts.row_sum <= theta, whole, -down).cast("int64")
        return amounts.select("cell", weight=weight)

    monkeypatch.setattr(scaling, "weighted", rounded_up)
    crowd, rule = crowds(BARE), DPSense(2)
    sides = [
        count_scaled(crowd.engine, side, rule, DOMAIN.size).found
        for side in (crowd.everyone, crowd.others)
    ]
    assert farthest(*(tally(counts, crowd.cells) for counts in sides)) > rule.l1_bound
