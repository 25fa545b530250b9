"""What all baselines have in common: names, parts, tables, seeds, refusals."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.converse import Reading
from crowdtally.curator.request.request import make_request
from crowdtally.errors import UsageError
from crowdtally.lab.baselines import BASELINES
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.silent import SilentDraws

ROWS = pa.table(
    {
        "user": [1, 1, 1, 1, 2, 2, 3, 4, 4],
        "item": ["a", "a", "b", "c", "a", "d", "e", "z", "a"],
        "day": [0, 1, 1, 0, 0, 0, 1, 1, 7],
    }
)
CONTEXTS = ct.Domain(["a", "b", "c", "d", "e"], {"day": [0, 1]})


def request(domain=CONTEXTS, *, user="user", **options):
    named = {"item": "item", "contexts": ["day"]} if domain and domain.has_items else {}
    if domain is not None and not domain.has_items:
        named = {"attributes": ["item", "day"]}
    who = {"user": user} if user else {"user_per_row": True}
    given = {"max_records": 3} if user else {}
    return make_request(ct.read(ROWS, **who, **named), domain, epsilon=1, **(given | options))


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine() as engine:
        yield engine


def reading(engine, asked):
    return Reading(engine, prepare(engine, asked.records, asked.domain, asked.sources))


REQUESTS = {
    "items in context": request(),
    "users": request(count="users"),
    "cells": request(ct.Domain(attributes={"item": list("abcde"), "day": [0, 1]})),
    "rows": request(user=None),
}
SIZES = {"items": 5, "edges": 10, "cells": 10}


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("case", REQUESTS)
def test_every_table_gets_estimates_and_the_parts_add_up_to_epsilon(engine, name, case):
    asked = REQUESTS[case]
    baseline = BASELINES.load(name).of(asked.subject, 4)
    assert baseline.name == name
    counted = baseline.count(reading(engine, asked), seed=3)
    found = baseline.release(counted, Epsilon.of("1/3"), SystemDraws())
    assert {table: values.shape for table, values in found.items()} == {
        table.name: (SIZES[table.name],) for table in asked.tables
    }
    assert all(v.dtype == np.float64 and np.isfinite(v).all() for v in found.values())
    parts = baseline.parts(Epsilon.of("1/3"))
    assert sum(part.epsilon.value for part in parts) == Fraction(1, 3)
    each = Fraction(1, 3) / len(asked.tables)
    for table in asked.tables:
        mine = [part.epsilon.value for part in parts if part.name.startswith(table.name)]
        assert sum(mine) == each


def test_lpa_without_noise_is_the_truth_and_a_bound_cuts(engine):
    asked = REQUESTS["items in context"]
    whole, cut = (BASELINES.load("lpa").of(asked.subject, limit) for limit in (4, 1))
    truth = whole.release(whole.count(reading(engine, asked), 0), Epsilon.of(1), SilentDraws())
    assert truth["items"].tolist() == [3, 1, 1, 1, 1]
    assert truth["edges"].tolist() == [2, 1, 0, 1, 1, 0, 1, 0, 0, 1]
    kept = cut.release(cut.count(reading(engine, asked), 0), Epsilon.of(1), SilentDraws())
    assert kept["items"].sum() == 3


@pytest.mark.parametrize("case", REQUESTS)
def test_where_nobody_is_cut_no_sample_is_drawn_and_the_counts_are_the_same(engine, case):
    asked, load = REQUESTS[case], BASELINES.load("lpa").of
    sampled, whole = load(asked.subject, 4), load(asked.subject, 4, is_uncut=True)
    found = [
        one.release(one.count(reading(engine, asked), 0), Epsilon.of(1), SilentDraws())
        for one in (sampled, whole)
    ]
    assert found[0].keys() == found[1].keys()
    for name, counts in found[0].items():
        assert counts.tolist() == found[1][name].tolist()
    if case != "rows":
        with mock.patch.object(SRA, "keep", side_effect=AssertionError("a sample was drawn")):
            whole.count(reading(engine, asked), 0)
    assert whole.parts(Epsilon.of(1)) == sampled.parts(Epsilon.of(1))


def test_counts_follow_from_the_seed(engine):
    asked = REQUESTS["items in context"]
    baseline, records = BASELINES.load("lpa").of(asked.subject, 1), reading(engine, asked)

    def kept(seed):
        counted = baseline.count(records, seed)
        return tuple(baseline.release(counted, Epsilon.of(1), SilentDraws())["edges"])

    assert kept(5) == kept(5)
    assert len({kept(seed) for seed in range(4)}) > 1


@pytest.mark.parametrize("name", BASELINES)
def test_pairs_and_discoveries_are_refused(name):
    load, records = BASELINES.load(name), ct.read(ROWS, user="user", item="item")
    options = {"epsilon": 1, "max_records": 2}
    paired = make_request(records, ct.Domain(list("abc")), pairs=True, **options)
    with pytest.raises(UsageError, match=r"leave out --pairs"):
        load.of(paired.subject, 4)
    discovered = make_request(records, None, delta="1e-6", discover_items=True, **options)
    with pytest.raises(UsageError, match=r"leave out --discover"):
        load.of(discovered.subject, 4)


def test_a_table_of_too_many_cells_is_refused():
    lists = {"item": range(10**6), "day": range(10**4)}
    wide = request(ct.Domain(attributes=lists), publishing="filter", cut=100)
    with pytest.raises(UsageError, match=r"the table 'cells' has 10,000,000,000\. Leave the bas"):
        BASELINES.load("lpa").of(wide.subject, 4)


def test_an_unknown_baseline_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"unknown --methods 'dtf'.*dft"):
        BASELINES.load("dtf")
