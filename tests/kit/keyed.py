"""What a rule keeps under very many sampling keys, in one query.

One key's run is a group of users of its own: the user ``7|5`` is user 5 under the key of run 7. The
rule groups and cuts as ever; only the hash is told the key and the user that are meant.
"""

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

from crowdtally.core.counts import What
from crowdtally.records import matching
from crowdtally.records.duckdb import DuckDBEngine
from kit.chisquare import Verdict, goodness

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
