"""Stability: all records of one user change each table by at most the bound that it carries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st

from crowdtally.core.counts import What
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.curator.counting.bounded import count_scaled
from kit.histories import (
    CONTEXTS,
    DERIVED,
    DOMAIN,
    ITEMS,
    PLAIN,
    TRIED,
    Counting,
    Quantified,
    Row,
    Shape,
    databases,
    keys,
    l1_distance,
    rules,
    whats,
    without,
)
from kit.mutants import (
    DistinctIds,
    FanOut,
    HashedUser,
    HashOfAllRows,
    KeepOneMore,
    OneQuota,
    PositionalIds,
)

Countings = Callable[..., Counting]
STORED, BARE, QUANTIFIED = Shape(id="int64"), Shape(), Quantified()
_NO_SHRINKING = (Phase.explicit, Phase.generate)


def people(rows: list[Row]) -> list[Any]:
    return sorted({row[0] for row in rows if row[0] is not None}, key=repr)


def exceeds(
    counting: Counting, rows: list[Row], rule: Any, key: int, what: What, *, pairs: bool = False
) -> bool:
    """Whether some user's records change some table by more than the table says."""
    everyone = counting.counts(rows, rule, key, what, pairs=pairs)
    for user in people(rows):
        others = counting.counts(without(rows, user), rule, key, what, pairs=pairs)
        for one, other in zip(everyone, others, strict=True):
            assert one.l1_bound == other.l1_bound
            if l1_distance(one, other) > one.l1_bound:
                return True
    return False


