"""The ordering hash of each engine: every order of a user's records is equally likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from crowdtally.records.locate import locate
from crowdtally.records.matching import HASH_BITS
from kit.chisquare import Verdict, goodness
from kit.crowd import Start

USERS, RECORDS = 24_000, 4
UNIFORM = np.full(24, 1 / 24)
KEYS = (0, 2**63 - 1)


@pytest.fixture(scope="module")
def engine(start_engine: Start) -> Iterator[Any]:
    with start_engine() as opened:
        yield opened


@pytest.fixture(scope="module")
def held(engine: Any) -> ibis.Table:
    users, records = np.divmod(np.arange(USERS * RECORDS), RECORDS)
    return engine.load("held", {"user": users, "record": records})


@pytest.fixture(scope="module")
def keyed(engine: Any, held: ibis.Table) -> list[np.ndarray]:
    """For each key the hashes: a row for each user, a column for each of her records."""
    return hashes(engine, held, [engine.hash(key, [held.user, held.record]) for key in KEYS])


def hashes(engine: Any, table: ibis.Table, values: list[ibis.Value]) -> list[np.ndarray]:
    named = {f"hashed_{number}": value for number, value in enumerate(values)}
    found = engine.arrays(table.select("user", "record", **named))
    ordered = np.lexsort((found["record"], found["user"]))
    return [found[name][ordered].reshape(USERS, RECORDS) for name in named]


def order_law(values: np.ndarray) -> Verdict:
    """How often each order of the records occurs, against all being alike."""
    seen = Counter(map(tuple, np.argsort(values, axis=1).tolist()))
    return goodness(np.array([seen[o] for o in permutations(range(RECORDS))]), UNIFORM)


def test_every_order_is_equally_likely(keyed: list[np.ndarray]) -> None:
    for values in keyed:
        assert values.min() >= 0
        verdict = order_law(values)
        assert verdict.fits, verdict
        for bits in (values >> (HASH_BITS - 6), values & 63):
            spread = goodness(np.bincount(bits.ravel(), minlength=64), np.full(64, 1 / 64))
            assert spread.fits, spread
        first = np.argmin(values, axis=1)
        pairs = np.bincount(first[:-1] * RECORDS + first[1:], minlength=16)
        assert goodness(pairs, np.full(16, 1 / 16)).fits, "neighbours' choices are related"


def test_keys_give_unrelated_orders(keyed: list[np.ndarray]) -> None:
    one, other = (np.argmin(values, axis=1) for values in keyed)
    both = np.bincount(one * RECORDS + other, minlength=16)
    assert goodness(both, np.full(16, 1 / 16)).fits


def test_an_exclusive_or_in_the_end_is_caught(engine: Any, held: ibis.Table) -> None:
    """What DuckDB's hash of several columns does."""
    mixed = engine.hash(1, [held.user]) ^ engine.hash(1, [held.record])
    (values,) = hashes(engine, held, [mixed])
    assert not order_law(values).fits


def test_a_null_is_a_value_like_any_other(engine: Any) -> None:
    firsts, seconds = ["a", None, None, "", "a"], [None, "a", None, None, ""]
    engine.open(locate(pa.table({"first": firsts, "second": seconds})), "nulls")
    table = engine.table("nulls")
    found = engine.arrays(table.select(hashed=engine.hash(7, [table.first, table.second])))
    assert len(set(found["hashed"].tolist())) == 5
