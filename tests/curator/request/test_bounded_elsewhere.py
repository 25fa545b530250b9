"""Rows without ids of which nobody has more than L, because the publisher says so."""

from __future__ import annotations

from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.manifest import parameters, versions
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError
from crowdtally.format.load import what_counts
from crowdtally.ledger import Ledger
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.publishing import made

ROWS = pa.table({"item": ["a", "a", "b", "z"], "day": [1, 2, 2, 1], "user": [1, 1, 2, 2]})
LISTED = ct.Domain(["a", "b"])
IN_DAYS = ct.Domain(["a", "b"], {"day": [1, 2]})
BOTH = ct.Domain(attributes={"item": ["a", "b"], "day": [1, 2]})
NO_USER: dict[str, Any] = {"user": None, "bounded_to": 10}


def asked(domain: ct.Domain = LISTED, *, once: bool = False, **options: Any) -> Request:
    roles: dict[str, Any] = {"item": "item", "contexts": [axis.name for axis in domain.contexts]}
    if not domain.has_items:
        roles = {"attributes": ["item", "day"]}
    records = ct.read(ROWS, bounded_to=10, cells_once=once, **roles)
    return make_request(records, domain, **({"epsilon": 1} | options))


def bounds(request: Request) -> dict[str, tuple[int, int]]:
    """The L1 bound and the square of the L2 bound of each table, in what is published."""
    return {table.name: (table.l1_bound, table.l2_squared) for table in request.bounded}


@pytest.mark.parametrize(
    ("domain", "once", "wanted"),
    [
        (LISTED, False, {"items": (10, 100)}),
        (LISTED, True, {"items": (10, 10)}),
        (IN_DAYS, False, {"items": (10, 100), "edges": (10, 100)}),
        # Ten rows of one item, each in a context of its own, are one cell of the items' table.
        (IN_DAYS, True, {"items": (10, 100), "edges": (10, 10)}),
        (BOTH, False, {"cells": (10, 100)}),
        (BOTH, True, {"cells": (10, 10)}),
    ],
)
def test_what_one_person_changes(
    domain: ct.Domain, once: bool, wanted: dict[str, tuple[int, int]]
) -> None:
    assert bounds(asked(domain, once=once)) == wanted


def test_a_transform_uses_the_sum_alone() -> None:
    dyadic = {"transform": ct.Dyadic("day")}
    assert bounds(asked(IN_DAYS, once=True, **dyadic))["edges"] == (20, 200)


@pytest.mark.parametrize("once", [False, True])
def test_counts_carry_the_bound_that_was_charged(once: bool) -> None:
    """A table publishes no counts of another bound than its own."""
    request = asked(IN_DAYS, once=once)
    question = next(method_of(request).ask())
    with DuckDBEngine() as engine:
        reading = Reading(engine, prepare(engine, request.records, request.domain))
        read = count(question, reading)
    for table, counts in zip(request.bounded, read.found, strict=True):
        assert isinstance(table, Table)
        assert (counts.l1_bound, counts.l2_squared) == (table.l1_bound, table.l2_squared)
    assert [counts.dense().tolist() for counts in read.found] == [[2, 1], [1, 1, 0, 1]]
    assert (read.dropped.rows, read.dropped.outside) == (4, 1)


def test_the_noise_is_that_of_the_statement() -> None:
    (table,) = asked().bounded
    assert table.law.std() == pytest.approx((2 * 10**2) ** 0.5, rel=0.01)
    charge = charge_of(asked(), method_of(asked()), versions())
    assert [part.parameters["l1_bound"] for part in charge.parts] == [10]
    wide, narrow = (
        asked(once=once, noise="gaussian", delta="1e-9").bounded[0].law.std()
        for once in (False, True)
    )
    assert wide / narrow == pytest.approx(10**0.5, rel=0.01)


