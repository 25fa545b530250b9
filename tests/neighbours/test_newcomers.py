"""One user who joins or leaves a source of any kind changes nobody else's sample.

And the bounded counts change by at most the bound. What is tried is what makes a program read a
whole column in another way: a missing value, a text among integers, a new category.
"""

from __future__ import annotations

import pytest

from kit import computed
from kit.computed import COMPUTED
from kit.crowds import histories
from kit.kinds import Kind, Place, marks
from kit.kinds_guessed import KINDS
from kit.neighbouring import Before, bounded, sampled
from kit.newcomers import CORE, LIMIT, NEWCOMERS, SELDOM, Newcomer

QUICK, LONG = (*CORE, *computed.CORE), (*SELDOM, *computed.SELDOM)
CASES = [
    pytest.param(kind, newcomer, id=f"{name}: {title}", marks=marks(kind, title, QUICK, LONG))
    for name, kind in KINDS.items()
    for title, newcomer in {**NEWCOMERS, **COMPUTED}.items()
    if kind.holds(newcomer.base.schema)
]


@pytest.mark.parametrize(("kind", "newcomer"), CASES)
def test_a_newcomer_changes_nobody_elses_sample(
    kind: Kind, newcomer: Newcomer, place: Place, before: Before
) -> None:
    alone, together = before(kind, newcomer.base), sampled(place, kind, newcomer.joined, LIMIT)
    assert {user: together.get(user) for user in alone} == alone
    assert len(together.keys() - alone.keys()) <= 1
    assert len(alone) == len(histories(kind, newcomer.base)), "users were merged, or are missing"
    assert bounded(alone, together, newcomer.base, LIMIT)


BESIDE = [
    ("pandas", "parquet"),
    ("parquet", "pandas"),
    ("csv", "sqlite untyped"),
    ("polars", "postgresql"),
    ("sqlite", "csv"),
    ("duckdb view of a csv", "duckdb table"),
]
"""Records of one kind, and the tables that they are joined with of another."""


@pytest.mark.parametrize(("name", "beside"), BESIDE)
def test_tables_of_another_kind(name: str, beside: str, place: Place) -> None:
    newcomer, kind = NEWCOMERS["joins: a text among keys"], KINDS[name]
    alone, together = (
        sampled(place, kind, database, LIMIT, KINDS[beside])
        for database in (newcomer.base, newcomer.joined)
    )
    assert {user: together[user] for user in alone} == alone
    assert together.keys() - alone.keys() == {"guest"}
    assert len(alone) == len(histories(kind, newcomer.base))
    assert bounded(alone, together, newcomer.base, LIMIT)
