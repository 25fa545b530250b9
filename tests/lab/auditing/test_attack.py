"""How an attack is carried through: its runs, its error, what it looks at, what it writes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.request.request import make_request
from crowdtally.lab.auditing import attack
from crowdtally.lab.auditing.cases import Case, cases_of, every_name
from crowdtally.lab.auditing.certify import ABOUT, NOTHING, WITHIN_DELTA, Audit, Row
from crowdtally.lab.auditing.databases import HER, Pair, Record, pairs_of
from crowdtally.lab.auditing.run import Attack, Shared
from kit.silent import SilentDraws

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
    assert {"sizes", "items", "bins"} <= tables, "all tables of a run are seen"


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
        discover_items=True,
        max_records=1_000,
        noise="laplace",
    )
    pairs = pairs_of(request)
    assert max(len(pair.others) for pair in pairs) <= 100_000
    assert {len(pair.hers) for pair in pairs} == {2_000, 2_002}, "each item in two records"


def test_of_a_large_table_her_cells_are_looked_at() -> None:
    records = ct.read(pa.table({}), user="u", item="item", contexts=["day"])
    domain = ct.Domain(range(500), {"day": range(7)})
    request = make_request(records, domain, epsilon=1, max_records=3)
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
