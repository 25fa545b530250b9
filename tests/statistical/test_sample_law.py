"""Over random keys, what a user keeps is a uniform subset, independent between users.

Privacy does not need this (it holds for every fixed key); the meaning of the counts does. Keys are
the same in every run of the tests, so a verdict is the same too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.records import matching
from crowdtally.records.duckdb import DuckDBEngine
from kit.chisquare import Verdict
from kit.keyed import Columns, ManyKeys, fit, key_of, law_of_subsets, samples

RUNS, CELLS = 20_000, 8
FOUR = [0, 1, 2, 3]
HISTORIES: dict[str, Columns] = {
    "sequential integer ids": {"user": [5] * 4, "cell": FOUR, "id": [1, 2, 3, 4]},
    "widely spaced ids": {"user": [5] * 4, "cell": FOUR, "id": [2**20, 2**30, 2**40, 2**50]},
    "text ids": {"user": [5] * 4, "cell": FOUR, "id": ["a1", "a2", "b1", ""]},
    "text users": {"user": ["me@x"] * 4, "cell": FOUR, "id": [1, 2, 3, 4]},
    "no ids": {"user": [5] * 4, "cell": FOUR},
    "no ids, repeated records": {"user": [5] * 4, "cell": [0, 0, 1, 2]},
    "no ids, one record thrice": {"user": [5] * 4, "cell": [7, 7, 7, 2]},
}


def one_user(columns: Columns, rule: Any, engine: type[ManyKeys] = ManyKeys) -> Verdict:
    """The joint law of one user's kept records."""
    (user,) = set(columns["user"])
    found = samples(columns, rule, RUNS, cells=CELLS, engine=engine)
    return fit([sample[user] for sample in found], law_of_subsets(columns["cell"], rule.limit))


def two_users(columns: Columns, engine: type[ManyKeys] = ManyKeys) -> Verdict:
    """The joint law of what two users with equal histories keep."""
    both = {name: [*values, *values] for name, values in columns.items()}
    both["user"] = [5] * 4 + [6] * 4
    found = samples(both, SRA(2), RUNS, cells=CELLS, engine=engine)
    law = law_of_subsets(columns["cell"], 2)
    joint = {(one, other): law[one] * law[other] for one in law for other in law}
    return fit([(sample[5], sample[6]) for sample in found], joint)


@pytest.mark.parametrize("name", HISTORIES)
def test_many_keys_at_once_are_many_runs_of_one(name: str) -> None:
    """The kit's short cut keeps what a release with that key keeps."""
    columns, rule = HISTORIES[name], SRA(2)
    found = samples(columns, rule, 5, cells=CELLS)
    with DuckDBEngine() as engine:
        engine._connection.register("alone", pa.table(dict(columns)))
        for run, sample in enumerate(found):
            kept = rule.keep(
                engine, engine.table("alone"), cells=CELLS, key=key_of(run), what="records"
            )
            cells = sorted(engine.columns(kept.rows)["cell"].tolist())
            assert list(sample.values()) == [tuple(cells)]


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("name", HISTORIES)
def test_a_uniform_subset_is_kept(name: str, limit: int) -> None:
    verdict = one_user(HISTORIES[name], SRA(limit))
    assert verdict.fits, str(verdict)


def test_a_uniform_subset_of_many_records_is_kept() -> None:
    columns = {"user": [5] * 10, "cell": list(range(10)), "id": list(range(10))}
    found = samples(columns, SRA(3), RUNS, cells=16)
    verdict = fit([sample[5] for sample in found], law_of_subsets(range(10), 3))
    assert verdict.fits, str(verdict)


def test_a_uniform_subset_of_the_distinct_cells_is_kept() -> None:
    columns = {"user": [5] * 6, "cell": [0, 0, 0, 1, 2, 2]}
    found = samples(columns, SRA(2), RUNS, cells=CELLS, what="users")
    verdict = fit([sample[5] for sample in found], law_of_subsets([0, 1, 2], 2))
    assert verdict.fits, str(verdict)


def test_a_uniform_subset_in_a_domain_too_wide_to_pack() -> None:
    columns = {"user": [5] * 4, "cell": [0, 1, 2**40, 2**40 + 1]}
    found = samples(columns, SRA(2), RUNS, cells=2**41)
    verdict = fit([sample[5] for sample in found], law_of_subsets(columns["cell"], 2))
    assert verdict.fits, str(verdict)


@pytest.mark.parametrize("name", ["sequential integer ids", "no ids"])
def test_two_users_keep_independently(name: str) -> None:
    verdict = two_users(HISTORIES[name])
    assert verdict.fits, str(verdict)


def test_many_users_under_one_key() -> None:
    """The same law over users, which is what the counts of one release rest on."""
    users = np.repeat(np.arange(RUNS), 4)
    columns = {"user": users.tolist(), "cell": FOUR * RUNS, "id": list(range(4 * RUNS))}
    (sample,) = samples(columns, SRA(2), 1, cells=CELLS)
    verdict = fit(list(sample.values()), law_of_subsets(FOUR, 2))
    assert verdict.fits, str(verdict)


def test_items_of_equal_popularity_are_taken_uniformly() -> None:
    """Item 3 ranks first, the others are equal: one of them goes with it."""
    popularity = np.array([4, 4, 4, 9, 0, 0, 0, 0], dtype=np.int64)
    found = samples(HISTORIES["no ids"], HPA(2, popularity), RUNS, cells=CELLS)
    verdict = fit([sample[5] for sample in found], dict.fromkeys([(0, 3), (1, 3), (2, 3)], 1 / 3))
    assert verdict.fits, str(verdict)


# ---- mutants: the same tests must reject them ----------------------------------------------------


class NotMixedAgain(ManyKeys):
    """DuckDB's hash of several columns ends in an exclusive-or with the key."""

    def __init__(self, users: str) -> None:
        super().__init__(users)
        self._connection.execute(
            "CREATE OR REPLACE MACRO crowdtally_mix(x) AS CAST(x >> 1 AS BIGINT)"
        )


class WithoutTheUser(ManyKeys):
    """Every user keeps the same items."""

    def mixed(self, key: ibis.Value, columns: Sequence[ibis.Value]) -> ibis.Value:
        return matching.duckdb_hash(key, columns[1:])


class WithoutTheKey(ManyKeys):
    def mixed(self, key: ibis.Value, columns: Sequence[ibis.Value]) -> ibis.Value:
        return matching.duckdb_hash(0, columns)


class FewBits(ManyKeys):
    """Ties are common, and broken by the cell."""

    def mixed(self, key: ibis.Value, columns: Sequence[ibis.Value]) -> ibis.Value:
        return (super().mixed(key, columns) >> 60) * 2**60


@pytest.mark.parametrize("name", ["sequential integer ids", "widely spaced ids", "text ids"])
def test_a_hash_that_is_not_mixed_again_is_rejected(name: str) -> None:
    assert not one_user(HISTORIES[name], SRA(2), NotMixedAgain).fits


@pytest.mark.parametrize("name", ["sequential integer ids", "no ids"])
def test_a_hash_without_the_user_is_rejected(name: str) -> None:
    assert one_user(HISTORIES[name], SRA(2), WithoutTheUser).fits
    assert not two_users(HISTORIES[name], WithoutTheUser).fits


@pytest.mark.parametrize("engine", [WithoutTheKey, FewBits])
def test_other_poor_hashes_are_rejected(engine: type[ManyKeys]) -> None:
    assert not one_user(HISTORIES["no ids"], SRA(2), engine).fits
