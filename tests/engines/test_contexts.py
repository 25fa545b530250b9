"""Contexts from columns and expressions, and what one reading remembers, on both engines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from crowdtally.core.domain import PARTS
from crowdtally.core.profile import BETA, FINE, WEIGHT, Profile
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import (
    LARGEST_AMOUNT,
    Visits,
    context_totals,
    make_visits,
    rows_of_chosen,
    users_by_block,
)
from crowdtally.curator.counting.tastes import MOST, count_tastes
from crowdtally.records.engine import Dropped
from crowdtally.records.prepare import prepare
from kit.databases import Shape
from kit.spark import BARE, CONTEXTS, DOMAIN, EVERYONE, LISTED, OTHERS, Crowd, Start, together

# ---- Contexts of users and what is counted in them: plain Python beside each engine --------------


Crowds = Callable[[Shape], Crowd]
Own = dict[tuple[int, int], int]
"""(item, context) → amount, of one user."""
PLACES = {item: place for place, item in enumerate(LISTED)}
CHOSEN = np.arange(0, len(LISTED), 3)
KEY = 2**62 + 99


def raw(rows: Any) -> dict[str, Counter[tuple[int, int]]]:
    """Each user's records inside the lists."""
    found: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    for user, item, context, _ in rows:
        if user is not None and item in PLACES and context in range(CONTEXTS):
            found[user][PLACES[item], context] += 1
    return found


RAW, RAW_OTHERS = raw(together(EVERYONE)), raw(together(OTHERS))


@cache
def by_user(visits: Visits) -> dict[str, Own]:
    columns = visits.engine.columns(visits.rows)
    names = ("user", "item", "context", "amount")
    found: dict[str, Own] = defaultdict(dict)
    for user, item, context, amount in zip(*(columns[n].tolist() for n in names), strict=True):
        assert (item, context) not in found[user]
        found[user][item, context] = amount
    return found


@cache
def visit(crowd: Crowd, *, per_user: bool, repeats: bool) -> Visits:
    """Of everyone; a key of its own, since that names what an engine holds."""
    key = KEY + 2 * per_user + repeats
    return make_visits(crowd.engine, crowd.everyone, key=key, per_user=per_user, repeats=repeats)


@pytest.mark.quick_on_spark("True")
@pytest.mark.parametrize("repeats", [False, True])
def test_a_user_has_one_of_her_own_contexts(crowds: Crowds, repeats: bool) -> None:
    visits = visit(crowds(BARE), per_user=True, repeats=repeats)
    found = by_user(visits)
    assert visits.one_context
    assert found.keys() == RAW.keys()
    chosen: dict[frozenset[int], set[int]] = defaultdict(set)
    for user, own in found.items():
        (context,) = {context for _, context in own}
        hers = frozenset(context for _, context in RAW[user])
        assert context in hers
        chosen[hers].add(context)
        items = Counter[int]()
        for (item, _), number in RAW[user].items():
            items[item] += number
        assert {i: n for (i, _), n in own.items()} == (
            items if repeats else dict.fromkeys(items, 1)
        )
    # Users of the same contexts are in different ones of them: no context wins every time.
    assert chosen[frozenset(range(CONTEXTS))] == set(range(CONTEXTS))


def test_where_repeats_do_not_count_one_record_of_an_item_survives(crowds: Crowds) -> None:
    visits = visit(crowds(BARE), per_user=False, repeats=False)
    assert not visits.one_context
    several = 0
    for user, own in by_user(visits).items():
        assert set(own) <= set(RAW[user])
        assert set(own.values()) == {1}
        assert sorted(i for i, _ in own) == sorted({i for i, _ in RAW[user]})
        several += len({c for _, c in own}) > 1
    assert several


def test_where_repeats_count_every_record_stays_in_its_context(crowds: Crowds) -> None:
    assert by_user(visit(crowds(BARE), per_user=False, repeats=True)) == RAW


@pytest.mark.quick_on_spark("True-False")
@pytest.mark.parametrize("per_user", [False, True])
@pytest.mark.parametrize("repeats", [False, True])
def test_without_contexts_a_user_has_each_item_once(
    crowds: Crowds, repeats: bool, per_user: bool
) -> None:
    """Else the squares of her counts would add up to more than is claimed."""
    visits = visit(crowds(BARE), per_user=per_user, repeats=repeats)
    columns = visits.engine.columns(visits.items)
    found: dict[str, dict[int, int]] = defaultdict(dict)
    names = ("user", "item", "amount")
    for user, item, amount in zip(*(columns[n].tolist() for n in names), strict=True):
        assert item not in found[user], "an item is there twice"
        found[user][item] = amount
    wanted: dict[str, Counter[int]] = {user: Counter() for user in RAW}
    for user, own in RAW.items():
        for (item, _), number in own.items():
            wanted[user][item] = wanted[user][item] + number if repeats else 1
    assert found == wanted