def test_delta_is_spent_where_cells_differ_and_that_is_the_smaller_noise() -> None:
    records = ct.read(ROWS, item="item", bounded_to=500, cells_once=True)
    assert make_request(records, LISTED, epsilon=1, delta="1e-9").paid.noise == "gaussian"
    records = ct.read(ROWS, item="item", bounded_to=500)
    assert make_request(records, LISTED, epsilon=1, delta="1e-9").paid.noise == "laplace"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": ct.SRA(5)}, "nothing says which rows are one user's"),
        ({"count": "users"}, "nothing says which rows are one user's"),
        ({"method": ct.Top(1)}, "nothing says which rows are one user's"),
        ({"noise": "interval"}, "nothing says which rows are one user's"),
        ({"method": ct.SRA()}, "no user can be sampled"),
        ({"method": ct.HPA()}, "no user can be sampled"),
        ({"method": ct.DPSense()}, "no user can be sampled"),
        ({"method": ct.SRA(choose="rank")}, "no user can be sampled"),
        ({"pairs": True}, "no user can be sampled"),
        ({"method": ct.Auto("top")}, "no user can be sampled"),
        ({"method": ct.Auto(repeats=False)}, "no user can be sampled"),
        ({"method": ct.Discover("item"), "delta": "1e-6"}, "nothing says which rows are"),
    ],
)
def test_what_needs_to_know_whose_a_row_is(
    given: dict[str, Any], words: str, tmp_path: Path
) -> None:
    records = ct.read(ROWS, item="item", bounded_to=10)
    with pytest.raises(UsageError, match=words):
        ct.release(records, LISTED, **({"epsilon": 1, "ledger": tmp_path / "l.db"} | given))
    assert not (tmp_path / "l.db").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"user": "user", "bounded_to": 3}, "use method=ct.SRA(max_records=L)"),
        ({"user_per_row": True, "bounded_to": 3}, "One of the three"),
        ({"user": "user", "user_per_row": True}, "One of the three"),
        ({}, "or bounded_to=L where nothing says whose a row is"),
        ({"bounded_to": 0}, "bounded_to must be a whole number between 1 and"),
        ({"bounded_to": True}, "bounded_to must be a whole number"),
        ({"bounded_to": 2.5}, "bounded_to must be a whole number"),
        ({"bounded_to": 2**31 + 1}, "bounded_to must be a whole number between 1 and"),
        ({"user_per_row": True, "cells_once": True}, "bounded_to=L says how many"),
        ({"user": "user", "cells_once": True}, "bounded_to=L says how many"),
        ({"bounded_to": 3, "cells_once": "yes"}, "cells_once is True or False: received a str"),
        ({"bounded_to": 3, "weight": "day"}, "about the rows of one"),
        ({"bounded_to": 3, "record_id": "day"}, "not with bounded_to"),
        ({"bounded_to": 3, "same_person": "who.csv"}, "not with bounded_to"),
        ({"bounded_to": 3, "quantity": "day", "max_quantity": 2}, "not with bounded_to"),
    ],
)
def test_statements_that_say_nothing(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        ct.read(ROWS, item="item", **given)
    assert words in str(caught.value)


def test_a_bound_on_rows_that_are_persons_is_refused_and_named() -> None:
    """It was ignored without a word: row-level noise for who meant ten rows of a person."""
    records = ct.read(ROWS, item="item", user_per_row=True)
    with pytest.raises(UsageError, match=r"there is nothing to bound.*--bounded-to L instead"):
        make_request(records, LISTED, epsilon=1, method=ct.SRA(10))


def test_too_large_a_bound_for_epsilon_names_the_statement() -> None:
    records = ct.read(ROWS, item="item", bounded_to=2**31)
    with pytest.raises(UsageError, match="lower --bounded-to, if what it states stays true"):
        make_request(records, LISTED, epsilon=Fraction(1, 2**40))


def test_the_ledger_keeps_the_statement_and_a_unit_of_its_own(tmp_path: Path) -> None:
    """Budgets of rows, users and stated bounds never add up."""
    facts = parameters(asked(once=True))
    assert (facts["bounded_to"], facts["cells_once"], facts["bounding"]) == (10, True, "stated")
    assert not {"user", "user_per_row", "max_records"} & facts.keys()
    assert "cells_once" not in parameters(asked())
    roles = {"row": {"user_per_row": True}, "user": {"user": "user"}, "stated": {"bounded_to": 3}}
    ledger = Ledger.open(tmp_path / "ledger.db", create=True)

    def charged(kind: str, dataset: str, **more: Any) -> None:
        records = ct.read(ROWS, item="item", **roles[kind])
        bound = {"method": ct.SRA(3)} if kind == "user" else {}
        ct.release(records, LISTED, epsilon=1, ledger=ledger, dataset=dataset, **bound, **more)

    for kind in roles:
        charged(kind, kind, new_dataset=True)
    for first, second in [("row", "stated"), ("stated", "row"), ("user", "stated")]:
        with pytest.raises(UsageError, match="Epsilons of different units do not add up"):
            charged(second, first)
    # The person is the unit, whatever is stated of other columns or under a condition.
    fewer = ct.read(ROWS, item="item", bounded_to=1, where="day = 1")
    ct.release(fewer, LISTED, epsilon=1, ledger=ledger, dataset="stated")
    assert ledger.balance("stated").spent.epsilon == 2
    assert ledger.balance("stated").unit.key == "bounded-elsewhere"  # type: ignore[union-attr]


@pytest.mark.parametrize("once", [False, True])
def test_the_release_says_that_the_statement_is_not_checked(once: bool, tmp_path: Path) -> None:
    roles = NO_USER | {"cells_once": once}
    release = made(tmp_path, ROWS, IN_DAYS, roles=roles)
    facts = release.metadata
    words = facts["guarantee"]["words"]
    assert "which is not checked: that no person has more than 10 rows" in words
    assert ("nor two in one cell" in words) == once
    assert "the publisher's statement, which is not checked" in facts["guarantee"]["neighbours"]
    assert facts["guarantee"]["unit"] == {"kind": "bounded-elsewhere", "column": None}
    assert facts["records"]["bounded"] == {"to": 10, "cells_once": once}
    assert (facts["counted"], facts["method"]["bounding"]) == ("records", "stated")
    assert facts["method"]["bounds"]["items"]["bound"] == 10
    assert [table["sensitivity"] for table in facts["tables"]] == [10, 10]
    told = " ".join(str(release.describe()).split())
    assert told.count("That nobody has more than 10 rows") == 3  # from whom, how, and uncovered
    assert told.count("is the publisher's statement: the program cannot check it") == 3
    assert told.count("no two of them in one cell") == (3 if once else 0)
    assert "per person" in repr(release)
    counted = what_counts(release._published, release._published.tables[0]).words()
    assert "nobody has more than 10 of them is the publisher's statement" in counted


def test_the_report_says_so_too(tmp_path: Path) -> None:
    release = made(tmp_path, ROWS, IN_DAYS, roles=NO_USER)
    release.report(tmp_path / "report.html")
    page = unescape(" ".join((tmp_path / "report.html").read_text(encoding="utf-8").split()))
    assert page.count("That nobody has more than 10 rows is the publisher's statement") >= 3
    assert "Who bounded the rows of each person before they reached the curator" in page


def test_the_plan_says_so_too() -> None:
    told = str(make_plan(asked(IN_DAYS)))
    assert "nobody has more than 10 of them is the publisher's statement, not checked" in told
    assert "sensitivity 10" in told
    # Nothing is cut, so there is nothing to weigh against the noise.
    assert make_plan(asked(), guess_users=100, guess_records=1000).trade is None


def test_joined_rows_and_derived_contexts_stay_as_many(tmp_path: Path) -> None:
    """A look-up finds one partner, or none: nobody's ten rows become eleven."""
    kinds = pa.table({"item": ["a", "b"], "kind": ["x", "y"]})
    records = ct.read(
        ROWS, bounded_to=2, item="kind", joins=[(kinds, "item")], where="day < 2 OR item = 'b'",
        types={"day": "int64"},
    )  # fmt: skip
    with DuckDBEngine() as engine:
        request = make_request(records, ct.Domain(["x", "y"], item="kind"), epsilon=1)
        question = next(method_of(request).ask())
        prepared = prepare(engine, request.records, request.domain)
        read = count(question, Reading(engine, prepared))
    assert read.found[0].dense().tolist() == [1, 1]


def test_the_unit_that_was_charged_is_named_as_it_is_typed(tmp_path: Path) -> None:
    """In Python: as parameters, and not as the words of a command line."""
    domain, ledger = ct.Domain(["a", "b"], item="item"), tmp_path / "ledger.sqlite"
    made = {"epsilon": 1, "ledger": ledger, "dataset": "d"}
    people = ROWS.append_column("Who", [list(range(len(ROWS)))])
    ct.release(ct.read(people, user=["Who", "day"], item="item"), domain, method=ct.SRA(1),
               new_dataset=True, **made)  # type: ignore[arg-type]  # fmt: skip
    with pytest.raises(ct.UsageError, match=r"type user=\['Who', 'day'\]\. Epsilons"):
        ct.release(ct.read(ROWS, bounded_to=2, item="item"), domain, **made)  # type: ignore[arg-type]
