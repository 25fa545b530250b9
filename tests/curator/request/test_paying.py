"""What a release is paid for in: ε, or the ρ that ε and δ buy; and what the ledger is charged."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.method import charge_of, steps_of
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.request.table_specs import unspent_words
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.ledger import Ledger
from kit.made import made, visits

ITEMS, DAYS = ["a", "b", "c"], ["Mon", "Tue"]
ROWS = visits({("a", "Mon"): 5, ("b", "Tue"): 3}, "day")
DOMAIN = ct.Domain(ITEMS, {"day": DAYS})
USERS = {"bounding": "sra", "count": "users"}
RHO = rho_of(Fraction(1), Fraction(1, 10**9))


def asked(**options: Any) -> Request:
    records = ct.read(ROWS, user="user", item="item", contexts=["day"])
    return make_request(records, DOMAIN, **({"epsilon": 1} | options))


def laws(request: Request) -> set[type]:
    return {type(table.law) for table in request.tables}


def test_without_a_delta_noise_is_that_of_pure_epsilon() -> None:
    request = asked(max_records=100, **USERS)
    assert (request.paid.noise, request.paid.rho, request.delta) == ("laplace", None, Delta())
    assert laws(request) == {DiscreteLaplace}
    assert request.part("items") == Epsilon.of("1/2")


def test_a_delta_buys_the_smaller_noise() -> None:
    long = asked(max_records=100, delta="1e-9", **USERS)
    assert long.paid.rho == Rho(RHO)
    assert laws(long) == {GaussianNoise}
    items = long.tables[0]
    assert items.price == Rho(RHO / 2)
    assert items.law == GaussianNoise(100 / (2 * RHO / 2))
    assert delta_of(long.paid.rho.value, Fraction(1)) <= Fraction(1, 10**9)
    short = asked(max_records=1, delta="1e-9", **USERS)
    assert (short.paid.rho, short.delta) == (None, Delta())
    assert laws(short) == {DiscreteLaplace}


@pytest.mark.parametrize(
    ("noise", "law"), [("gaussian", GaussianNoise), ("laplace", DiscreteLaplace)]
)
@pytest.mark.parametrize("bound", [1, 100])
def test_noise_that_is_named_is_used(noise: str, law: type, bound: int) -> None:
    request = asked(max_records=bound, delta="1e-9", noise=noise, **USERS)
    assert laws(request) == {law}


def test_a_delta_that_is_not_spent_is_told() -> None:
    assert unspent_words(asked(max_records=100, delta="1e-9", **USERS).paid) is None
    assert unspent_words(asked(max_records=1, **USERS).paid) is None
    words = unspent_words(asked(max_records=1, delta="1e-9", **USERS).paid)
    assert words is not None
    assert "delta 1e-9 is not spent" in words


def test_more_of_one_users_records_in_a_cell_cost_their_square() -> None:
    repeated = asked(bounding="sra", max_records=7, delta="1e-9", noise="gaussian")
    assert [table.l2_squared for table in repeated.tables] == [49, 49]
    once = asked(max_records=7, delta="1e-9", noise="gaussian", **USERS)
    assert [table.l2_squared for table in once.tables] == [7, 7]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": "gaussian", "max_records": 5}, "--noise gaussian needs --delta"),
        ({"noise": "gaussian", "delta": 0}, "--noise gaussian needs --delta"),
        ({"delta": "0.2", "max_records": 5}, "a delta above 1/10 is refused: received 0.2"),
        ({"delta": 1, "max_records": 5}, "delta must be at least 0 and below 1"),
        ({"delta": "-1e-9"}, "delta must be at least 0 and below 1"),
        (
            {"delta": "1e-9", "noise": "interval", "count": "users"},
            "pure epsilon and needs no delta",
        ),
        ({"delta": "1e-9", "noise": "normal"}, "unknown --noise 'normal'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ct.UsageError, match=words):
        asked(**options)


SAMPLES = [{"publishing": "priority", "size": 3}, {"publishing": "threshold", "threshold": 9}]


@pytest.mark.parametrize("form", SAMPLES)
def test_a_sample_needs_a_cut_under_gaussian_noise(form: dict[str, Any]) -> None:
    with pytest.raises(ct.UsageError, match="can be sampled only after a cut"):
        asked(max_records=100, delta="1e-9", noise="gaussian", **USERS, **form)
    left_open = asked(max_records=100, delta="1e-9", **USERS, **form)
    assert laws(left_open) == {DiscreteLaplace}


@pytest.mark.parametrize(
    "form", [{"publishing": "filter-priority", "size": 3}, {"publishing": "filter", "cut": 4}]
)
def test_what_passes_a_filter_may_be_sampled(form: dict[str, Any], tmp_path: Path) -> None:
    release = made(
        tmp_path, ROWS, DOMAIN, max_records=50, delta="1e-9", noise="gaussian", epsilon=50,
        **USERS, **form,
    )  # fmt: skip
    assert release.metadata["tables"][1]["publishing"] == form["publishing"]
    assert "rho" in release.metadata["tables"][1]


@pytest.mark.parametrize(
    ("bounding", "choose"),
    [("sra", "rank"), ("dpsense", "rank"), ("dpsense", "dpsense"), ("dpsense-s", "dpsense")],
)
def test_choices_cost_an_eighth_of_their_square(bounding: str, choose: str) -> None:
    options: dict[str, Any] = {"scalings": "1,2"} if bounding == "dpsense-s" else {}
    request = asked(
        bounding=bounding, count="users", max_records=3, choose=choose, delta="1e-9",
        noise="gaussian", **options,
    )  # fmt: skip
    charge = charge_of(request, steps_of(request), {})
    choices = [part for part in charge.parts if part.selects]
    assert len(choices) == (1 if bounding == "sra" else 2)
    spent = sum((part.epsilon.value**2 / 8 for part in choices if part.epsilon), Fraction(0))
    share = request.part("choose").value
    assert share * (1 - Fraction(1, 10**9)) < spent <= share
    assert charge.loss.rho <= RHO
    assert charge.loss.epsilon == 0


def test_a_new_dataset_counts_by_zcdp_and_others_add_epsilon_and_delta(tmp_path: Path) -> None:
    options = {"max_records": 100, "delta": "1e-9", "domain": DOMAIN} | USERS
    domain = options.pop("domain")
    first = made(tmp_path, ROWS, domain, name="first", **options)
    assert first.metadata["charged"]["rho"] == str(Rho(RHO))
    assert first.metadata["charged"]["accountant"] == "zcdp"
    second = made(tmp_path, ROWS, domain, name="second", **options)
    after = second.metadata["charged"]["spent_after"]
    assert Fraction(after["rho"]) == 2 * RHO
    pure = made(tmp_path, ROWS, domain, name="pure", max_records=1)
    assert pure.metadata["charged"]["spent_after"]["epsilon"] == "1"
    other = tmp_path / "other"
    other.mkdir()
    made(other, ROWS, domain, name="pure", max_records=1)
    mixed = made(other, ROWS, domain, name="mixed", **options)
    charged = mixed.metadata["charged"]
    assert "rho" not in charged
    assert (charged["epsilon"], charged["delta"], charged["spent_after"]) == ("1", "1e-9", "2")
    with Ledger.open(other / "ledger.sqlite") as ledger:
        balance = ledger.balance("made")
        (part,) = ledger.charges("made")[-1].charge.parts
    assert balance.spent.delta == Fraction(1, 10**9)
    assert part.parameters["rho"] == str(Rho(RHO))


def test_the_release_says_epsilon_delta_and_rho(tmp_path: Path) -> None:
    release = made(tmp_path, ROWS, DOMAIN, max_records=100, delta="1e-9", **USERS)
    told = json.loads((tmp_path / "out" / "release.json").read_text())
    assert told["guarantee"]["rho"] == str(Rho(RHO))
    assert "(1, 1e-9)-differential privacy" in told["guarantee"]["words"]
    assert {table["rho"] for table in told["tables"]} == {str(Rho(RHO / 2))}
    assert told["tables"][0]["sensitivity_squared"] == 100
    text = " ".join(str(release.describe()).split())
    assert "δ, at most 1e-9" in text
    assert "zCDP" in text
    assert "a distance of 10 (in L2)" in text


def test_the_ledger_keeps_what_rho_was_bought_with(tmp_path: Path) -> None:
    made(tmp_path, ROWS, DOMAIN, max_records=100, delta="1e-9", **USERS)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        asked_for = ledger.charges("made")[0].asked
    assert asked_for is not None
    said = {name: asked_for.parameters[name] for name in ("noise", "epsilon", "delta")}
    assert said == {"noise": "gaussian", "epsilon": "1", "delta": "1/1000000000"}
