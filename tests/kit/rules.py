"""Subjects of the exhaustive tests, wrong rules, and what a rule keeps under very many keys."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

import crowdtally as ct
from crowdtally.core.counts import What
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.records import matching
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Kept
from kit.databases import Space
from kit.sampler_checks import Verdict, goodness
from kit.subjects import Subject

# ---- The subjects of the exhaustive tests: one line for each way to make a release ---------------


SQUARE, TRIPLE, PLAIN, WIDE = Space(2, 2), Space(3, 1), Space(2, 1), Space(3, 2)

# Items × contexts, each user with none, few and more records than are kept.
MIXED = [(), (0,), (0, 3), (0, 0, 1), (1, 2, 3)]

# Released popularities far above all counts, one for each order of two items, and of equal ones.
ORDERS = ((100, 101), (101, 100), (100, 100))

SAMPLES = {
    "one record, no ids": Subject(SQUARE, {"method": ct.SRA(1)}),
    "one record, stored ids": Subject(SQUARE, {"method": ct.SRA(1)}, "stored"),
    "two records, no ids": Subject(SQUARE, {"method": ct.SRA(2)}),
    "two records, stored ids": Subject(SQUARE, {"method": ct.SRA(2)}, "stored"),
    "two records, repeated ids": Subject(SQUARE, {"method": ct.SRA(2)}, "repeated"),
    "users, one cell": Subject(SQUARE, {"method": ct.SRA(1), "count": "users"}),
    "users, two cells": Subject(SQUARE, {"method": ct.SRA(2), "count": "users"}, "stored"),
    "uneven split": Subject(
        SQUARE, {"method": ct.SRA(2), "split": {"items": "1/5", "edges": "4/5"}}, "stored"
    ),
    "declared": Subject(SQUARE, {"method": ct.Declared(2)}),
    "one record of several counts": Subject(SQUARE, {"method": ct.SRA(1)}, "quantities"),
    "two records of several counts": Subject(SQUARE, {"method": ct.SRA(2)}, "quantities"),
    "two records of persons with two ids": Subject(SQUARE, {"method": ct.SRA(2)}, "several"),
    "items alone": Subject(PLAIN, {"method": ct.SRA(2)}),
}
"""Samples of each user's records."""

_HOUR = {
    "contexts": {"context": "hour(to_timestamp(context * 3600)) - 5"},
    "timezone": "Asia/Kolkata",  # half past five and half past six, by the clocks there
    "types": {"item": "int64", "context": "int64"},
}
DERIVED = {
    "a condition": Subject(
        SQUARE,
        {"method": ct.SRA(1)},
        "stored",
        roles={"where": "item = 0 OR id < 2", "types": {"item": "int64", "id": "int64"}},
    ),
    "a condition that fails on some rows": Subject(
        SQUARE,
        {"method": ct.SRA(2)},
        roles={
            "where": "CAST(split_part('1,x', ',', item+1) AS INT)=1",
            "types": {"item": "int64"},
        },
    ),
    "derived items, hours of a zone": Subject(
        SQUARE, {"method": ct.SRA(2)}, roles={"item_expression": "1 - item"} | _HOUR
    ),
    "users, under a condition": Subject(
        SQUARE, {"method": ct.SRA(1), "count": "users"}, roles={"where": "context = 1"} | _HOUR
    ),
}
"""Records that a condition chooses, items and contexts that are computed."""

STEERED = {
    "hpa, one record": Subject(
        SQUARE, {"method": ct.HPA(1, popularity_records=1)}, steering=ORDERS
    ),
    "hpa, two cells of users": Subject(
        SQUARE,
        {"method": ct.HPA(2, popularity_records=2), "count": "users"},
        steering=ORDERS,
    ),
    "hpa, several counts": Subject(
        SQUARE,
        {"method": ct.HPA(1, popularity_records=1)},
        "quantities",
        steering=ORDERS,
    ),
}
"""Samples that a released popularity steers."""

