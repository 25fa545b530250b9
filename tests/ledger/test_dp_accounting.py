"""Google's dp-accounting adds up the same histories: its RDP accountant, over dense orders."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.laws.conversion import epsilon_of
from crowdtally.ledger import Charge, Ledger, Part, ZeroConcentrated
from crowdtally.ledger.accountants import delta_at
from kit.ledgers import USER, publish

DELTAS = [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 10**12)]


@pytest.fixture(scope="module")
def dp() -> Any:
    return pytest.importorskip("dp_accounting", reason="part of crowdtally[test]")


def accountant(dp: Any, orders: int) -> Any:
    return dp.rdp.RdpAccountant(1 + np.geomspace(0.0101, 1e6, orders))


def history(generator: np.random.Generator) -> list[Part]:
    """Up to twelve mechanisms of ρ, small and large, a selection among them."""
    found = []
    for place in range(generator.integers(1, 13)):
        size = Fraction(int(generator.integers(1, 1000)), 10 ** int(generator.integers(4, 8)))
        if generator.random() < 0.2:
            found.append(Part(str(place), Epsilon(10 * size), "exponential", selects=True))
        else:
            found.append(Part(str(place), None, "discrete-gaussian", rho=Rho(size)))
    return found


def event(dp: Any, part: Part) -> Any:
    rho = part.rho.value if part.rho is not None else part.loss.epsilon**2 / 8
    return dp.ZCDpEvent(float(rho))


def compare(dp: Any, histories: int, orders: int, rounding: float) -> None:
    """Ours is the least over all orders, theirs over a grid: never more, and hardly less."""
    generator = np.random.default_rng(13)
    for number in range(histories):
        parts, delta = history(generator), DELTAS[number % 3]
        spent = ZeroConcentrated().cost(Charge.by_rho("r", parts))
        other = accountant(dp, orders)
        for part in parts:
            other.compose(event(dp, part))
        ours = epsilon_of(spent.rho, delta)
        theirs = other.get_epsilon(float(delta))
        assert theirs * (1 - rounding) <= float(ours) <= theirs * 1.01
        if number % 4:
            continue
        at = ours * Fraction(int(generator.integers(50, 150)), 100)
        ours, theirs = delta_at(spent, at), other.get_delta(float(at))
        assert theirs * (1 - 100 * rounding) <= float(ours) <= theirs * 1.01


def test_a_thousand_histories(dp: Any) -> None:
    compare(dp, 1000, 2000, 1e-4)


@pytest.mark.long
def test_over_orders_so_dense_that_only_rounding_is_left(dp: Any) -> None:
    compare(dp, 1000, 20_000, 1e-6)


# --- a ledger, from what it exports -------------------------------------------------------------


def exported(export: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """By dataset, the charges that stand: from the export alone, by its documented fields."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for entry in export["entries"]:
        content, name = entry["content"], entry["content"]["dataset"]
        event = content["event"]
        if event["kind"] == "reserved":
            found[name][f"{content['number']}-{entry['hash'][:8]}"] = event
        elif event["kind"] == "voided":
            del found[name][event["reservation"]]
    return found


def rechecked(dp: Any, part: dict[str, Any]) -> Any:
    """The event of dp-accounting for a part: noise by what was recorded of it."""
    epsilon = float(Fraction(part["epsilon"]))
    if part.get("selects"):
        return dp.ZCDpEvent(epsilon**2 / 8)
    if part["mechanism"] == "discrete-gaussian":
        said = part["parameters"]
        multiplier = sqrt(Fraction(said["sigma2"]) / Fraction(said["l2_squared"]))
        return dp.GaussianDpEvent(multiplier)
    return dp.ZCDpEvent(epsilon**2 / 2)


def test_an_exported_ledger_is_rechecked(dp: Any, tmp_path: Path) -> None:
    books = Ledger.open(tmp_path / "ledger.sqlite", create=True)
    books.create("d", rho="0.2", delta="1e-10")
    noise = {"sigma2": 3200, "l2_squared": 10}
    shares = [f"1/{n}" for n in range(40, 80)]
    for number, share in enumerate(shares):
        parts = [
            Part("items", None, "discrete-gaussian", noise, Delta.of("1e-12"), rho=Rho.of("1/640")),
            Part("bound", Epsilon.of("0.02"), "exponential", selects=True),
            Part("popularity", Epsilon.of(share), "discrete-laplace"),
        ]
        if number % 5:
            parts.pop(0)
        made = books.reserve("d", USER, Charge.by_rho(f"release-{number}", parts))
        if number % 7 == 3:
            books.void(made.id, "nothing left the machine")
        else:
            publish(books, made.id)
    export = json.loads(json.dumps(books.export()))
    stands = exported(export)["d"]
    other, delta_2 = accountant(dp, 4000), Fraction(0)
    for charge in stands.values():
        delta_2 += Fraction(charge["delta"])
        for part in charge["parts"]:
            other.compose(rechecked(dp, part))
    balance = books.balance("d")
    assert len(stands) == len(shares) - 6
    assert delta_2 == balance.spent.delta > 0
    theirs = other.get_epsilon(1e-9)
    ours = epsilon_of(balance.reported.rho, Fraction(1, 10**9))
    assert float(ours) == pytest.approx(theirs, rel=1e-5)
    last = export["entries"][-1]["content"]["balance"]
    assert Fraction(last["spent"]["rho"]) == balance.spent.rho
    assert Fraction(last["spent"]["pure_rho"]) == balance.spent.pure_rho
