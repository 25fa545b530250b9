"""Baselines of the papers: LPA, ALPA, their bounds on real data and on neighbours."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.request.request import make_request
from crowdtally.errors import UsageError
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.baselines.base import ALPA, total_of
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.conditioned import Bench, Held, Vector, events
from kit.databases import RememberingEngine, Space, databases, neighbours
from kit.draws import Drawn, Recording, SilentDraws
from kit.publishing import GivenNoise
from kit.subjects import Subject

# ---- What all baselines have in common: names, parts, tables, seeds, refusals --------------------


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
    given = {"method": ct.SRA(3)} if user else {}
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
    paired = make_request(records, ct.Domain(list("abc")), epsilon=1, method=ct.SRA(2), pairs=True)
    with pytest.raises(UsageError, match=r"leave out --pairs"):
        load.of(paired.subject, 4)
    discovered = make_request(records, None, epsilon=1, delta="1e-6", method=ct.Discover("item"))
    with pytest.raises(UsageError, match=r"leave out --discover"):
        load.of(discovered.subject, 4)


def test_a_table_of_too_many_cells_is_refused():
    lists = {"item": range(10**6), "day": range(10**4)}
    wide = request(ct.Domain(attributes=lists), summary=ct.Filter(cut=100))
    with pytest.raises(UsageError, match=r"the table 'cells' has 10,000,000,000\. Leave the bas"):
        BASELINES.load("lpa").of(wide.subject, 4)


def test_an_unknown_baseline_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"unknown --methods 'dtf'.*dft"):
        BASELINES.load("dtf")


# ---- ALPA: one noisy total for all cells ---------------------------------------------------------


TWO = ALPA.of(Subject(Space(4, 3), {"method": ct.SRA(1)}).request.subject, 7)
COUNTED = {
    "items": Counts(4, np.array([0, 2]), np.array([5, 6]), 7),
    "edges": Counts(12, np.array([1, 7, 8]), np.array([5, 1, 5]), 7),
}


def test_a_case_by_hand():
    found = TWO.release(COUNTED, Epsilon.of(1), GivenNoise([-3], [13]))
    assert found["items"].tolist() == [2.0] * 4  # (11 − 3)/4
    assert found["edges"].tolist() == [2.0] * 12  # (11 + 13)/12


def test_one_number_is_drawn_for_each_table_with_scale_l_over_its_epsilon():
    recording = Recording()
    TWO.release(COUNTED, Epsilon.of("1/5"), recording)
    assert recording.drawn == [Drawn(None, "laplace", Fraction(7 * 10), 1)] * 2


def test_a_total_beyond_64_bits_is_exact():
    counts = Counts(3, np.arange(3), np.full(3, 2**62), 1)
    assert total_of(counts).tolist() == [3 * 2**62]


@pytest.mark.parametrize("noise", [0, 5])
def test_no_records_are_a_total_of_zero(noise):
    empty = {name: Counts(c.size, [], [], 7) for name, c in COUNTED.items()}
    found = TWO.release(empty, Epsilon.of(1), GivenNoise([noise], [noise]))
    assert found["items"].tolist() == [noise / 4] * 4


# ---- Adding or removing any user of a tiny database: each part of a baseline loses at most its
#      ε


EPSILON = Epsilon(Fraction(3, 2))
LIMIT = 2
FIVE = Subject(Space(5, 1), {"method": ct.SRA(1)})
SQUARE = Subject(Space(2, 2), {"method": ct.SRA(1)})
USERS = Subject(Space(2, 2), {"method": ct.SRA(1), "count": "users"})
SEVERAL = Subject(Space(2, 2), {"method": ct.SRA(1)}, "quantities")

# None, few, as many as are kept and more; twice in one cell, and in the list's last.
HISTORIES = {
    "five": [(), (4, 4), (0, 4), (1, 2, 3)],
    "square": [(), (3,), (0, 0), (0, 1, 3)],
}
CASES = {
    "five items": (FIVE, "five"),
    "items in context": (SQUARE, "square"),
    "users in context": (USERS, "square"),
    "quantities in context": (SEVERAL, "square"),
}
# Cells in every order that makes other groups of two and one; candidates from first to last.
ORDERS = [order for order in permutations(range(5)) if order[0] < order[1] and order[2] < order[3]]


def scripts(name):
    """Whatever is released, as far as it can steer what is drawn later."""
    if name == "gs":
        return [{"released": lambda size, o=o: [c for c in o if c < size]} for o in ORDERS[::3]]
    return [{"pick": pick} for pick in range(3)] if name == "dft" else [{}]


@pytest.fixture(scope="module", params=CASES)
def case_neighbour(request):
    subject, family = CASES[request.param]
    with RememberingEngine() as engine:
        yield Bench(subject, LIMIT, engine), databases(HISTORIES[family], users=2)


@pytest.mark.parametrize("name", BASELINES)
def test_no_part_loses_more_than_its_epsilon(name, case_neighbour):
    bench, family = case_neighbour
    baseline = bench.baseline(name)
    parts, reached = baseline.parts(EPSILON), set()
    counted = {database: bench.count(baseline, database) for database in family}
    for script in scripts(name):
        found = {d: events(baseline, counted[d], EPSILON, Held(**script)) for d in counted}
        pairs = [(d, n) for d in found for n in neighbours(d)]
        assert len(pairs) == 24
        for database, other in pairs:
            for part, one, two in zip(parts, found[database], found[other], strict=True):
                epsilon = part.epsilon.value
                assert one.loses_at_most(two, epsilon), (database, other, part)
                if isinstance(one, Vector) and one.loss(two) == epsilon:
                    reached.add(part.name)
    # Nor is there more noise than needed: some user changes each vector by its whole bound. Only
    # distinct cells cannot all be the one that counts most in a transform.
    if not (name == "dft" and bench.subject is USERS):
        assert reached == {part.name for part in parts if part.mechanism == "discrete-laplace"}


def test_every_grouping_of_five_cells_is_among_the_scripts():
    assert len(ORDERS) == 30