SCALED = {
    "dpsense, one": Subject(SQUARE, {"method": ct.DPSense(1), "count": "users"}, room=25),
    "dpsense, capped": Subject(SQUARE, {"method": ct.DPSense(2, cap=2)}, room=25),
    "dpsense, several counts": Subject(
        SQUARE, {"method": ct.DPSense(3, cap=3)}, "quantities", room=25
    ),
    "dpsense-s": Subject(
        SQUARE,
        {"method": ct.DPSenseS(1, scalings="1.5"), "count": "users"},
        room=25,
    ),
}
"""Rows scaled as a whole, on a grid."""

PAIRS = {
    "pairs of two records": Subject(TRIPLE, {"method": ct.SRA(2), "pairs": True}),
    "pairs of three cells": Subject(TRIPLE, {"method": ct.SRA(3), "pairs": True, "count": "users"}),
}
"""Pairs of items of one user."""

FORMED = {
    "dyadic": Subject(SQUARE, {"method": ct.SRA(1), "transform": ct.Dyadic("context")}),
    "haar": Subject(SQUARE, {"method": ct.SRA(2), "transform": ct.Haar("context")}),
    "haar, several counts": Subject(
        SQUARE,
        {"method": ct.SRA(1), "transform": ct.Haar("context")},
        "quantities",
    ),
    "sketch": Subject(PLAIN, {"method": ct.SRA(2), "transform": ct.Sketch(2, rows=2)}),
    "dyadic, dpsense": Subject(
        PLAIN,
        {
            "method": ct.DPSense(1),
            "transform": ct.Dyadic("item"),
            "count": "users",
        },
        room=25,
    ),
}
"""Sums and differences of counts instead of cells."""

CHOSEN = {
    "sra, rank": Subject(PLAIN, {"method": ct.SRA(2, choose="rank")}),
    "sra, rank, several counts": Subject(PLAIN, {"method": ct.SRA(2, choose="rank")}, "quantities"),
    "hpa, rank": Subject(
        PLAIN,
        {"method": ct.HPA(2, popularity_records=1, choose="rank")},
        steering=ORDERS,
    ),
    "dpsense, rank": Subject(
        PLAIN,
        {"method": ct.DPSense(2, choose="rank"), "count": "users"},
        room=25,
    ),
    "dpsense, dpsense": Subject(
        SQUARE,
        {"method": ct.DPSense(2, choose="dpsense"), "count": "users"},
        room=25,
    ),
    "dpsense-s, dpsense": Subject(
        PLAIN,
        {
            "method": ct.DPSenseS(2, choose="dpsense", scalings=["1", "1.5"]),
            "count": "users",
        },
        room=25,
    ),
}
"""The bound itself chosen privately."""


# ---- Wrong rules: each keeps records in a way that has been a real bug somewhere -----------------


class _Right(SRA):
    """What the wrong ones rest on, also where one of them stands in for SRA."""

    keep = SRA.keep


class KeepOneMore(SRA):
    """l+1 records."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        return _Right(self.limit + 1).keep(engine, rows, **given)


class PositionalIds(SRA):
    """A record's id is its place in the table."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        return _Right(self.limit).keep(engine, rows.mutate(id=ibis.row_number()), **given)


class HashedUser(SRA):
    """Users are grouped by a hash, under which some collide."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        hashed = rows.mutate(user=engine.hash(0, [rows.user]) % 2)
        return _Right(self.limit).keep(engine, hashed, **given)


class HashOfAllRows(SRA):
    """The hash depends on how many rows there are in all."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        everyone = rows.count().over(ibis.window())
        return _Right(self.limit).keep(engine, rows.mutate(id=rows.cell * 1000 + everyone), **given)


class DistinctIds(SRA):
    """Records are made distinct by their id, across users."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        return _Right(self.limit).keep(engine, rows.distinct(on="id"), **given)


class OneQuota(SRA):
    """One quota for all users together, as large as what two of them may keep."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        together = _Right(2 * self.limit).keep(engine, rows.mutate(user=ibis.literal(0)), **given)
        return Kept(together.rows.mutate(user=together.rows.cell))


