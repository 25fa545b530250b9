"""``ledger`` for datasets that count by zCDP: made, limited, shown, and refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.ledger import Charge, Ledger, Part
from kit.command import crowdtally

UNIT = PrivacyUnit("user", "driver")
LIMIT = ("--epsilon", "1", "--delta", "1e-9", "--accountant", "zcdp")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    where = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(where))
    return where


def spend(path: Path, dataset: str, delta: object = 0) -> None:
    parts = [
        Part("items", None, "discrete-gaussian", {}, Delta.of(delta), rho=Rho.of("0.003")),
        Part("bound", Epsilon.of("0.1"), "exponential", selects=True),
        Part("popularity", Epsilon.of("0.05"), "discrete-laplace"),
    ]
    Ledger.open(path).reserve(dataset, UNIT, Charge.by_rho("release-1", parts))


def shown(*arguments: str) -> Any:
    return json.loads(crowdtally("ledger", "show", *arguments, "--json").out)["datasets"][0]


def test_an_epsilon_delta_budget(path: Path) -> None:
    made = crowdtally("ledger", "create", "taxi", *LIMIT, "--each", "0.9")
    assert made.code == 0, str(made)
    assert "remaining ρ = 0.0149730576735, or else pure ε = 1." in made.out
    assert "A single release may cost ε = 0.9, δ = 1e-9." in made.out
    spend(path, "taxi")
    told = " ".join(crowdtally("ledger", "show").out.split())
    assert "spent so far ε = 0.593578966617, δ = 1e-9 (ρ = 0.00425, pure ε = 0.05) of" in told
    assert "remaining ρ = 0.0094730576735, or else pure ε = 0.137644888561." in told
    assert "accountant: zcdp" in told
    assert "epsilon 0.05 rho 0.00425 reserved" in told
    facts = shown("taxi")
    assert facts["accountant"] == "zcdp"
    assert facts["spent"] == {
        "epsilon": "1/20", "delta": "0", "rho": "17/4000", "pure_rho": "1/800"
    }  # fmt: skip
    assert facts["reported"] == {"epsilon": "593578966617/1000000000000", "delta": "1/1000000000"}
    assert facts["remaining"]["rho"] == "18946115347/2000000000000"
    assert facts["charges"][0]["rho"] == "17/4000"
    groups = crowdtally("ledger", "show", "--by", "unit").out
    assert "ε = 0.05, ρ = 0.00425, 1 charge: user:driver" in groups
    assert crowdtally("ledger", "verify").code == 0


def test_a_budget_of_rho(path: Path) -> None:
    made = crowdtally("ledger", "create", "taxi", "--rho", "0.01", "--delta", "1e-9")
    assert "spent so far ρ = 0 of ρ = 0.01, δ = 1e-9; remaining ρ = 0.01, or" in made.out
    spend(path, "taxi", "1e-10")
    told = crowdtally("ledger", "show", "taxi").out.replace("\n", " ")
    assert "spent so far ρ = 0.0055, δ = 1e-10 (ρ = 0.00425, pure ε = 0.05," in told
    less = crowdtally("ledger", "limit", "taxi", "--rho", "0.006", "--reason", "decided")
    assert "of ρ = 0.006; remaining ρ = 0.0005" in less.out
    limits = crowdtally("ledger", "limit", "taxi", "--each-rho", "0.001", "--reason", "decided")
    assert "A single release may cost ρ = 0.001." in limits.out
    other = crowdtally("ledger", "limit", "taxi", *LIMIT[:4], "--reason", "decided")
    assert other.code == 2
    assert "give --rho R --delta D in place of --epsilon" in other.err
    assert "ρ = 0.01, δ = 1e-9 → ρ = 0.006" in crowdtally("ledger", "show").out
    assert crowdtally("ledger", "verify").code == 0


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("--epsilon", "1", "--accountant", "zcdp"), "needs a delta above 0"),
        (("--epsilon", "1", "--delta", "0", "--accountant", "zcdp"), "needs a delta above 0"),
        (("--epsilon", "1", "--delta", "1", "--accountant", "zcdp"), "below 1: received 1"),
        (("--epsilon", "1", "--delta", "0.11", "--accountant", "zcdp"), "one person in ten"),
        (("--epsilon", "1", "--rho", "1"), "received both"),
        (("--rho", "1", "--accountant", "sequential"), "rho does not add to them"),
        (("--rho", "0"), "rho must be greater than 0"),
        (("--rho", "much"), "rho must be an exact finite number"),
        (("--rho", "1", "--each", "1"), "needs a delta above 0"),
        (("--epsilon", "1", "--each-rho", "1", "--accountant", "sequential"), "rho does not add"),
        (("--epsilon", "1", "--delta", "1e-9", "--accountant", "renyi"), "sequential or zcdp"),
        (("--accountant", "zcdp"), "--epsilon E"),
        (("--delta", "1e-9", "--accountant", "zcdp"), "needs one on epsilon"),
    ],
)
def test_slips_leave_nothing_behind(path: Path, typed: tuple[str, ...], words: str) -> None:
    ended = crowdtally("ledger", "create", "taxi", *typed)
    assert ended.code in {1, 2}, str(ended)  # 1 where there is no ledger to look a limit up in
    assert words in ended.err or "there is no ledger" in ended.err
    assert not path.exists()
    crowdtally("ledger", "create", "other", "--epsilon", "1")
    before = path.read_bytes()
    again = crowdtally("ledger", "create", "taxi", *typed)
    assert (again.code, words in again.err) == (2, True), str(again)
    assert path.read_bytes() == before


def test_rho_for_a_pure_dataset(path: Path) -> None:
    crowdtally("ledger", "create", "taxi", "--epsilon", "1")
    before = path.read_bytes()
    for typed in (("--rho", "0.1"), ("--each-rho", "0.1")):
        ended = crowdtally("ledger", "limit", "taxi", *typed, "--reason", "why")
        assert ended.code == 2
        assert "--epsilon E --delta D --accountant zcdp" in ended.err
    assert path.read_bytes() == before


def test_a_release_says_all_that_was_spent(path: Path, tmp_path: Path) -> None:
    """ε and ρ each by itself: neither is the other."""
    records = tmp_path / "trips.csv"
    records.write_text("driver,place\n1,a\n2,b\n")
    (tmp_path / "places.csv").write_text("place\na\nb\n")
    crowdtally("ledger", "create", "taxi", "--epsilon", "9", "--delta", "1e-9", *LIMIT[4:])
    typed = (
        "release", str(records), "--user", "driver", "--item", "place", "--items",
        str(tmp_path / "places.csv"), "--epsilon", "1/2", "--dataset", "taxi", "--max-records", "1",
    )  # fmt: skip
    first = crowdtally(*typed, "-o", str(tmp_path / "one"))
    assert first.code == 0, str(first)
    charged = json.loads((tmp_path / "one" / "release.json").read_text())["charged"]
    nothing = {"epsilon": "0", "delta": "0", "rho": "0", "pure_rho": "0"}
    assert charged["spent_before"] == nothing
    assert charged["spent_after"] == nothing | {"epsilon": "0.5", "pure_rho": "0.125"}
    spend_unit = PrivacyUnit("user", "driver")
    noise = Part("items", None, "discrete-gaussian", rho=Rho.of("0.003"))
    Ledger.open(path).reserve("taxi", spend_unit, Charge.by_rho("release-1", [noise]))
    second = crowdtally(*typed, "-o", str(tmp_path / "two"))
    assert second.code == 0, str(second)
    charged = json.loads((tmp_path / "two" / "release.json").read_text())["charged"]
    assert charged["spent_before"] == nothing | {
        "epsilon": "0.5", "rho": "0.003", "pure_rho": "0.125"
    }  # fmt: skip
    assert charged["spent_after"] == nothing | {"epsilon": "1", "rho": "0.003", "pure_rho": "0.25"}
    assert charged["limit"] == nothing | {"epsilon": "9", "delta": "1e-9"}
