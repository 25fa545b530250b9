"""``--bounding dpsense --norm l2``: what it makes, and what does not go with it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Rho
from crowdtally.curator.bounding.scaling import GRID, DPSenseL2
from crowdtally.curator.manifest import parameters
from crowdtally.curator.request.request import Request, make_request, make_subject
from crowdtally.errors import UsageError

ROWS = pa.table({"user": [1, 1, 2], "item": ["a", "b", "a"], "day": ["x", "y", "x"]})
DOMAIN = ct.Domain(["a", "b", "c", "d", "e"], {"day": ["x", "y"]})
NORM = {"bounding": "dpsense", "norm": "l2", "count": "users", "max_records": 3}


def asked(**options: Any) -> Request:
    records = ct.read(ROWS, user="user", item="item", contexts=["day"])
    return make_request(records, DOMAIN, **({"epsilon": 1, "delta": "1e-9"} | NORM | options))


def test_it_is_paid_for_in_rho_and_bounded_in_l2() -> None:
    made = asked()
    assert isinstance(made.method.rule, DPSenseL2)
    assert made.paid.noise == "gaussian"
    for table in made.bounded:
        assert isinstance(table.price, Rho)
        assert table.l2_squared == (3 * GRID) ** 2
        assert table.law.std() == pytest.approx(3 / (2 * float(table.price.value)) ** 0.5)
    assert parameters(made)["norm"] == "l2"
    assert "norm" not in parameters(asked(norm="l1", noise="gaussian"))


def test_what_there_is_to_count_needs_no_cost() -> None:
    records = ct.read(ROWS, user="user", item="item", contexts=["day"])
    assert isinstance(make_subject(records, DOMAIN, **NORM).method.rule, DPSenseL2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": 0}, "add --delta"),
        ({"noise": "laplace"}, "no --noise laplace"),
        ({"transform": "dyadic", "ordered": "day"}, "no sum is taken of rows"),
        ({"transform": "haar", "ordered": "day"}, "no sum is taken of rows"),
        ({"transform": "sketch", "buckets": 4}, "no sum is taken of rows"),
        ({"choose": "rank"}, "use --choose histogram"),
        ({"choose": "dpsense"}, "use --choose histogram"),
        ({"norm": "l1", "choose": "histogram"}, "is for --bounding dpsense --norm l2"),
        ({"bounding": "sra"}, "--norm is for --bounding dpsense"),
        ({"bounding": "dpsense-s", "scalings": "1.2"}, "--norm is for --bounding dpsense"),
        ({"bounding": "auto", "max_records": None}, "--norm is for --bounding dpsense"),
        ({"norm": "l3"}, "unknown --norm 'l3'"),
        ({"pairs": True}, "pairs of kept records"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        asked(**options)


def test_an_inspection_does_not_take_a_norm_for_a_sum() -> None:
    records = ct.read(ROWS, user="user", item="item", contexts=["day"])
    shown = str(ct.inspect(records, DOMAIN, **NORM))
    assert "Euclidean norm" in shown
    assert "would keep" not in shown


def test_a_plan_says_the_norm_and_compares_it_with_nothing() -> None:
    """Of pure ε there is none, and the theory of bounds is one of sums."""
    records = ct.read(ROWS, user="user", item="item", contexts=["day"])
    options = NORM | {"epsilon": 1, "delta": "1e-9", "guess_users": 90, "guess_records": 900}
    shown = str(ct.plan(records, DOMAIN, **options))
    assert "sensitivity 3 in L2, discrete-gaussian noise" in shown
    assert "instead of" not in shown
    assert "from bounding" not in shown
