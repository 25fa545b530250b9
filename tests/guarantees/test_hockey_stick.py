"""(ε, δ) of releases with Gaussian noise: by the exact divergence of neighbouring databases.

Every release of production's own steps, with the noise silenced, on a database and on the same one
with one user more, whoever that is: the counts that she changes, and the variance that was asked
for, give the hockey-stick divergence of the two releases. It may not exceed δ.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding import scaling
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.request.request import Request, make_request
from crowdtally.laws.conversion import delta_of
from kit.databases import RememberingEngine
from kit.draws import SilentDraws, recorded
from kit.exact import Change, divergence
from kit.publishing import run_steps
from kit.subjects import known_keys

EPSILON, DELTA = Fraction(3), Fraction(1, 100)
ITEMS, DAYS = (0, 1, 2), (0, 1)
_SCHEMA = {"user": pa.int64(), "item": pa.int64(), "day": pa.int64()}
_IN_CONTEXT = {"contexts": {"day": None}}
_DAYS = Domain(ITEMS, {"day": DAYS})
_COARSE = 4
"""Units of a count in scaled rows: with 2^20 of them no law could be enumerated."""

CASES: dict[str, dict[str, Any]] = {
    "users": {"method": ct.SRA(2), "count": "users"},
    "records": {"method": ct.SRA(2)},
    "in context, users": {"method": ct.SRA(2), "count": "users", "in_context": True},
    "in context, records": {"method": ct.SRA(2), "in_context": True},
    "pairs": {"method": ct.SRA(3), "pairs": True},
    "pairs of users": {"method": ct.SRA(3), "pairs": True, "count": "users"},
    "rows scaled": {"method": ct.DPSense(2), "count": "users"},
    "rows scaled, repeats": {"method": ct.DPSense(2, cap=2)},
    "dyadic": {"method": ct.SRA(2), "transform": ct.Dyadic("day"), "in_context": True},
    "haar": {"method": ct.SRA(2), "transform": ct.Haar("day"), "in_context": True},
    "dyadic, users": {
        "method": ct.SRA(2), "transform": ct.Dyadic("item"), "count": "users",
    },
    "bounded elsewhere": {"bounded_to": 3},
    "bounded elsewhere, in context": {"bounded_to": 2, "in_context": True},
    "bounded elsewhere, each cell once": {"bounded_to": 3, "cells_once": True},
    "bounded elsewhere, each cell once in context": {
        "bounded_to": 2, "cells_once": True, "in_context": True,
    },
    "bounded elsewhere, each cell once, dyadic": {
        "bounded_to": 2, "cells_once": True, "transform": ct.Dyadic("item"),
    },
}  # fmt: skip
TIGHT = {
    "bounded elsewhere",
    "bounded elsewhere, each cell once",
    "users",
    "records",
    "in context, records",
    "rows scaled, repeats",
}
"""Some user reaches the bound in every table: then noise may not be much too large either."""


def request_of(options: dict[str, Any]) -> Request:
    given = dict(options)
    in_context = given.pop("in_context", False)
    empty = pa.table({name: pa.array([], kind) for name, kind in _SCHEMA.items()})
    roles: dict[str, Any] = dict(_IN_CONTEXT) if in_context else {}
    roles |= {name: given.pop(name) for name in ("bounded_to", "cells_once") if name in given}
    records, domain = (
        Records(empty, None if "bounded_to" in roles else "user", "item", **roles),
        _DAYS if in_context else Domain(ITEMS),
    )
    return make_request(records, domain, epsilon=EPSILON, delta=DELTA, noise="gaussian", **given)


def histories(
    *, in_context: bool, most: int = 3, once: bool = False
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every user of up to three records; in context of up to two, which are all that is kept.

    At most so many, and each cell once, where that is what the publisher states.
    """
    places = [(item, day) for item in ITEMS for day in (DAYS if in_context else DAYS[:1])]
    sizes = range(1, min(most, 2 if in_context else 3) + 1)
    chosen = combinations if once else combinations_with_replacement
    return chain.from_iterable(chosen(places, size) for size in sizes)


