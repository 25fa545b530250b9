"""Attacks on requests: neighbouring databases, and the cases that are tried."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.bounding.scaling import AIMS, Auto
from crowdtally.curator.methods.auto import outcome_of
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.request import make_request
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError
from crowdtally.lab.auditing import attack
from crowdtally.lab.auditing.cases import (
    LARGE_CHOICE,
    SHAPES,
    Case,
    cases_of,
    charged_parts,
    every_name,
)
from crowdtally.lab.auditing.certify import ABOUT, NOTHING, WITHIN_DELTA, Audit, Row
from crowdtally.lab.auditing.databases import HER, Pair, Record, on_records, pairs_of
from crowdtally.lab.auditing.run import Attack, Shared
from crowdtally.lab.methods import Method
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.records.duckdb import DuckDBEngine
from kit.draws import SilentDraws

# ---- How an attack is carried through: its runs, its error, what it looks at, what it writes -----


ONE = Epsilon.of(1)
DOCS = Path(__file__).parents[3] / "docs"


def row(name: str, certified: float) -> Row:
    return Row(name, 1.0, certified, 0.0, 1000, "a user alone", "an event", 1.0)


def test_held_out_runs_are_others_than_those_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    right = attack.certify

    def watching(training: Any, held_out: Any, *rest: Any, **given: Any) -> Any:
        seen.extend((training, held_out))
        return right(training, held_out, *rest, **given)

    monkeypatch.setattr(attack, "certify", watching)
    (case,) = cases_of("rows", ONE)
    with Shared() as shared:
        one = Attack(case, pairs_of(case.request)[0], shared)
        found = attack.carried_through(one, one.runs(100), 150, 1e-3)
    training, held_out = seen
    assert found.runs == len(held_out.with_user) == len(held_out.without) == 150
    assert training.with_user.tolist() != held_out.with_user[:100].tolist()
    assert held_out.with_user.tolist() != held_out.without.tolist()


def test_auto_is_attacked_as_a_whole_and_keeps_its_claim() -> None:
    case = next(iter(cases_of("auto", ONE)))
    (pair,) = [one for one in pairs_of(case.request) if one.words == "a user alone, one record"]
    with Shared() as shared:
        one = Attack(case, pair, shared)
        found = attack.carried_through(one, one.runs(60), 60, 1e-3)
    assert found.certified <= found.claim == 1
    tables = {name.split("[")[0] for name in one.names}
    assert {"sizes", "items", "total"} <= tables, "all tables of a run are seen"


@pytest.mark.long
def test_no_kind_of_auto_is_refuted() -> None:
    found = attack.audit_methods(["auto"], 1, 10, 2, lambda _: None)
    assert len(found.rows) == 6
    assert not found.leaks


def test_all_rows_together_err_as_rarely_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    alphas = []

    def attacked(case: Case, shared: Any, seconds: float, alpha: float) -> Row:
        alphas.append(alpha)
        return row(case.name, 0.5)

    monkeypatch.setattr(attack, "attack", attacked)
    found = attack.audit_methods(["sra", "hpa", "rows"], 1, 1, 1, lambda _: None)
    assert [one.name for one in found.rows] == [
        "sra", "sra: both tables", "sra: items", "sra: edges",
        "hpa", "hpa: both tables", "hpa: popularity", "hpa: items", "hpa: edges",
        "rows",
    ]  # fmt: skip
    assert sum(alphas) == pytest.approx(0.001)


def test_a_row_without_loss_says_why() -> None:
    silent = row("sra", 0.0)
    paid = replace(row("discovery", 0.0), delta=0.01, certified_delta=0.004)
    few = str(Audit("1", (silent,)))
    assert NOTHING in few
    assert WITHIN_DELTA not in few
    both = str(Audit("1", (paid,)))
    assert WITHIN_DELTA in both
    assert NOTHING not in both
    assert "0.01 (≥ 0.0040)" in both
    assert WITHIN_DELTA in Audit("1", (paid,)).markdown()


def test_a_row_is_made_again_where_only_its_name_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = attack._tried
    monkeypatch.setattr(attack, "_tried", lambda case: right(case)[:2])
    found = attack._attack_named((["sra: items"], "1/2", 1, 1e-3))
    assert list(found) == ["sra: items"]
    assert found["sra: items"].claim == 0.4375


@pytest.mark.long
def test_rows_go_to_several_processes_and_come_back_in_order() -> None:
    found = attack.audit_methods(["rows", "pairs"], 1, 1, 2, lambda _: None)
    assert [one.name for one in found.rows] == ["rows", "pairs", "pairs: edges"]
    assert not found.leaks


def test_the_mass_of_the_others_is_attacked_where_no_item_passes() -> None:
    case = next(one for one in cases_of("discovery", ONE) if one.part == "total")
    tried = attack._tried(case)
    assert [len(pair.others) for pair in tried] == [0, 0]
    assert case.request.discovery is not None
    assert case.request.discovery.tables[0].rule.threshold > 100


def test_a_discovery_of_many_items_has_databases_of_bounded_size() -> None:
    records = ct.read(pa.table({}), user="u", item="item")
    request = make_request(
        records,
        None,
        epsilon=1,
        delta="1e-6",
        method=ct.Discover("item", 1_000),
        noise="laplace",
    )
    pairs = pairs_of(request)
    assert max(len(pair.others) for pair in pairs) <= 100_000
    assert {len(pair.hers) for pair in pairs} == {2_000, 2_002}, "each item in two records"


def test_of_a_large_table_her_cells_are_looked_at() -> None:
    records = ct.read(pa.table({}), user="u", item="item", contexts=["day"])
    domain = ct.Domain(range(500), {"day": range(7)})
    request = make_request(records, domain, epsilon=1, method=ct.SRA(3))
    hers = Pair("her", (), (Record(HER, (123, 4)), Record(HER, (123, 5))))
    with Shared() as shared:
        one = Attack(Case("own", "own", request), hers, shared, SilentDraws)
        runs = one.runs(1)
    seen = dict(zip(one.names, runs.with_user[0].tolist(), strict=True))
    cells = {name: value for name, value in seen.items() if "[" in name}
    assert cells == {"items[123]": 2, "edges[123, 4]": 1, "edges[123, 5]": 1}


def test_a_claim_that_is_refuted_is_told_on_every_surface() -> None:
    found = Audit("1", (row("sra", 0.9), row("hpa", 1.31)), ("A remark.",))
    assert [one.name for one in found.leaks] == ["hpa"]
    said = "hpa leaks at least 1.31 where 1 is claimed: a user alone; an event."
    assert str(found).startswith(ABOUT)
    assert str(found).endswith(said)
    assert f"**{said}**" in found.markdown()
    assert [one["leaks"] for one in found.as_dict()["rows"]] == [False, True]
    assert NOTHING not in str(found)
    assert NOTHING in str(Audit("1", (row("sra", 0.0),)))


def test_the_page_of_all_methods_lists_every_one_and_none_leaks() -> None:
    page = (DOCS / "audit.md").read_text()
    listed = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")}
    names = [case.name for name in every_name() for case in cases_of(name, ONE)]
    assert listed - {"method"} == set(names), "run: crowdtally lab audit --all -o docs/audit.md"
    assert ABOUT in page
    assert "leaks at least" not in page


# ---- What an audit covers, and the databases that it makes up ------------------------------------


ONE_CASES = Epsilon(Fraction(1))
NAMES = every_name()


def whole(name: str) -> Case:
    return next(iter(cases_of(name, ONE_CASES)))


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
    cases = list(cases_of(AUTO, ONE_CASES))
    assert all(isinstance(case.request.method.rule, Auto) for case in cases)
    assert all(case.part is None and case.claim == ONE_CASES for case in cases)
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
        list(cases_of(name, ONE_CASES))


def test_pairs_lead_auto_through_its_tables() -> None:
    """Which tables an attack sees: without one of these a fault of it would stay unseen."""
    seen = set()
    for case in cases_of(AUTO, ONE_CASES):
        for pair in pairs_of(case.request)[::2]:  # nobody, a dozen records, a few
            with Shared() as shared:
                rehearsal = shared.rehearsal(case, pair.database(with_user=True))
                released = rehearsal.run(0, SilentDraws())
            seen |= {step.name for step in outcome_of(released).steps}
    assert seen == {
        "sizes", "items", "total", "edges", "contexts", "pilot_short", "pilot", "zoom", "head",
        "head_rows",
    }  # fmt: skip


def test_every_kind_of_charged_part_is_attacked_alone() -> None:
    cases = [case for name in NAMES for case in cases_of(name, ONE_CASES)]
    alone = {case.part for case in cases} - {None}
    assert alone == {"choose", "popularity", "items", "edges", "total"}
    for case in cases:
        assert case.part is None or case.part in charged_parts(case.request)
        share = case.request.shares.get(case.part, 1) if case.part else 1
        times = LARGE_CHOICE if case.part == "choose" else 1
        assert case.claim.value == times * share, case.name


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_neighbours_and_hold_records_of_the_domain(name: str) -> None:
    for case in cases_of(name, ONE_CASES):
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
    for case in cases_of("hpa", ONE_CASES):
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
        make_request(records, domain, epsilon=1, method=ct.SRA(10)),
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
        ("sra+dpsense", "unknown choose of SRA 'dpsense'"),
        ("sra+rnk", "Did you mean 'rank'"),
        ("sra/nono", "after the bounding come"),
    ],
)
def test_what_is_not_offered_is_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("+", r"\+")):
        list(cases_of(name, ONE_CASES))