@pytest.mark.parametrize("shape", TRIED, ids=str)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_items_and_contexts(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    assert not exceeds(countings(shape), data.draw(databases(shape)), rule, key, what)


@pytest.mark.parametrize("shape", DERIVED, ids=str)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_what_a_condition_takes_of_derived_items(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    """And nobody's records are taken, or left, for the sake of another's."""
    rows, counting = data.draw(databases(shape)), countings(shape)
    assert not exceeds(counting, rows, rule, key, what)
    together = counting.kept(rows, rule, key, what)
    for user in people(rows):
        alone = counting.kept(without(rows, user), rule, key, what)
        assert alone == {one: cells for one, cells in together.items() if one != str(user)}
    assert {user: cells.total() for user, cells in together.items()} == {
        user: min(rule.limit, number) for user, number in _taken(rows, what).items()
    }


def _taken(rows: list[Row], what: What) -> dict[str, int]:
    """How many records of each user the condition takes and the lists have, in plain Python."""
    taken: dict[str, Counter[int]] = defaultdict(Counter)
    for user, item, context, number in rows:
        # Nothing is divided by zero, so a record of context 1 is not taken at all.
        listed = item in range(ITEMS) and context in (0, 2)
        low = context == 0 and number is not None and number % 3 == 0
        if user is not None and listed and (item != 1 or low):
            taken[user][item * CONTEXTS + context] += 1
    return {
        user: cells.total() if what == "records" else len(cells) for user, cells in taken.items()
    }


@pytest.mark.parametrize("shape", [BARE, STORED], ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data(), rule=rules(), key=keys, what=whats)
def test_pairs_of_items(
    shape: Shape, countings: Countings, data: st.DataObject, rule: Any, key: int, what: What
) -> None:
    assume(rule.limit >= 2)
    counting = countings(shape, PLAIN)
    assert not exceeds(counting, data.draw(databases(shape)), rule, key, what, pairs=True)


@settings(max_examples=30, deadline=None)
@given(rows=databases(BARE), theta=st.integers(1, 5), cap=st.integers(1, 3))
def test_scaled_rows(countings: Countings, rows: list[Row], theta: int, cap: int) -> None:
    counting = countings(BARE)

    def scaled(tried: list[Row]) -> Any:
        counting.engine.replace(tried)
        rule = DPSense(theta, cap, Fraction(3, 2))
        return count_scaled(counting.engine, counting.prepared, rule, DOMAIN.size).found

    everyone = scaled(rows)
    for user in people(rows):
        assert l1_distance(everyone, scaled(without(rows, user))) <= everyone.l1_bound


@settings(max_examples=30, deadline=None)
@given(rows=databases(STORED), key=keys, what=whats)
def test_the_bound_is_reached(countings: Countings, rows: list[Row], key: int, what: What) -> None:
    """A user with more different items than are kept: the bound is no larger than it has to be."""
    newcomer = 424242
    more = [*rows, *((newcomer, item, 0, 90 + item) for item in range(ITEMS))]
    counting, rule = countings(STORED), SRA(ITEMS - 1)
    tables = zip(
        counting.counts(more, rule, key, what),
        counting.counts(rows, rule, key, what),
        strict=True,
    )
    assert all(l1_distance(one, other) == one.l1_bound for one, other in tables)


@settings(max_examples=40, deadline=None)
@given(rows=databases(QUANTIFIED), rule=rules(), key=keys)
def test_records_that_count_several_times(
    countings: Countings, rows: list[Row], rule: Any, key: int
) -> None:
    """Quantities from 0, which is none, to 9, of which at most 3 count."""
    rule = replace(rule, times=QUANTIFIED.most)
    assert not exceeds(countings(QUANTIFIED), rows, rule, key, "records")


@settings(max_examples=30, deadline=None)
@given(rows=databases(QUANTIFIED), key=keys, data=st.data())
def test_row_order_and_other_users_change_no_quantity(
    countings: Countings, rows: list[Row], key: int, data: st.DataObject
) -> None:
    """What is kept of records of one cell depends on their quantities, not on their order."""
    counting, rule = countings(QUANTIFIED), SRA(1, times=QUANTIFIED.most)
    shuffled = data.draw(st.permutations(rows))
    one, other = (counting.counts(tried, rule, key, "records") for tried in (rows, shuffled))
    assert [t.dense().tolist() for t in one] == [t.dense().tolist() for t in other]


@settings(max_examples=15, deadline=None)
@given(rows=databases(QUANTIFIED), key=keys)
def test_the_bound_of_quantities_is_reached(
    countings: Countings, rows: list[Row], key: int
) -> None:
    more = [*rows, *((424242, item, 0, 3 + item) for item in range(ITEMS))]
    counting, rule = countings(QUANTIFIED), SRA(ITEMS - 1, times=QUANTIFIED.most)
    tables = zip(
        counting.counts(more, rule, key, "records"),
        counting.counts(rows, rule, key, "records"),
        strict=True,
    )
    assert all(l1_distance(a, b) == a.l1_bound == 3 * (ITEMS - 1) for a, b in tables)


@settings(max_examples=20, deadline=None)
@given(rows=databases(QUANTIFIED), theta=st.integers(1, 5), cap=st.integers(1, 4))
def test_scaled_rows_of_quantities(
    countings: Countings, rows: list[Row], theta: int, cap: int
) -> None:
    counting = countings(QUANTIFIED)

    def scaled(tried: list[Row]) -> Any:
        counting.engine.replace(tried)
        return count_scaled(
            counting.engine, counting.prepared, DPSense(theta, cap), DOMAIN.size
        ).found

    everyone = scaled(rows)
    for user in people(rows):
        assert l1_distance(everyone, scaled(without(rows, user))) <= everyone.l1_bound


MUTANTS = {
    "keep l+1": (STORED, KeepOneMore),
    "positional record ids": (BARE, PositionalIds),
    "grouping by a hashed user": (STORED, HashedUser),
    "hash of all rows": (BARE, HashOfAllRows),
    "distinct ids across users": (STORED, DistinctIds),
    "one quota for all users": (STORED, OneQuota),
    "join with fan-out after bounding": (STORED, FanOut),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str, countings: Countings) -> None:
    shape, wrong = MUTANTS[name]
    caught = find(
        databases(shape),
        lambda rows: exceeds(countings(shape), rows, wrong(1), 1, "records"),
        settings=settings(max_examples=400, deadline=None, derandomize=True, phases=_NO_SHRINKING),
    )
    assert len(people(caught)) >= 1
