"""Items in contexts of a release of auto: laws of the estimates, and numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.inference.auto import AutoEstimates, estimate_auto
from crowdtally.inference.auto_cells import RATIOS, CellEstimates, estimate_cells
from crowdtally.inference.facts import AutoFacts, Noisy
from crowdtally.inference.rows import BINS, RowLengths
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace

GRID = Fraction(1, 1 << 20)
REACH = 1.959964
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
ITEMS = 300
COUNTS = 20_000 * np.arange(1, ITEMS + 1.0) ** -0.9


def laplace(scale: float) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(scale) / GRID, GRID)


def rows(*users: float, sd: float = 0.01) -> RowLengths:
    noisy = np.zeros(BINS)
    noisy[: len(users)] = users
    return RowLengths(noisy, sd)


ONES = rows(float(COUNTS.sum()))
LONG = rows(*[0.0] * 9, *[float(COUNTS.sum()) / 40] * 3)


def facts_of(
    cells: np.ndarray,
    scale: float = 0.01,
    *,
    lengths: RowLengths = ONES,
    path: str = "short",
    law: NoiseLaw | None = None,
    bound: int = 1,
    seed: int = 1,
) -> AutoFacts:
    """A release of these cells, with noise in its cells alone."""
    rng = np.random.default_rng(seed)
    noise = 0.0 if scale < 1 else rng.laplace(0, scale, cells.shape)
    return AutoFacts(
        len(cells), lengths, path, Noisy(cells.sum(axis=1), laplace(0.01), bound),
        cells=Noisy(cells + noise, law or laplace(scale), bound),
        totals=Noisy(cells.sum(axis=0), laplace(0.01), bound),
    )  # fmt: skip


def both(facts: AutoFacts, **more) -> tuple[AutoEstimates, CellEstimates]:
    found = estimate_auto(facts)
    return found, estimate_cells(facts, found, **more)


def only(context: int) -> np.ndarray:
    return np.arange(4) == context


def lifted(seed: int = 2, spread: float = 0.5) -> np.ndarray:
    """Cells whose ratios to item × share differ, the items as they were."""
    rng = np.random.default_rng(seed)
    cells = COUNTS[:, None] * SHARES * np.exp(rng.normal(0, spread, (ITEMS, 4)))
    return cells * (COUNTS / cells.sum(axis=1))[:, None]


def test_without_noise_cells_are_exact():
    truth = lifted()
    _, cells = both(facts_of(truth))
    assert cells.shares == pytest.approx(truth.sum(axis=0) / truth.sum(), rel=1e-6)
    for context in range(4):
        found = cells.column(only(context))
        assert found.mean == pytest.approx(truth[:, context], rel=0.01)


@pytest.mark.parametrize("scale", [3.0, 60.0, 2000.0])
@pytest.mark.parametrize("bell", [False, True])
@pytest.mark.parametrize("path", ["short", "long"])
def test_columns_are_sound_and_add_up(scale: float, bell: bool, path: str):
    law = GaussianNoise(Fraction(2 * scale**2) / GRID**2, GRID) if bell else None
    facts = facts_of(lifted(), scale, law=law, path=path, lengths=LONG, bound=30)
    found, cells = both(facts)
    columns = [cells.column(only(context)) for context in range(4)]
    assert sum(column.mean for column in columns) == pytest.approx(found.items.mean)
    for column in columns:
        assert (column.low >= 0).all()
        assert (column.low <= column.median + 1e-9).all()
        assert (column.median <= column.high + 1e-9).all()
        assert (column.low <= column.mean + 1e-9).all()
        assert (column.mean <= column.high + 1e-9).all()
        assert (column.own <= column.deviation * (1 + 1e-9)).all()
        assert np.isfinite(column.high).all()
    whole = cells.column(np.ones(4, dtype=np.bool_))
    assert whole is found.items
    pair = cells.column(np.array([True, True, False, False]))
    assert pair.mean == pytest.approx(columns[0].mean + columns[1].mean)
    wide = sum(column.high - column.low for column in columns[:2])
    assert (pair.high - pair.low <= wide + 1e-6).all()  # squares add up


def test_a_larger_value_never_has_a_smaller_estimate():
    truth = np.full((60, 4), 50.0)
    facts = facts_of(truth, 20.0)
    values = facts.cells.values.copy()
    values[:, 0] = np.linspace(-100, 400, 60)
    found = replace(facts, cells=replace(facts.cells, values=values))
    flat = estimate_auto(facts)
    mean = estimate_cells(found, flat).cells.mean
    part = mean[:, 0] / mean.sum(axis=1)
    assert part[-1] > part[0]


def test_noise_alone_leaves_item_times_share():
    truth = COUNTS[:, None] * SHARES
    found, cells = both(facts_of(truth, 3000.0))
    for context in range(4):
        ratio = cells.column(only(context)).mean / (SHARES[context] * found.items.mean)
        assert abs(ratio - 1).mean() < 0.15


def test_differences_that_stand_out_are_learned():
    truth = lifted()
    for scale in (5.0, 40.0, 200.0):
        facts = facts_of(truth, scale)
        found, cells = both(facts)
        plain = found.items.mean[:, None] * cells.shares
        error = ((cells.cells.mean - truth) ** 2).mean()
        assert error < 0.9 * ((plain - truth) ** 2).mean()
        assert error < 1.01 * ((facts.cells.values - truth) ** 2).mean()


def test_intervals_cover_what_they_say():
    covered = []
    for seed in range(6):
        truth = lifted(seed)
        _, cells = both(facts_of(truth, 40.0, seed=seed))
        for context in range(4):
            found = cells.column(only(context))
            inside = (found.low <= truth[:, context]) & (truth[:, context] <= found.high)
            covered.append(inside.mean())
    assert np.mean(covered) > 0.94


def test_the_interval_reaches_over_the_noise_and_the_posterior():
    facts = facts_of(lifted(), 40.0)
    found, cells = both(facts)
    margin = 40 * np.log(20)
    factor = (found.items.mean / found.items.bounded)[:, None]
    y = facts.cells.values
    assert (cells.cells.high >= np.minimum(factor, 1) * (y + margin) - 0.1).all()
    assert (cells.cells.low <= np.maximum(factor * (y - margin), 0) + 0.1).all()


def test_far_above_the_noise_the_measured_counts_by_its_variance():
    truth = np.full((40, 2), 1000.0)
    truth[:, 0] += np.tile([60.0, -60.0], 20)
    truth[:, 1] -= np.tile([60.0, -60.0], 20)
    facts = facts_of(truth, 10.0)
    _, cells = both(facts)
    y = facts.cells.values
    counts = estimate_auto(facts).items.bounded[:, None]
    expected = counts * cells.shares
    noise = 2 * 10.0**2
    beyond = ((y - expected) ** 2).mean() - noise
    weight = beyond / (beyond + noise)
    assert 0.9 < weight < 0.97
    mean = expected + weight * (y - expected)
    mean *= truth.sum(axis=1, keepdims=True) / mean.sum(axis=1, keepdims=True)
    assert cells.cells.mean == pytest.approx(mean, rel=1e-3)
    assert cells.cells.variance[0, 0] == pytest.approx(weight * noise, rel=0.01)


def test_shares_are_weighed_by_variance_and_never_below_half_the_noise():
    cells = Noisy(np.array([[30.0, 10.0], [10.0, -90.0]]), laplace(2), 1)
    totals = Noisy(np.array([60.0, -5.0]), laplace(4), 1)
    facts = replace(facts_of(np.ones((2, 2))), cells=cells, totals=totals)
    _, found = both(facts)
    one, two = 1 / (2 * 16), 1 / (2 * 2 * 4)
    values = np.array([one * 60 + two * 40, (one + two) * 2]) / (one + two)
    assert found.shares == pytest.approx(values / values.sum(), rel=1e-4)
    own = (1 / found.shares - 1) ** 2 + 1
    error = np.sqrt(own / (one + two)) / values.sum()
    assert found.shares_error == pytest.approx(error, rel=1e-3)


def test_bounded_rows_spread_the_intervals_and_not_those_of_short_rows():
    truth = lifted()
    short, found = both(facts_of(truth, 5.0, lengths=rows(9e3, 9e3)))
    assert short.scatter > 0
    assert found.spread == 1.0
    facts = facts_of(truth, 5.0, lengths=LONG, path="long", bound=20)
    long, found = both(facts)
    assert found.spread == pytest.approx(exp(REACH * long.scatter))
    column = found.column(only(0))
    ends = found.cells.low[:, 0] / found.spread, found.cells.high[:, 0] * found.spread
    assert column.low == pytest.approx(ends[0])
    assert column.high == pytest.approx(ends[1])
    lean = 0.1 * min(1, 2 * (1 - LONG.kept(20)[0])) * (1 - found.shares)
    assert (found.shares_error >= lean).all()


def test_lifts_are_shares_beside_the_overall_share():
    truth = lifted(spread=0.3)
    _, cells = both(facts_of(truth))
    places = np.array([4, 0, 7])
    for inside in (only(2), np.array([False, True, True, False])):
        there = truth[:, inside].sum(axis=1)
        expected = there[places] / COUNTS[places] / (there.sum() / truth.sum())
        found = cells.lifts(places, inside)
        assert found.mean == pytest.approx(expected, rel=0.01)
        assert ((found.above > 0.5) == (expected > 1)).all()
        assert (found.low <= found.mean).all()
        assert (found.mean <= found.high).all()


def test_a_lift_is_as_unsure_as_its_cell_and_its_share():
    facts = facts_of(lifted(), 60.0)
    found, cells = both(facts)
    place, share = np.array([3]), cells.shares[1]
    lift = cells.lifts(place, only(1))
    own = cells.cells.variance[3, 1] / (found.items.mean[3] * share) ** 2
    expected = sqrt(own + (cells.shares_error[1] * lift.mean[0]) ** 2)
    assert lift.deviation[0] == pytest.approx(expected)
    assert lift.high[0] == pytest.approx(lift.mean[0] + REACH * expected, rel=1e-3)


def test_an_item_of_nothing_is_nothing_with_room_above():
    truth = lifted()
    truth[-1] = 0.0
    facts = facts_of(truth, 20.0)
    found, cells = both(facts)
    items = replace(found.items, mean=np.append(found.items.mean[:-1], 0.0))
    items = replace(items, bounded=np.append(found.items.bounded[:-1], 0.0))
    last = estimate_cells(facts, replace(found, items=items)).column(only(0))
    assert last.mean[-1] == pytest.approx(0.0, abs=1e-6)
    assert last.high[-1] == pytest.approx(items.high[-1]), "no more there than in all contexts"
    assert cells.cells.mean.shape == (ITEMS, 4)


def test_many_cells_are_worked_on_in_pieces(monkeypatch: pytest.MonkeyPatch):
    facts = facts_of(lifted(), 40.0)
    _, whole = both(facts)
    monkeypatch.setattr("crowdtally.inference.auto_cells._MOST", 400)
    _, pieces = both(facts)
    assert pieces.cells.mean == pytest.approx(whole.cells.mean, rel=0.2, abs=15)
    assert 1.0 in RATIOS
    assert 0.0 in RATIOS


def test_without_cells_it_is_refused():
    facts = replace(facts_of(lifted()), cells=None)
    with pytest.raises(UsageError, match="without cells and context totals"):
        estimate_cells(facts, estimate_auto(facts))
