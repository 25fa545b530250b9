"""Datasets that count by zCDP on a server: its functions judge as the client does."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import psycopg
import pytest

from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.ledger import Charge, LedgerError, OverBudgetError, Part
from kit.ledger_roles import Forged, Team, a_charge, team
from kit.ledgers import SHA, USER, charge

__all__ = ["team"]


TABLE = Part("items", None, "discrete-gaussian", rho=Rho.of("0.002"))
FOUND = Part("items", None, "discrete-gaussian", {}, Delta.of("1e-10"), rho=Rho.of("0.002"))
BOUND = Part("bound", Epsilon.of("0.02"), "exponential", selects=True)
PURE = Part("popularity", Epsilon.of("0.1"), "discrete-laplace")


def _private(connection: Any, rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    pairs = [[value.numerator, value.denominator] for value in (rho, epsilon, delta)]
    row = connection.execute(
        "SELECT crowdtally_private(%s::numeric[], %s::numeric[], %s::numeric[])", pairs
    ).fetchone()
    return bool(row[0])


def test_from_a_first_charge_to_a_void(team: Team) -> None:
    with team.open("officer") as officers:
        officers.create("gauss", epsilon=1, delta="1e-9", accountant="zcdp", each_rho="0.01")
        officers.create("rho", rho="0.1", delta="1e-9")
    with team.open("ana") as books:
        first = books.reserve("gauss", USER, Charge.by_rho("r1", [TABLE, BOUND, PURE]))
        books.start_drawing(first.id)
        books.mark_published(first.id, SHA)
        second = books.reserve("gauss", USER, charge("0.05"))
        books.reserve("rho", USER, Charge.by_rho("r2", [FOUND, BOUND, PURE]))
        selecting = Charge("r3", Epsilon.of("0.1"), (BOUND,))
        books.reserve("other", USER, selecting)  # pure: a selection costs its ε
        books.reserve("gauss", USER, selecting)
        with pytest.raises(LedgerError):
            books.void(second.id, "nothing left")
    with team.open("officer") as officers:
        before = officers.balance("gauss").spent
        after = officers.void(second.id, "nothing left").spent
        assert (before - after).epsilon == Fraction(1, 20)
        assert (before - after).pure_rho == Fraction(1, 800)
        assert officers.verify().ok


def test_what_remains_fits_on_the_server_and_more_does_not(team: Team) -> None:
    with team.open("officer") as officers:
        officers.create("gauss", epsilon=1, delta="1e-9", accountant="zcdp")
    with team.open("ana") as books:
        books.reserve("gauss", USER, Charge.by_rho("r1", [TABLE, BOUND, PURE]))
        left = books.balance("gauss").remaining
        assert left is not None
        rest = Part("items", None, "discrete-gaussian", rho=Rho(left.rho))
        with pytest.raises(OverBudgetError):
            books.reserve("gauss", USER, Charge.by_rho("r", [rest, PURE]))
        books.reserve("gauss", USER, Charge.by_rho("r2", [rest]))
        assert books.verify().ok


def test_its_bound_is_the_clients(team: Team) -> None:
    """Just within δ it holds; a billionth beyond, it does not."""
    drawn = random.Random(13)
    with psycopg.connect(team.url("owner")) as connection:
        for _ in range(60):
            rho = Fraction(drawn.randint(1, 1000), 10 ** drawn.randint(1, 8))
            epsilon = rho + Fraction(drawn.randint(-900, 9000), 1000) * rho**0.5
            epsilon = max(Fraction(epsilon).limit_denominator(10**6), Fraction(0))
            delta = delta_of(rho, epsilon)
            if Fraction(1, 10**300) < delta < Fraction(99, 100):
                assert _private(connection, rho, epsilon, delta)
                assert not _private(connection, rho, epsilon, delta * (1 - Fraction(1, 10**9)))
        granted = rho_of(Fraction(1), Fraction(1, 10**9))
        assert _private(connection, granted, Fraction(1), Fraction(1, 10**9))
        more = granted * Fraction(100001, 10**5)
        assert not _private(connection, more, Fraction(1), Fraction(1, 10**9))
        assert not _private(connection, Fraction(1000), Fraction(1), Fraction(1, 10))
        assert not _private(connection, Fraction(1), Fraction(-1), Fraction(1, 10))
        assert not _private(connection, Fraction(1), Fraction(1), Fraction(0))
        assert _private(connection, Fraction(0), Fraction(0), Fraction(0))


PART = {
    "name": "items", "epsilon": "0", "delta": "0", "rho": "1/1000", "selects": False,
    "mechanism": "discrete-gaussian", "parameters": {},
}  # fmt: skip
GAUSSIAN = {"version": 4, "epsilon": "0", "rho": "1/1000", "parts": [PART]}
Change = Callable[[Forged], object]


def _spent(**spent: str) -> Change:
    return lambda forged: forged.body["balance"].update(
        spent={"epsilon": "0", "delta": "0", **spent}
    )


RIGHT = _spent(rho="1/1000")
FORGERIES: dict[str, tuple[dict[str, Any], Change, str]] = {
    "half of the rho": (GAUSSIAN, _spent(rho="1/2000"), "not the sum before it"),
    "no rho at all": (GAUSSIAN, _spent(), "not the sum before it"),
    "rho as pure rho": (GAUSSIAN, _spent(pure_rho="1/1000"), "not the sum before it"),
    "a zero in the sum": (GAUSSIAN, _spent(rho="1/1000", pure_rho="0"), "not the sum before it"),
    "a part left out of the total": (
        {**GAUSSIAN, "parts": [PART, {**PART, "rho": "1/500"}]}, RIGHT, "more than it states",
    ),
    "beyond the limit": (
        {**GAUSSIAN, "rho": "1", "parts": [{**PART, "rho": "1"}]}, _spent(rho="1"), "does not fit",
    ),
    "beyond the limit by delta": (
        {**GAUSSIAN, "delta": "1/1000000000", "parts": [{**PART, "delta": "1/1000000000"}]},
        _spent(rho="1/1000", delta="1/1000000000"), "does not fit",
    ),
    "delta of one of two tables": (
        {**GAUSSIAN, "rho": "1/500", "delta": "1/100000000000",
         "parts": [{**PART, "delta": "1/100000000000"}] * 2},
        _spent(rho="1/500", delta="1/100000000000"), "more than it states",
    ),
    "a delta beside epsilon and delta": (
        {**GAUSSIAN, "delta": "1/100000000000", "parts": [{**PART, "delta": "1/100000000000"}]},
        _spent(rho="1/1000", delta="1/100000000000"), "does not fit",
    ),
    "pure epsilon taken off first": (
        {"version": 4, "epsilon": "1/2", "rho": "1/1000", "parts": [
            {**PART, "rho": "0", "epsilon": "1/2"}, PART]},
        _spent(epsilon="1/2", rho="1/1000", pure_rho="1/8"), "does not fit",
    ),
    "pure epsilon in the room that rho left": (
        {"version": 4, "epsilon": "9/10", "rho": "1/100", "parts": [
            {**PART, "rho": "0", "epsilon": "9/10"}, {**PART, "rho": "1/100"}]},
        _spent(epsilon="9/10", rho="1/100", pure_rho="81/200"), "does not fit",
    ),
    "a selection too cheap": (
        {**GAUSSIAN, "rho": "1/10000", "parts": [
            {**PART, "rho": "0", "epsilon": "1/10", "selects": True}]},
        _spent(rho="1/10000"), "more than it states",
    ),
    "pure epsilon added to rho": (
        {"epsilon": "1/1000", "parts": [{**a_charge()["parts"][0], "epsilon": "1/1000"}]},
        _spent(rho="1/1000"), "not the sum before it",
    ),
    "a selection with a delta": (
        {**GAUSSIAN, "parts": [{**PART, "rho": "0", "epsilon": "1/10", "selects": True,
                                "delta": "1/1000000000000"}]},
        RIGHT, "lacks a field",
    ),
    "both epsilon and rho": ({**GAUSSIAN, "parts": [{**PART, "epsilon": "1"}]}, RIGHT, "lacks a"),
    "neither epsilon nor rho": ({**GAUSSIAN, "parts": [{**PART, "rho": "0"}]}, RIGHT, "lacks a"),
    "selects as a text": ({**GAUSSIAN, "parts": [{**PART, "selects": "no"}]}, RIGHT, "lacks a"),
    "version 3": ({**GAUSSIAN, "version": 3}, RIGHT, "lacks a field"),
    "a part of rho without a total": (
        {"rho": "0", "epsilon": "1/1000", "parts": [PART]}, RIGHT, "states no rho",
    ),
    "a negative rho": ({**GAUSSIAN, "rho": "-1/1000"}, RIGHT, "an amount is"),
    "another accountant": (
        GAUSSIAN,
        lambda forged: (RIGHT(forged), forged.body["balance"].update(accountant="sequential")),
        "limits after the entry are not those before it",
    ),
}  # fmt: skip


def test_forged_charges_are_refused(team: Team) -> None:
    with team.open("officer") as officers:
        officers.create("gauss", USER, epsilon=1, delta="1e-9", accountant="zcdp")
        head = officers.head()
    statement = "SELECT crowdtally_append(%s, %s, %s, %s, %s, %s, %s)"
    for event, change, words in FORGERIES.values():
        with psycopg.connect(team.url("ana")) as connection:
            forged = Forged.of(connection, a_charge(**event), dataset="gauss")
            change(forged)
            with pytest.raises(psycopg.Error, match=words):
                connection.execute(statement, forged.values())
    with psycopg.connect(team.url("ana")) as connection:
        honest = Forged.of(connection, a_charge(**GAUSSIAN), dataset="gauss")
        RIGHT(honest)
        connection.execute(statement, honest.values())
        connection.rollback()
        rho_on_pure = Forged.of(connection, a_charge(**GAUSSIAN), dataset="other")
        RIGHT(rho_on_pure)
        with pytest.raises(psycopg.Error, match="cannot take a rho"):
            connection.execute(statement, rho_on_pure.values())
    with team.open("officer") as officers:
        assert officers.head() == head
        assert officers.verify().ok


def test_functions_of_another_version_take_nothing(team: Team) -> None:
    with psycopg.connect(team.url("owner")) as connection:
        signature = "crowdtally_append(bigint, text, text, bigint, text, text, text)"
        connection.execute(f"COMMENT ON FUNCTION {signature} IS NULL")
    for name in ("ana", "owner"):
        with team.open(name) as books, pytest.raises(LedgerError, match="of another version"):
            books.reserve("data", USER, charge("0.1"))
    with team.open("ana") as books:
        assert books.verify().ok
