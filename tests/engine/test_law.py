"""Under one key, users with equal histories keep each subset equally often, and independently.

That is what the counts of one release rest on; privacy needs none of it. The key is the same in
every run of the tests, so a verdict is the same too.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import ibis
import numpy as np
import pytest

from crowdtally.core.counts import What
from crowdtally.curator.bounding.sampling import HPA, SRA
from kit.crowd import Start
from kit.keyed import fit, law_of_subsets

USERS, CELLS, KEY = 20_000, 8, 2**61 + 12345
FOUR = [0, 1, 2, 3]
History = Mapping[str, list[Any]]
"""The cells and perhaps ids of every user's records."""
HISTORIES: dict[str, tuple[History, What]] = {
    "sequential ids": ({"cell": FOUR, "id": [1, 2, 3, 4]}, "records"),
    "text ids": ({"cell": FOUR, "id": ["a1", "a2", "b1", ""]}, "records"),
    "no ids, repeated records": ({"cell": [0, 0, 1, 2]}, "records"),
    "users": ({"cell": [0, 0, 0, 1, 2, 2, 3]}, "users"),
}


def crowded(history: History) -> dict[str, Any]:
    """The same history for each of the users, whose names are texts."""
    columns = {name: np.tile(np.array(values), USERS) for name, values in history.items()}
    if "id" in columns and columns["id"].dtype.kind == "U":
        columns["id"] = columns["id"].astype(object)
    users = np.array([f"u{number}" for number in range(USERS)], dtype=object)
    return {"user": np.repeat(users, len(history["cell"])), **columns}


def samples(start: Start, history: History, rule: Any, what: What) -> list[tuple[int, ...]]:
    """What each user keeps, in the order of their numbers."""
    with start() as engine:
        rows = engine.load("held", crowded(history))
        found = engine.columns(rule.keep(engine, rows, cells=CELLS, key=KEY, what=what).rows)
    numbers = np.array([int(user[1:]) for user in found["user"].tolist()])
    order = np.lexsort((found["cell"], numbers))
    kept = found["cell"][order].reshape(USERS, rule.limit)
    assert (numbers[order].reshape(USERS, rule.limit) == np.arange(USERS)[:, None]).all()
    return list(map(tuple, kept.tolist()))


@pytest.mark.quick_on_spark("sequential ids", "no ids, repeated records")
@pytest.mark.parametrize("name", HISTORIES)
def test_a_uniform_subset_is_kept(name: str, start_engine: Start) -> None:
    history, what = HISTORIES[name]
    kept = samples(start_engine, history, SRA(2), what)
    law = law_of_subsets(history["cell"] if what == "records" else FOUR, 2)
    verdict = fit(kept, law)
    assert verdict.fits, str(verdict)
    joint = {(one, other): law[one] * law[other] for one in law for other in law}
    verdict = fit(list(pairwise(kept)), joint)
    assert verdict.fits, f"neighbouring users' samples are related: {verdict}"


def test_items_of_equal_popularity_are_taken_uniformly(start_engine: Start) -> None:
    """Item 3 ranks first, the others are equal: one of them goes with it."""
    popularity = np.array([4, 4, 4, 9, 0, 0, 0, 0], dtype=np.int64)
    kept = samples(start_engine, {"cell": FOUR}, HPA(2, popularity), "records")
    verdict = fit(kept, dict.fromkeys([(0, 3), (1, 3), (2, 3)], 1 / 3))
    assert verdict.fits, str(verdict)


class WithoutTheUser(SRA):
    """Every user keeps the same records."""

    def keep(self, engine: Any, rows: ibis.Table, **given: Any) -> ibis.Table:
        order = engine.hash(given["key"], [rows.cell])
        return engine.least(rows.select("user", "cell", priority=order), self.limit)


def test_a_hash_without_the_user_is_rejected(start_engine: Start) -> None:
    kept = samples(start_engine, {"cell": FOUR}, WithoutTheUser(2), "records")
    assert not fit(kept, law_of_subsets(FOUR, 2)).fits
