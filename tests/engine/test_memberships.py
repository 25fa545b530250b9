"""Distinct users of every cell, on every engine: one user changes each by 0 or 1, all one way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from crowdtally.core.counts import Memberships
from crowdtally.core.layout import Layout
from crowdtally.curator.counting import users as memberships
from crowdtally.curator.counting.users import distinct_users
from crowdtally.records.engine import Rows
from kit import reference
from kit.crowd import BARE, EVERYONE, OTHERS, STEP, Crowd, Tally, together
from kit.histories import Shape

Crowds = Callable[[Shape], Crowd]
SIDES = [reference.histories(together(side)) for side in (EVERYONE, OTHERS)]


def named(counted: Memberships, layout: Layout) -> Tally:
    """A table by the names of its cells, zeros left out."""
    import numpy as np

    assert counted.size == layout.size
    columns = layout.columns(np.arange(layout.size))
    names = zip(*(column.tolist() for column in columns.values()), strict=True)
    pairs = zip(names, counted.values.tolist(), strict=True)
    return reference.Counter({name: users for name, users in pairs if users})


def changes(one: Mapping[Any, int], other: Mapping[Any, int]) -> dict[int, set[int]]:
    """For each database, by how much its cells change when its first user leaves."""
    found: dict[int, set[int]] = {}
    for cell in one.keys() | other.keys():
        found.setdefault(cell[0] // STEP, set()).add(one.get(cell, 0) - other.get(cell, 0))
    return found


def counted(crowd: Crowd) -> list[list[Memberships]]:
    sizes = [crowd.items.size, crowd.cells.size]
    sides = (crowd.everyone, crowd.others)
    return [distinct_users(crowd.engine, side, sizes).found for side in sides]


@pytest.fixture(scope="module")
def tables(crowds: Crowds) -> list[list[Tally]]:
    """Items and items in context, with everybody and without each database's first user."""
    crowd = crowds(BARE)
    layouts = (crowd.items, crowd.cells)
    return [
        [named(one, layout) for one, layout in zip(side, layouts, strict=True)]
        for side in counted(crowd)
    ]


def test_they_are_the_users_by_definition(tables: list[list[Tally]]) -> None:
    for (items, edges), own in zip(tables, SIDES, strict=True):
        assert edges == reference.total(reference.available(own, "users"))
        assert items == reference.total(reference.of_items(own, "users"))


@pytest.mark.parametrize("place", [0, 1], ids=["items", "items in context"])
def test_one_user_changes_every_cell_by_0_or_1(tables: list[list[Tally]], place: int) -> None:
    found = changes(tables[0][place], tables[1][place])
    assert all(change <= {0, 1} for change in found.values())
    assert any(1 in change for change in found.values())


def test_a_user_counted_twice_is_seen(crowds: Crowds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items summed over contexts: a user of one item in two contexts would count 2."""

    def summed(met: Rows, width: int) -> Rows:
        return met.select("user", cell=(met.cell // width).cast("int64"))

    monkeypatch.setattr(memberships, "_by", summed)
    crowd = crowds(BARE)
    (with_user, _), (without, _) = counted(crowd)
    found = changes(named(with_user, crowd.items), named(without, crowd.items))
    assert any(max(change) > 1 for change in found.values())
