"""What an audit covers, and the databases that it makes up."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.bounding.scaling import AIMS, Auto
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError
from crowdtally.lab.auditing.cases import (
    LARGE_CHOICE,
    SHAPES,
    Case,
    cases_of,
    charged_parts,
    every_name,
)
from crowdtally.lab.auditing.databases import HER, Pair, Record, on_records, pairs_of
from crowdtally.lab.auditing.run import Attack, Shared
from crowdtally.lab.methods import Method
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.records.duckdb import DuckDBEngine
from kit.silent import SilentDraws

ONE = Epsilon(Fraction(1))
NAMES = every_name()


def whole(name: str) -> Case:
    return next(iter(cases_of(name, ONE)))


def test_every_entry_of_the_registries_is_covered() -> None:
    methods = [Method.of(name) for name in NAMES if name not in SHAPES]
    ways = {(method.bounding, method.publishing) for method in methods}
    named = set(BOUNDINGS) - {AUTO}
    assert ways == {*product(named, PUBLISHINGS), (AUTO, "dense")}  # auto publishes as it decides
    assert {method.transform for method in methods} == set(TRANSFORMS)
    chosen = {(method.bounding, method.choice) for method in methods if method.choice is not None}
    # The histogram is for Gaussian noise, which tests hold to its (ε, δ) by enumeration.
    assert {choice for _, choice in chosen} == set(CHOICES) - {"histogram"}
    assert {rule for rule, _ in chosen} == named - {"declared"}
    assert len(NAMES) == len(set(NAMES))
    assert set(SHAPES) <= set(NAMES)


def test_auto_is_attacked_as_each_kind_of_request_has_it() -> None:
    cases = list(cases_of(AUTO, ONE))
    assert all(isinstance(case.request.method.rule, Auto) for case in cases)
    assert all(case.part is None and case.claim == ONE for case in cases)
    rules = [case.request.method.rule for case in cases]
    assert {rule.aim for rule in rules} == set(AIMS)
    assert {rule.repeats for rule in rules} == {True, False}
    contexts = [case.request.domain.contexts_size for case in cases]
    kinds = {
        (number > 1, bool(rule.per_user)) for number, rule in zip(contexts, rules, strict=True)
    }
    assert kinds == {(False, False), (True, False), (True, True)}


@pytest.mark.parametrize("name", ["auto/filter", "auto+rank", "auto/dyadic"])
def test_what_auto_finds_itself_is_not_named_beside_it(name: str) -> None:
    with pytest.raises(UsageError, match="auto finds its bound, its transform and its publishing"):
        list(cases_of(name, ONE))


def test_crowds_lead_auto_through_its_steps() -> None:
    """Which steps an attack sees: without one of these a fault of that step would stay unseen."""
    seen = set()
    for case in cases_of(AUTO, ONE):
        pair = pairs_of(case.request)[-1]
        with Shared() as shared:
            rehearsal = shared.rehearsal(case, pair.database(with_user=True))
            released = rehearsal.run(0, SilentDraws())
        course = released.course
        assert course is not None
        assert course.spent <= 1
        seen |= {step.name for step in course.taken if step.cost}
    assert seen >= {"sizes", "items", "bins", "head", "contexts", "split_head", "head_rows"}


def test_every_kind_of_charged_part_is_attacked_alone() -> None:
    cases = [case for name in NAMES for case in cases_of(name, ONE)]
    alone = {case.part for case in cases} - {None}
    assert alone == {"choose", "popularity", "items", "edges", "total"}
    for case in cases:
        assert case.part is None or case.part in charged_parts(case.request)
        share = case.request.shares.get(case.part, 1) if case.part else 1
        times = LARGE_CHOICE if case.part == "choose" else 1
        assert case.claim.value == times * share, case.name


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_neighbours_and_hold_records_of_the_domain(name: str) -> None:
    for case in cases_of(name, ONE):
        pairs = pairs_of(case.request)
        assert pairs
        assert len({pair.words for pair in pairs}) == len(pairs)
        for pair in pairs:
            assert {record.user for record in pair.hers} == {HER}
            assert HER not in {record.user for record in pair.others}
            assert pair.database(with_user=True) == pair.others + pair.hers
            assert pair.database(with_user=False) == pair.others
            if case.request.domain is not None:
                for record in (*pair.others, *pair.hers):
                    case.request.domain.cell(record.cell)


def test_pairs_reach_the_bound_exactly_and_go_over_it() -> None:
    sizes = {len(pair.hers) for pair in pairs_of(whole("sra").request)}
    assert {2, 3} <= sizes
    changes = {_change(whole("contexts"), pair) for pair in pairs_of(whole("contexts").request)}
    assert max(changes) == (2, 2), "no pair moves both tables by the whole bound"
    assert _change(whole("quantity"), pairs_of(whole("quantity").request)[0]) == (4, 4)
    assert _change(whole("rows"), pairs_of(whole("rows").request)[0]) == (1, 1)
    rows = {_change(whole("dpsense"), pair)[0] for pair in pairs_of(whole("dpsense").request)}
    assert max(rows) == 2 * 2**20


def _change(case: Case, pair: Pair) -> tuple[int, ...]:
    """What she changes in each table, in L1, without noise."""
    found = []
    for with_user in (True, False):
        with DuckDBEngine() as engine:
            request = on_records(case.request, pair.database(with_user=with_user))
            found.append(Rehearsal(request, engine).run(0, SilentDraws()).tables)
    sides = zip(*found, strict=True)
    return tuple(int(np.abs(a.values - b.values).sum()) for a, b in sides)


def test_the_two_databases_are_two_and_each_run_has_noise_of_its_own() -> None:
    case = whole("sra")
    with Shared() as shared:
        quiet = Attack(case, pairs_of(case.request)[0], shared, SilentDraws).runs(2)
        runs = Attack(case, pairs_of(case.request)[0], shared).runs(40)
    assert quiet.with_user[:, 0].tolist() == [2, 2]
    assert quiet.without[:, 0].tolist() == [0, 0]
    assert len({tuple(row) for row in runs.without.tolist()}) > 10


def test_a_part_sees_what_it_released_and_nothing_else() -> None:
    for case in cases_of("hpa", ONE):
        if case.part is None:
            continue
        with Shared() as shared:
            one = Attack(case, pairs_of(case.request)[0], shared, SilentDraws)
            one.runs(1)
        assert {name.split("[")[0] for name in one.names} == {case.part}


def test_made_up_records_may_have_columns_of_any_name() -> None:
    import pyarrow as pa

    import crowdtally as ct
    from crowdtally.curator.request.request import make_request

    records = ct.read(pa.table({}), user="who", item="USER", contexts=["quantity"])
    domain = ct.Domain([3, 5], {"quantity": ["x"]}, item="USER")
    request = on_records(
        make_request(records, domain, epsilon=1, max_records=10),
        [Record(HER, (1, 0)), Record(1, (0, 0))],
    )
    with DuckDBEngine() as engine:
        items, _ = Rehearsal(request, engine).run(0, SilentDraws()).tables
    assert items.values.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sraa", "Did you mean 'sra'"),
        ("discovry", "Did you mean 'discovery'"),
        ("sra/sketch/filter", "sra/sketch/filter is not offered"),
        ("sra+dpsense", "--choose rank"),
        ("sra+rnk", "Did you mean 'rank'"),
        ("sra/nono", "after the bounding come"),
    ],
)
def test_what_is_not_offered_is_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("+", r"\+")):
        list(cases_of(name, ONE))
