"""The questions of ``auto``, and noise that is refined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import Numbered
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.core.profile import Profile
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.counting.rows import Visits, make_visits
from crowdtally.curator.refined import Refined, can_be_refined
from crowdtally.curator.request.request import make_request
from crowdtally.curator.steps.auto.contexts import ContextTotals
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.head_rows import RowsByContext
from crowdtally.curator.steps.auto.questions import (
    AllItems,
    AllMembers,
    AllMembersByContext,
    ChosenItems,
    ChosenMembers,
    Groups,
)
from crowdtally.curator.steps.auto.split_head import UsersByContext
from crowdtally.curator.steps.auto.tastes import FeaturesByContext
from crowdtally.curator.table import Measured, Table
from crowdtally.errors import CrowdtallyError
from crowdtally.format import NoisyTable
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.draws import Seam, Seeded

# ---- What one user changes in every question, by brute force, against the bound of its noise
#      in L2


ITEMS, DAYS = 5, ["a", "b"]
RHO = Rho(Fraction(1, 7))
OTHERS = [(1, 0, "a"), (1, 4, "a"), (2, 3, "b"), (2, 3, "b")]
NONE, PAIR = np.empty(0, dtype=np.int64), np.array([1, 3])

Record = tuple[int, int, str]
Ask = Callable[[Design], Any]


def profile() -> Profile:
    shares = np.array([[1024, 0], [0, 1024]], dtype=np.int64)
    means = np.array([2**15, 2**15], dtype=np.int64)
    return Profile(("x", "y"), shares, np.array([0, 1, 0, 1, 0]), means, np.array([2**8, 2**8]), {})


ASKED: dict[str, Ask] = {
    "all items, sums": lambda d: AllItems(d, "items", 2, NONE),
    "all items, norms": lambda d: AllItems(d, "items", 2, NONE, "l2"),
    "without a crowd": lambda d: AllItems(d, "items", 1, np.array([0, 2]), "l2"),
    "the pilot": lambda d: AllItems(d, "pilot", 1, NONE),
    "a zoom, sums": lambda d: ChosenItems(d, "zoom", 1, PAIR),
    "a zoom, norms": lambda d: ChosenItems(d, "zoom", 1, PAIR, "l2"),
    "bins": lambda d: Groups("bins", 3, np.array([1, 0, 1, 0, 0]), 2),
    "members": lambda d: ChosenMembers(d, "head", PAIR),
    "all members": lambda d: AllMembers(d),
    "members by context": lambda d: UsersByContext(d, "split_head", PAIR),
    "all members by context": lambda d: AllMembersByContext(d, "edges"),
    "contexts": lambda d: ContextTotals(d, "contexts", 2),
    "head rows": lambda d: RowsByContext(d, "head_rows", PAIR),
    "tastes": lambda d: FeaturesByContext(d, "tastes", profile()),
}


def design(rows: list[Record], *, repeats: bool) -> tuple[Design, Any]:
    columns = list(zip(*rows, strict=True))
    table = pa.table(dict(zip(("user", "item", "day"), map(list, columns), strict=True)))
    request = make_request(
        ct.read(table, user="user", item="item", contexts=["day"]),
        ct.Domain(range(ITEMS), {"day": DAYS}),
        epsilon=1, delta="1e-9", noise="gaussian", repeats="yes" if repeats else "no",
        context_per_user="day",
    )  # fmt: skip
    return Design.of(request), request


def rows_of_one(*, repeats: bool) -> Iterator[list[Record]]:
    """All that a third user may have: each item up to once, or two of them up to three times."""
    yield [(3, item, "a") for item in range(ITEMS)]
    if not repeats:
        for has in product((0, 1), repeat=3):
            yield [(3, item, "a") for item, one in zip((1, 3, 4), has, strict=True) if one]
        return
    for times in product((0, 1, 3), repeat=2):
        yield [(3, item, "b") for item, n in zip((1, 3), times, strict=True) for _ in range(n)]


def counted(visits: Visits, asked: Any) -> tuple[Any, Table]:
    table = asked.table(RHO)
    noisy = table.publish(asked.count(visits), Seam())  # its bounds are those of its counts
    return noisy.values.astype(object), table


@pytest.mark.parametrize("repeats", [False, True], ids=["once", "repeats"])
def test_the_bound_in_l2_is_true_and_tight(repeats: bool) -> None:
    """Neighbours: two users, and every third one beside them."""
    worst = dict.fromkeys(ASKED, Fraction(0))
    with DuckDBEngine() as engine:
        before: dict[str, Any] = {}
        for row in [[], *rows_of_one(repeats=repeats)]:
            made, request = design([*OTHERS, *row], repeats=repeats)
            records = prepare(engine, request.records, request.domain, request.sources)
            visits = make_visits(engine, records, key=9, per_user=True, repeats=repeats)
            for name, ask in ASKED.items():
                values, table = counted(visits, ask(made))
                apart = values - before.setdefault(name, values)
                squared = sum(int(x) ** 2 for x in apart)
                assert squared <= table.l2_squared, (name, row)
                assert sum(abs(int(x)) for x in apart) <= table.l1_bound, (name, row)
                assert table.law.variance == table.l2_squared / (2 * RHO.value)  # type: ignore[union-attr]
                worst[name] = max(worst[name], Fraction(squared, table.l2_squared))
    loose = {name for name, share in worst.items() if share < Fraction(99, 100)}
    assert loose == {"tastes"}, {name: float(worst[name]) for name in loose}


def test_squares_of_the_bounds() -> None:
    """In whole counts: what a price of ρ is paid for."""
    wanted = {
        "all items, sums": (2, 4), "all items, norms": (4, 4), "without a crowd": (1, 1),
        "the pilot": (1, 1), "a zoom, sums": (1, 1), "a zoom, norms": (1, 1), "bins": (9, 9),
        "members": (2, 2), "all members": (5, 5), "members by context": (2, 2),
        "all members by context": (5, 5), "contexts": (4, 4), "head rows": (1, 1),
        "tastes": (1, 1),
    }  # fmt: skip
    for repeats in (False, True):
        made, _ = design(OTHERS, repeats=repeats)
        for name, ask in ASKED.items():
            table = ask(made).table(RHO)
            assert table.l2_squared * table.unit**2 == wanted[name][repeats], name


def test_counts_of_distinct_users_have_interval_noise_for_epsilon_only() -> None:
    made, _ = design(OTHERS, repeats=False)
    asked = ASKED["members by context"](made)
    assert asked.table(Epsilon.of(1)).law.kind == "interval"
    table = asked.table(RHO)
    assert table.law.kind == "discrete-gaussian"
    users = Memberships(4, np.arange(4, dtype=np.int64))
    assert table.publish(users, Seam()).values.tolist() == [0, 1, 2, 3]
    with pytest.raises(CrowdtallyError, match="not of distinct users"):
        table.publish(Counts(4, np.arange(4), np.arange(4), 2, squared=2), Seam())


def test_norms_are_of_exactly_the_items_that_are_counted() -> None:
    """A row of 4, two of them in the crowd: √2 of it is left, not √4."""
    made, request = design([(3, item, "a") for item in (0, 1, 2, 3)], repeats=False)
    with DuckDBEngine() as engine:
        records = prepare(engine, request.records, request.domain, request.sources)
        visits = make_visits(engine, records, key=9, per_user=True, repeats=False)
        values, _ = counted(visits, ASKED["without a crowd"](made))
    root = int((GRID**2 // 2) ** 0.5)
    assert values.tolist() == [0, root, 0, root, 0]


# ---- A table of cells that were released before: what it costs, and what it refuses --------------


CELLS, BOUND, UNIT = Numbered("feature", 3), 8, Fraction(1, 8)
HALF = Epsilon(Fraction(1, 20))
EXACT = np.array([800, -80, 0])


class Noted(SystemDraws):
    """Says which noise is to be refined."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[list[int], Fraction]] = []

    def laplace(self, scale: Fraction, size: int) -> Any:
        return np.array([5, -7, 1 << 40])

    def refine(self, noise: Any, scale: Fraction) -> Any:
        self.asked.append((noise.tolist(), scale))
        return np.array([2, -3, 4])