def released(request: Request, reading: Reading) -> dict[str, tuple[Fraction, Any]]:
    """Of each table the variance that was drawn, and its exact counts in units."""
    with recorded() as recording, known_keys(7):
        recording._inner = SilentDraws()
        found = run_steps(request, reading, recording)
    for one in found.tables:
        assert [draw.law for draw in recording.of(one.name)] == ["gaussian"], one.name
    return {
        one.name: (recording.of(one.name)[0].parameter, np.asarray(one.values, dtype=object))
        for one in found.tables
    }


def worst(options: dict[str, Any]) -> Fraction:
    """The largest divergence over all users that may be added to a database, rounded up."""
    request, seen, largest = request_of(options), set(), Fraction(0)
    before = [(1, 0, 0), (1, 1, 1)]
    stated = {"most": options.get("bounded_to", 3), "once": options.get("cells_once", False)}
    tried = list(histories(in_context=bool(options.get("in_context")), **stated))
    with RememberingEngine() as engine:
        reading = Reading(engine, engine.prepare(request.records, request.domain))
        engine.replace(before)
        without = released(request, reading)
        everyone = []
        for history in tried:
            engine.replace([*before, *((2, item, day) for item, day in history)])
            everyone.append(released(request, reading))
    for with_her in everyone:
        changes = tuple(
            Change.of(variance, with_her[name][1] - counts)
            for name, (variance, counts) in without.items()
        )
        assert [one.variance for one in changes] == [one for one, _ in with_her.values()]
        changes = tuple(one for one in changes if one.by)
        if changes in seen:
            continue
        seen.add(changes)
        found = divergence(changes, EPSILON)
        assert found.rad() < 1e-20
        largest = max(largest, Fraction(float(found.upper())))
    return largest


@pytest.fixture(autouse=True)
def coarse() -> Iterator[None]:
    with patch.object(scaling, "GRID", _COARSE):
        yield


@pytest.mark.parametrize("name", CASES)
def test_no_user_changes_a_release_by_more_than_epsilon_and_delta(name: str) -> None:
    found = worst(CASES[name])
    assert found <= DELTA
    if name in TIGHT:
        assert found >= DELTA / 10  # the conversion from zCDP loses some of it


def test_the_divergence_of_one_cell_is_that_of_its_definition() -> None:
    """One cell that one user changes by 1: against a plain sum of floats."""
    variance, epsilon = Fraction(7, 2), Fraction(1, 2)
    weights = {k: np.exp(-(k**2) / 7) for k in range(-200, 201)}
    total = sum(weights.values())
    plain = sum(
        max(0.0, weights[k] - np.exp(0.5) * weights.get(k - 1, 0.0)) / total for k in weights
    )
    found = divergence([Change.of(variance, [1])], epsilon)
    assert float(found.mid()) == pytest.approx(plain, rel=1e-9)


def test_two_tables_are_as_one_with_both_changes() -> None:
    variance = Fraction(9)
    together = divergence([Change.of(variance, [1, 2])], EPSILON / 3)
    apart = divergence([Change.of(variance, [1]), Change.of(variance, [2])], EPSILON / 3)
    assert together.overlaps(apart)


def test_zcdp_promises_no_less_than_the_divergence() -> None:
    """Noise of ρ = Δ²/(2σ²): what is promised holds, and by not too much."""
    variance = Fraction(4)
    for by in ([1], [1, 1, 1], [3], [2, 1]):
        rho = Fraction(sum(one**2 for one in by), 2 * variance)
        found = Fraction(float(divergence([Change.of(variance, by)], EPSILON / 2).upper()))
        promised = delta_of(rho, EPSILON / 2)
        assert found <= promised <= 12 * found
