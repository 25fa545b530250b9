"""One user who joins or leaves changes nobody else's sample where Spark reads the records.

A few of the newcomers that every other kind of source meets in tests/neighbours: a job takes
seconds here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit.computed import COMPUTED
from kit.crowds import Database, histories, records, users
from kit.kinds import Kind, Place
from kit.kinds_guessed import ON_SPARK
from kit.neighbouring import bounded, counted, sampled
from kit.newcomers import LIMIT, MANY, NEWCOMERS, WORDS, visits
from kit.places import place_in

CASES = {
    "spark frame": ["a text beside nulls", "a fraction, then a text", "three zeros are one user",
                    "large ids: a text among users", "joins: a text among keys",
                    "chosen: a text among items", "keys of two names: a text",
                    "as text: a fraction", "as text: a text", "compared as text: a text",
                    "int64: a fraction", "int64 as text: a fraction",
                    "float64: a text among fractions", "of a joined table: a text"],
    "parquet on spark": ["a text beside nulls", "large ids: a missing item", "times",
                         "int64: a missing item"],
    "pandas sent to spark": ["a text beside nulls", "large ids: a missing item",
                             "as text: a missing item", "int64: a fraction"],
}  # fmt: skip
EXACT = {
    "integers": MANY.plus([*visits(None), (99, None, "Mon"), (2**53 + 3, 2**53 + 3, "Mon")]),
    "words": WORDS.plus([("", "", "Mon"), *visits(None), ("e\u0301", "cafe\u0301", "Mon")]),
}


@pytest.fixture(scope="module")
def place(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_in(tmp_path_factory.mktemp("on-spark"), lambda: cluster) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "title"), [(name, title) for name, titles in CASES.items() for title in titles]
)
def test_a_newcomer_changes_nobody_elses_sample(name: str, title: str, place: Place) -> None:
    kind, newcomer = ON_SPARK[name], {**NEWCOMERS, **COMPUTED}[title]
    alone = sampled(place, kind, newcomer.base, LIMIT)
    together = sampled(place, kind, newcomer.joined, LIMIT)
    assert {user: together.get(user) for user in alone} == alone
    assert len(together.keys() - alone.keys()) <= 1
    assert len(alone) == len(histories(kind, newcomer.base)), "users were merged, or are missing"
    assert bounded(alone, together, newcomer.base, LIMIT)


@pytest.mark.parametrize("kind", ON_SPARK.values(), ids=list(ON_SPARK))
@pytest.mark.parametrize("database", EXACT.values(), ids=list(EXACT))
def test_every_record_and_every_user_is_counted(
    kind: Kind, database: Database, place: Place
) -> None:
    own = histories(kind, database)
    by_records, by_users = counted(place, kind, database)
    assert by_records.edges == records(own)
    assert by_users.edges == users(own)
