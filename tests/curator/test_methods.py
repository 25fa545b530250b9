"""The steps of the methods, and the account that they are paid from."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.method import method_of
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.course import Course, worth
from crowdtally.errors import CrowdtallyError
from crowdtally.lab.rehearse import Keyed
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.publishing import made, visits

# ---- The account of ``auto``: in ε, in ρ, and turned from one into the other ---------------------


ONE, DELTA = Epsilon(Fraction(1)), Delta.of("1e-9")


def sized(total: Epsilon | Rho = ONE) -> Course:
    course = Course(total)
    return course.spend("sizes", course.share(Fraction(3, 100)), "first")[0]


def test_a_course_of_rho_is_drawn_in_rho() -> None:
    course, price = Course(Rho(Fraction(1, 50))).spend("sizes", Fraction(1, 100), "first")
    assert price == Rho(Fraction(1, 100))
    assert course.left == Fraction(1, 100)
    assert course.as_dict()["steps"] == [{"name": "sizes", "rho": "0.01", "why": "first"}]
    assert (course.as_dict()["rho"], course.as_dict()["unspent"]) == ("0.02", "0.01")


def test_what_is_left_is_turned_once() -> None:
    turned = sized().turn(DELTA)
    granted = rho_of(Fraction(97, 100), DELTA)
    assert turned.total == Rho(granted)
    assert (turned.spent, turned.left) == (0, granted)  # the sizes were paid for in ε
    assert delta_of(turned.left, Fraction(97, 100)) <= DELTA.value
    assert turned.left < rho_of(Fraction(1), DELTA)
    with pytest.raises(CrowdtallyError, match="once more"):
        turned.turn(DELTA)
    later, price = turned.spend("items", granted, "all of it")
    assert isinstance(price, Rho)
    assert later.left == 0
    assert [next(iter(one)) for one in later.as_dict()["steps"]] == ["name", "name"]
    assert [set(one) & {"epsilon", "rho"} for one in later.as_dict()["steps"]] == [
        {"epsilon"},
        {"rho"},
    ]


def test_a_course_of_epsilon_says_what_it_always_said() -> None:
    course = sized().pass_over("pilot", "no need")
    assert course.as_dict() == {
        "steps": [
            {"name": "sizes", "epsilon": "0.03", "why": "first"},
            {"name": "pilot", "epsilon": "0", "why": "no need"},
        ],
        "unspent": "0.97",
    }


@given(st.lists(st.fractions(0, Fraction(2, 5), max_denominator=1000), max_size=8))
def test_no_step_goes_beyond_what_was_turned(shares: list[Fraction]) -> None:
    course = sized().turn(DELTA)
    drawn = Fraction(0)
    for place, share in enumerate(shares):
        cost = course.share(share)
        if not 0 < cost <= course.left:
            with pytest.raises(CrowdtallyError, match="would spend"):
                course.spend(f"step {place}", cost, "too much")
            continue
        course, price = course.spend(f"step {place}", cost, "some")
        drawn += price.value
    assert drawn == course.spent <= course.total.value
    assert delta_of(drawn, Fraction(97, 100)) <= DELTA.value


@given(st.fractions(Fraction(1, 10**4), Fraction(1, 10), max_denominator=10**4))
def test_what_rho_is_worth_deviates_as_its_noise_does(rho: Fraction) -> None:
    """For counts of bound 2^20 in L1, or in L2."""
    gaussian = GaussianNoise(2**40 / (2 * rho)).std()
    laplace = DiscreteLaplace(Fraction(2**20 / worth(Rho(rho)))).std()
    assert gaussian == pytest.approx(laplace, rel=1e-6)


# ---- Tables of rows scaled to a norm: each by its own rows, within the bound that it states ------


THETA, CAP, DAYS = 2, 3, ["a", "b", "c"]
HISTORIES = list(combinations_with_replacement(product(range(2), DAYS), 4))
"""Every history of four records: two items on three days."""


def counted() -> list[np.ndarray]:
    """The tables of items and of items in context, each user with items of her own."""
    rows = [(u, 2 * u + item, day) for u, own in enumerate(HISTORIES) for item, day in own]
    named = {name: [row[n] for row in rows] for n, name in enumerate(("user", "item", "day"))}
    records = ct.read(pa.table(named), user="user", item="item", contexts=["day"])
    request = make_request(
        records, ct.Domain(range(2 * len(HISTORIES)), {"day": DAYS}), epsilon=1, delta="1e-9",
        bounding="dpsense", norm="l2", max_records=THETA, cap=CAP,
    )  # fmt: skip
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        question = next(method_of(request).ask())
        found = count(question, Reading(engine, prepared)).found
    for counts in found:
        units = counts.dense().reshape(len(HISTORIES), -1)
        own = [int(sum(int(x) ** 2 for x in row)) for row in units]
        assert 0.999 * counts.l2_squared < max(own) <= counts.l2_squared == (GRID * THETA) ** 2
        assert units.sum(axis=1).max() <= counts.l1_bound
    return [counts.dense().reshape(len(HISTORIES), -1) for counts in found]


def scaled(row: list[int]) -> list[int]:
    squares = sum(x * x for x in row)
    each = GRID if squares <= THETA**2 else isqrt((GRID * THETA) ** 2 // squares)
    return [each * x for x in row]


def test_each_table_is_scaled_by_its_own_rows() -> None:
    """A user of one item on three days has Q = 3 in context, and 9 without."""
    items, edges = counted()
    for own, of_items, of_edges in zip(HISTORIES, items, edges, strict=True):
        by_item = [min(sum(i == item for i, _ in own), CAP) for item in range(2)]
        by_edge = [min(own.count(cell), CAP) for cell in product(range(2), DAYS)]
        assert of_items.tolist() == scaled(by_item)
        assert of_edges.tolist() == scaled(by_edge)


# ---- ``--top K``: what is counted, on all neighbours of tiny databases: each cell by 0 or 1 ------


ITEMS, DAYS_TOP = 3, ["a", "b"]
CELLS = list(product(range(ITEMS), DAYS_TOP))
OTHERS = [(2, 0, "a"), (2, 0, "b"), (2, 1, "b"), (3, 0, "a"), (3, 0, "a"), (3, 2, "b")]
NOBODY = [(None, 0, "a"), (2, None, "a"), (2, 1, None), (2, 99, "a")]


def counted_top(hers: list[tuple[int, str]], **options: Any) -> np.ndarray:
    """Distinct users of (item, day), the sampling key fixed."""
    rows = [*OTHERS, *NOBODY, *((1, item, day) for item, day in hers)]
    named = {name: [row[n] for row in rows] for n, name in enumerate(("user", "item", "day"))}
    records = ct.read(pa.table(named), user="user", item="item", contexts=["day"])
    request = make_request(
        records, ct.Domain(range(ITEMS), {"day": DAYS_TOP}), epsilon=1, top=1, **options
    )
    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain, request.sources)
        first = next(method_of(request).ask())
        found = count(first, Keyed(engine, prepared, 5)).found
    return np.asarray(found.values.reshape(ITEMS, len(DAYS_TOP)))


HERS = [
    [cell for cell, has in zip(CELLS, chosen, strict=True) for _ in range(has)]
    for chosen in ((1, 0, 0, 0, 0, 0), (0, 3, 1, 0, 0, 0), (2, 1, 0, 1, 1, 1), (1, 2, 1, 3, 1, 9))
]


def test_users_of_several_contexts_count_once_in_each_cell() -> None:
    without = counted_top([])
    assert without.tolist() == [[2, 1], [0, 1], [0, 1]]
    for hers in HERS:
        added = counted_top(hers) - without
        assert added.ravel().tolist() == [int(cell in hers) for cell in CELLS]


@pytest.mark.parametrize("hers", HERS)
def test_a_user_of_one_context_is_in_one_block_also_where_that_was_declared_wrongly(
    hers: list[tuple[int, str]],
) -> None:
    """Blocks have draws of their own at the whole ε: in two of them she would pay half."""
    added = counted_top(hers, context_per_user="day") - counted_top([], context_per_user="day")
    assert set(added.ravel().tolist()) <= {0, 1}
    assert added.any(axis=0).sum() == 1
    assert (added.any(axis=1) == [any(item == i for i, _ in hers) for item in range(ITEMS)]).all()


@pytest.mark.parametrize("per_user", [False, True])
def test_top_items_by_rho_are_released_and_read(per_user: bool, tmp_path: Path) -> None:
    """Gaussian noise on the selected cells: checked, described, ranked and reported."""
    rows = visits({(item, day): 400 - 20 * item for item in range(6) for day in DAYS_TOP}, "day")
    options: dict[str, Any] = {"context_per_user": "day"} if per_user else {}
    release = made(
        tmp_path, rows, ct.Domain(range(6), {"day": DAYS_TOP}), top=3, noise="gaussian", epsilon=4,
        delta="1e-9", **options,
    )  # fmt: skip
    (table,) = release.metadata["tables"]
    assert table["sensitivity_squared"] == (3 if per_user else 6)
    assert table["publishing"] == "chosen"
    assert len(release.top(2, day="a")) == 2
    assert "the private selection of the items" in " ".join(str(release.describe()).split())
    assert "counted once in each of their cells" in str(release.top(2, day="a"))
    release.report(tmp_path / "report.json")