@pytest.mark.quick_on_spark("True")
@pytest.mark.parametrize("per_user", [False, True])
def test_who_leaves_changes_nobody_elses_row(crowds: Crowds, per_user: bool) -> None:
    crowd = crowds(BARE)
    everyone, others = (
        by_user(make_visits(crowd.engine, side, key=5, per_user=per_user, repeats=False))
        for side in (crowd.everyone, crowd.others)
    )
    assert len(everyone) > len(others) > 0
    assert others == {user: everyone[user] for user in RAW_OTHERS}


# ---- what is counted: the sum of rows that each follow from one user's own records ---------------


def scaled(own: dict[int, int], bound: int) -> dict[int, int]:
    total = sum(own.values())
    if total <= bound:
        return {cell: GRID * amount for cell, amount in own.items()}
    return {cell: GRID * bound * amount // total for cell, amount in own.items()}


def added(rows: list[dict[int, int]], bound: int) -> Counter[int]:
    total = Counter[int]()
    for row in rows:
        assert sum(map(abs, row.values())) <= bound
        total.update(row)
    return Counter({cell: value for cell, value in total.items() if value})


def listed(counts: Any) -> Counter[int]:
    pairs = zip(counts.cells.tolist(), counts.values.tolist(), strict=True)
    return Counter({cell: value for cell, value in pairs if value})


@pytest.mark.quick_on_spark("3")
@pytest.mark.parametrize("bound", [1, 3])
def test_totals_of_contexts_are_sums_of_scaled_rows(crowds: Crowds, bound: int) -> None:
    visits = visit(crowds(BARE), per_user=False, repeats=True)
    rows = []
    for own in by_user(visits).values():
        each = Counter[int]()
        for (_, context), amount in own.items():
            each[context] += amount
        rows.append(scaled(each, bound))
    counts = context_totals(visits, CONTEXTS, bound)
    assert counts.l1_bound == GRID * bound
    assert counts.unit == Fraction(1, GRID)
    assert listed(counts) == added(rows, GRID * bound)


def test_head_rows_are_scaled_inside_the_chosen_cells(crowds: Crowds) -> None:
    visits = visit(crowds(BARE), per_user=False, repeats=True)
    places = {int(item): place for place, item in enumerate(CHOSEN)}
    rows = [
        scaled({places[i] * CONTEXTS + c: n for (i, c), n in own.items() if i in places}, 1)
        for own in by_user(visits).values()
    ]
    counts = rows_of_chosen(visits, CHOSEN, CONTEXTS)
    assert (counts.size, counts.l1_bound) == (len(CHOSEN) * CONTEXTS, GRID)
    assert listed(counts) == added(rows, GRID)


def test_a_split_head_counts_users_of_one_block_each(crowds: Crowds) -> None:
    visits = visit(crowds(BARE), per_user=True, repeats=True)
    places = {int(item): place for place, item in enumerate(CHOSEN)}
    wanted = np.zeros((len(CHOSEN), CONTEXTS), dtype=np.int64)
    for own in by_user(visits).values():
        cells = [(places[i], c) for i, c in own if i in places]
        assert len({c for _, c in cells}) <= 1
        assert len(cells) == len(set(cells))
        for cell in cells:
            wanted[cell] += 1
    assert users_by_block(visits, CHOSEN, CONTEXTS).values.tolist() == wanted.ravel().tolist()


@cache
def profile() -> Profile:
    """Three features of all items, whose shares add up; means and weights far from each other."""
    rng = np.random.default_rng(3)
    kinds = np.array([[PARTS, 0, 0], [341, 342, 341], [0, 1, 1023], [512, 0, 512]])
    items = rng.integers(0, len(kinds), len(LISTED))
    means = np.array([1500, 11268, 20000])
    return Profile(("a", "b", "c"), kinds, items, means, np.array([5120, 1746, 1310]), {})


def taste(own: Own, asked: Profile) -> dict[tuple[int, int], int]:
    """One user's row by exact fractions: (feature, context) → units."""
    ((_, context),) = {(0, c) for _, c in own}
    total = sum(own.values())
    values = []
    for f, (mean, weight) in enumerate(zip(asked.means, asked.weights, strict=True)):
        liked = sum(n * int(asked.kinds[asked.items[i], f]) for (i, _), n in own.items())
        values.append(int(weight) * (Fraction(liked * FINE, PARTS * total).__floor__() - int(mean)))
    values.append(BETA * FINE)
    whole = max(sum(map(abs, values)), WEIGHT * FINE)
    rounded = [abs(v) * GRID // whole * (-1 if v < 0 else 1) for v in values]
    assert sum(map(abs, rounded)) <= GRID
    return {(f, context): value for f, value in enumerate(rounded)}


def test_tastes_are_sums_of_centred_rows(crowds: Crowds) -> None:
    visits, asked = visit(crowds(BARE), per_user=True, repeats=True), profile()
    wanted = np.zeros((asked.size + 1, CONTEXTS), dtype=np.int64)
    signs = Counter[bool]()
    for own in by_user(visits).values():
        for cell, value in taste(own, asked).items():
            wanted[cell] += value
            signs[value < 0] += 1
    counts = count_tastes(visits, asked, CONTEXTS)
    assert signs[True] > 100 < signs[False]
    assert (counts.l1_bound, counts.unit, counts.signed) == (GRID, Fraction(1, GRID), True)
    assert counts.dense().tolist() == wanted.ravel().tolist()


def test_the_largest_amounts_are_exact(start_engine: Start) -> None:
    """Amounts and bounds at their ends: products near 2^60, and a context of a large number."""
    amounts = [LARGEST_AMOUNT, LARGEST_AMOUNT, LARGEST_AMOUNT - 1, 1, 4097]
    users, items, bound = [1, 1, 1, 1, 2], [0, 1, 2, 3, 2], 2**13
    named = {"user": users, "item": items, "context": [0] * 5, "amount": amounts}
    asked = replace(profile(), items=np.array([0, 1, 2, 3]))
    with start_engine() as engine:
        held = {name: np.array(values, dtype=np.int64) for name, values in named.items()}
        rows = engine.load("held_rows", held)
        visits = Visits(engine, rows, rows, Dropped(5, 0, 0), 1, DOMAIN, one_context=True)
        totals = context_totals(visits, 1, bound).dense().tolist()
        inside = rows_of_chosen(visits, np.array([1, 3]), 1).dense().tolist()
        tastes = count_tastes(visits, asked, 1).dense().tolist()
    assert totals == [GRID * bound + GRID * 4097]
    assert inside == [GRID * n // (LARGEST_AMOUNT + 1) for n in (LARGEST_AMOUNT, 1)]
    most = {user: Counter[tuple[int, int]]() for user in users}
    for user, item, amount in zip(users, items, amounts, strict=True):
        most[user][item, 0] = min(amount, MOST)
    wanted = [taste(own, asked) for own in most.values()]
    assert tastes == [sum(row[f, 0] for row in wanted) for f in range(asked.size + 1)]


# ---- One key gives one sample, however the records lie and however often it is computed ----------


KEY_REPEATING, OTHER_KEY, FILES = 31, 32, 5


def kept(start: Start, source: Path, *keys: int) -> list[Counter[Any]]:
    """What is kept under each key, computed each time from the files."""
    with start() as engine:
        prepared = prepare(engine, BARE.records(source, DOMAIN), DOMAIN)
        samples = [
            engine.columns(
                SRA(2).keep(engine, prepared.rows, cells=DOMAIN.size, key=key, what="records").rows
            )
            for key in keys
        ]
    return [
        Counter(zip(found["user"].tolist(), found["cell"].tolist(), strict=True))
        for found in samples
    ]


def test_order_and_files_change_nothing_but_the_key_does(
    start_engine: Start, tmp_path: Path
) -> None:
    rows = together(EVERYONE)
    order = np.random.default_rng(3).permutation(len(rows))
    parquet.write_table(BARE.table(rows), tmp_path / "all.parquet")
    for number in range(FILES):
        part = [rows[place] for place in order[number::FILES]]
        parquet.write_table(BARE.table(part), tmp_path / f"part-{number}.parquet")
    once, again, other = kept(
        start_engine, tmp_path / "all.parquet", KEY_REPEATING, KEY_REPEATING, OTHER_KEY
    )
    (in_parts,) = kept(start_engine, tmp_path / "part-*.parquet", KEY_REPEATING)
    assert once == again == in_parts
    assert once.total() == other.total()
    assert sum((once - other).values()) > once.total() / 10