def counts(values: np.ndarray = EXACT, bound: int = BOUND) -> Counts:
    return Counts(3, np.arange(3), values, bound, UNIT, signed=True)


def look(draws: SystemDraws) -> NoisyTable:
    return Table("tastes", "auto", CELLS, HALF, BOUND, UNIT).publish(counts(), draws)


def finer(before: NoisyTable, epsilon: Epsilon = HALF) -> Refined:
    return Refined("tastes_again", "auto", CELLS, epsilon, BOUND, UNIT, before=before)


def test_the_noise_that_was_drawn_is_what_is_refined() -> None:
    draws = Noted()
    made = finer(look(draws)).publish(counts(), draws)
    assert draws.asked == [([5, -7, 1 << 40], Fraction(160))]
    assert made.values.tolist() == [802, -83, 4]
    assert made.law == DiscreteLaplace(Fraction(80), UNIT)
    assert made.facts["epsilon"] == "0.1"  # both together
    assert made.facts["sensitivity"] == BOUND


def test_both_tables_have_their_own_noise_around_the_counts() -> None:
    draws, many = SystemDraws(Seeded(3)), []
    for _ in range(1500):
        before = look(draws)
        after = finer(before).publish(counts(), draws)
        many.append([before.values - EXACT, after.values - EXACT])
    first, second = np.array(many, dtype=float).transpose(1, 0, 2).reshape(2, -1)
    assert second.std() == pytest.approx(80 * 2**0.5, rel=0.1)
    assert first.std() == pytest.approx(160 * 2**0.5, rel=0.1)
    assert np.cov(first, second)[0, 1] == pytest.approx(second.var(), rel=0.15)


@pytest.mark.parametrize("wrong", [{"bound": 9}, {"price": Epsilon(Fraction(1, 10))}, {"bound": 4}])
def test_another_price_or_bound_than_the_first_is_refused(wrong: dict[str, Any]) -> None:
    draws = Noted()
    table = replace(finer(look(draws)), **wrong)
    with pytest.raises(CrowdtallyError, match="fault of the program"):
        table.publish(counts(bound=wrong.get("bound", BOUND)), draws)
    assert not draws.asked


def test_counts_of_another_bound_are_refused() -> None:
    draws = Noted()
    with pytest.raises(CrowdtallyError, match="was charged for"):
        finer(look(draws)).publish(counts(bound=16), draws)
    assert not draws.asked


@pytest.mark.parametrize("end", [np.iinfo(np.int64).max, np.iinfo(np.int64).min])
def test_a_value_that_was_held_hides_its_noise(end: int) -> None:
    draws = Noted()
    before = look(draws)
    held = replace(before, values=np.array([1, 2, end]))
    assert can_be_refined(before)
    assert not can_be_refined(held)
    with pytest.raises(CrowdtallyError, match="values that are not counts and noise"):
        finer(held).publish(counts(), draws)


def test_interval_noise_is_not_refined() -> None:
    draws = SystemDraws(Seeded(1))
    before = Measured("head", "auto", CELLS, HALF).publish(Memberships(3, np.arange(3)), draws)
    with pytest.raises(CrowdtallyError, match="not Laplace"):
        finer(before).publish(counts(), draws)
