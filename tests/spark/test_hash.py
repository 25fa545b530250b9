"""Spark's ordering hash: every order of a user's records is equally likely."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import ibis
import numpy as np
import pytest

from crowdtally.curator.engine.hashing import HASH_BITS
from kit.chisquare import Verdict, goodness
from kit.cluster import engine_beside

USERS, RECORDS = 24_000, 4
UNIFORM = np.full(24, 1 / 24)


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Any:
    with engine_beside(cluster) as opened:
        yield opened


@pytest.fixture(scope="module")
def held(engine: Any) -> ibis.Table:
    users, records = np.divmod(np.arange(USERS * RECORDS), RECORDS)
    return engine.load("held", {"user": users, "record": records})


def hashes(engine: Any, table: ibis.Table, value: ibis.Value) -> np.ndarray:
    """A row for each user, a column for each of her records."""
    found = engine.arrays(table.select("user", "record", hashed=value))
    ordered = np.lexsort((found["record"], found["user"]))
    return found["hashed"][ordered].reshape(USERS, RECORDS)


def order_law(values: np.ndarray) -> Verdict:
    """How often each order of the records occurs, against all being alike."""
    seen = Counter(map(tuple, np.argsort(values, axis=1).tolist()))
    return goodness(np.array([seen[o] for o in permutations(range(RECORDS))]), UNIFORM)


@pytest.mark.parametrize("key", [0, 2**63 - 1])
def test_every_order_is_equally_likely(key: int, engine: Any, held: ibis.Table) -> None:
    values = hashes(engine, held, engine.hash(key, [held.user, held.record]))
    assert values.min() >= 0
    verdict = order_law(values)
    assert verdict.fits, verdict
    for bits in (values >> (HASH_BITS - 6), values & 63):
        spread = goodness(np.bincount(bits.ravel(), minlength=64), np.full(64, 1 / 64))
        assert spread.fits, spread
    first = np.argmin(values, axis=1)
    pairs = np.bincount(first[:-1] * RECORDS + first[1:], minlength=16)
    assert goodness(pairs, np.full(16, 1 / 16)).fits, "neighbouring users' choices are related"


def test_an_exclusive_or_in_the_end_is_caught(engine: Any, held: ibis.Table) -> None:
    """What DuckDB's hash of several columns does."""
    mixed = engine.hash(1, [held.user]) ^ engine.hash(1, [held.record])
    assert not order_law(hashes(engine, held, mixed)).fits


def test_keys_give_unrelated_orders(engine: Any, held: ibis.Table) -> None:
    one, other = (hashes(engine, held, engine.hash(k, [held.user, held.record])) for k in (1, 2))
    both = np.argmin(one, axis=1) * RECORDS + np.argmin(other, axis=1)
    assert goodness(np.bincount(both, minlength=16), np.full(16, 1 / 16)).fits


def test_a_null_is_a_value_like_any_other(engine: Any) -> None:
    engine._view("nulls", engine._session.sql(
        "SELECT * FROM VALUES (1L, 'a', NULL), (2L, NULL, 'a'), (3L, NULL, NULL), (4L, '', NULL), "
        "(5L, 'a', '') AS t (place, first, second)"
    ))  # fmt: skip
    table = engine.table("nulls")
    found = engine.arrays(table.select(hashed=engine.hash(7, [table.first, table.second])))
    assert len(set(found["hashed"].tolist())) == 5
