"""Contexts from columns and expressions, and what one reading remembers, on both engines."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.rows import Held, hold_rows
from crowdtally.curator.row_questions import UserRows
from crowdtally.records.prepare import prepare
from kit.databases import Shape
from kit.spark import BARE, CONTEXTS, DOMAIN, EVERYONE, LISTED, OTHERS, Crowd, Start, together

# ---- The rows of users, and the contexts that they have: plain Python beside each engine ---------


Crowds = Callable[[Shape], Crowd]
Own = Counter[tuple[int, int]]
"""(item, context) → how many records, of one user."""
PLACES = {item: place for place, item in enumerate(LISTED)}
KEY = 2**62 + 99


def raw(rows: Any) -> dict[str, Own]:
    """Each user's records inside the lists."""
    found: dict[str, Own] = defaultdict(Counter)
    for user, item, context, _ in rows:
        if user is not None and item in PLACES and context in range(CONTEXTS):
            found[user][PLACES[item], context] += 1
    return found


RAW, RAW_OTHERS = raw(together(EVERYONE)), raw(together(OTHERS))


def by_user(held: Held) -> dict[str, Own]:
    columns = held.engine.columns(held.records)
    found: dict[str, Own] = defaultdict(Counter)
    for user, cell, amount in zip(
        *(columns[name].tolist() for name in ("user", "cell", "amount")), strict=True
    ):
        found[user][divmod(cell, held.width)] += amount
    assert held.users == Counter(sum(own.values()) for own in found.values())
    return found


@cache
def rows_of(crowd: Crowd, *, per_user: bool, repeats: bool) -> dict[str, Own]:
    """Of everyone; a key of its own, since that names what an engine holds."""
    key = KEY + 2 * per_user + repeats
    return by_user(hold_rows(crowd.engine, crowd.everyone, UserRows(per_user, repeats), key))


@pytest.mark.quick_on_spark("True")
@pytest.mark.parametrize("repeats", [False, True])
def test_a_user_has_one_of_her_own_contexts(crowds: Crowds, repeats: bool) -> None:
    found = rows_of(crowds(BARE), per_user=True, repeats=repeats)
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
    several = 0
    for user, own in rows_of(crowds(BARE), per_user=False, repeats=False).items():
        assert set(own) <= set(RAW[user])
        assert set(own.values()) == {1}
        assert sorted(i for i, _ in own) == sorted({i for i, _ in RAW[user]})
        several += len({c for _, c in own}) > 1
    assert several


def test_where_repeats_count_every_record_stays_in_its_context(crowds: Crowds) -> None:
    assert rows_of(crowds(BARE), per_user=False, repeats=True) == RAW


@pytest.mark.quick_on_spark("True")
@pytest.mark.parametrize("per_user", [False, True])
def test_who_leaves_changes_nobody_elses_row(crowds: Crowds, per_user: bool) -> None:
    crowd, rows = crowds(BARE), UserRows(per_user, repeats=False)
    everyone, others = (
        by_user(hold_rows(crowd.engine, side, rows, 5)) for side in (crowd.everyone, crowd.others)
    )
    assert len(everyone) > len(others) > 0
    assert others == {user: everyone[user] for user in RAW_OTHERS}


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