class FanOut(SRA):
    """A join after bounding finds two partners for cell 0."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> Kept:
        kept = _Right(self.limit).keep(engine, rows, **given).rows
        return Kept(kept.union(kept.filter(kept.cell == 0)))


# ---- What a rule keeps under very many sampling keys, in one query -------------------------------
#
# One key's run is a group of users of its own: the user ``7|5`` is user 5 under the key of run 7.
# The rule groups and cuts as ever; only the hash is told the key and the user that are meant.


Columns = Mapping[str, Sequence[Any]]
"""The columns user, cell and perhaps id of one database."""
Sample = dict[Any, tuple[int, ...]]
"""The cells that each user keeps, ascending."""


def key_of(run: int) -> int:
    """The key of a run: 63 bits of a digest that has nothing to do with the engine's hash."""
    return int.from_bytes(hashlib.md5(str(run).encode()).digest(), "little") >> 65


class ManyKeys(DuckDBEngine):
    """An engine whose users carry the number of the run that they take part in."""

    def __init__(self, users: str) -> None:
        super().__init__()
        self._users = users
        self._connection.execute(
            "CREATE MACRO key_of(who) AS CAST(md5_number(split_part(who, '|', 1)) >> 65 AS BIGINT)"
        )
        self._connection.execute(
            f"CREATE MACRO person_of(who) AS CAST(split_part(who, '|', 2) AS {users})"
        )

    def hash(self, key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
        user, *identity = columns
        person = "string" if self._users == "VARCHAR" else "int64"
        return self.mixed(
            _call("key_of", "int64", user), [_call("person_of", person, user), *identity]
        )

    def mixed(self, key: ibis.Value, columns: Sequence[ibis.Value]) -> ibis.Value:
        """The hash of production; mutants replace it."""
        return matching.duckdb_hash(key, columns)


def _call(name: str, returns: str, argument: ibis.Value) -> ibis.Value:
    function = ibis.udf.scalar.builtin(
        lambda who: ..., name=name, signature=((argument.type(),), returns)
    )
    return function(argument)


def samples(
    columns: Columns,
    rule: Any,
    runs: int,
    *,
    cells: int,
    what: What = "records",
    engine: type[ManyKeys] = ManyKeys,
) -> list[Sample]:
    """The sample of every user, under the key of each run."""
    texts = isinstance(columns["user"][0], str)
    with engine("VARCHAR" if texts else "BIGINT") as opened:
        names = ", ".join(f'"{name}"' for name in columns if name != "user")
        opened._connection.register("one", pa.table(dict(columns)))
        opened._connection.execute(
            f'CREATE TABLE many AS SELECT run || \'|\' || "user" AS "user", {names} '
            f"FROM one, (SELECT range AS run FROM range({runs}))"
        )
        kept = rule.keep(opened, opened.table("many"), cells=cells, key=0, what=what)
        found: list[dict[Any, list[int]]] = [defaultdict(list) for _ in range(runs)]
        fetched = opened.columns(kept.rows)
        for who, cell in zip(fetched["user"].tolist(), fetched["cell"].tolist(), strict=True):
            run, _, person = who.partition("|")
            found[int(run)][person if texts else int(person)].append(cell)
    return [{user: tuple(sorted(kept)) for user, kept in run.items()} for run in found]


def law_of_subsets(records: Sequence[int], limit: int) -> dict[tuple[int, ...], float]:
    """The law of the kept cells if every subset of so many records is equally likely."""
    times = Counter(tuple(sorted(subset)) for subset in combinations(records, limit))
    return {cells: n / comb(len(records), limit) for cells, n in times.items()}


def fit(observed: Sequence[Any], law: dict[Any, float]) -> Verdict:
    """Whether outcomes follow a law; what the law excludes is a failure of its own."""
    times = Counter(observed)
    assert times.keys() <= law.keys(), f"impossible outcomes: {times.keys() - law.keys()}"
    counts = np.array([times[outcome] for outcome in law])
    return goodness(counts, np.array(list(law.values())))
