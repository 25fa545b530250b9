"""Estimates of items in contexts, consistent with their items."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest

from crowdtally.inference import contexts
from crowdtally.inference.contexts import (
    ContextEstimates,
    ContextFacts,
    consistent_items,
    estimate_contexts,
    lifts_together,
)
from crowdtally.inference.lifts import Head, Rows
from crowdtally.inference.tastes import Tastes

# ---- Cells of items and contexts from what was measured, and whether their deviations hold -------


USERS = 20_000.0


@dataclass
class Items:
    mean: np.ndarray
    deviation: np.ndarray


@dataclass
class World:
    """A catalogue whose contexts differ: by kinds of items and by single items."""

    counts: np.ndarray
    shares: np.ndarray
    cells: np.ndarray
    features: np.ndarray

    @classmethod
    def make(cls, seed: int, *, liking: float = 0.3, own: float = 0.1, items: int = 400):
        rng = np.random.default_rng(seed)
        counts = 9000.0 / np.arange(1, items + 1) ** 0.7
        shares = np.array([0.15, 0.2, 0.25, 0.4])
        features = np.eye(8)[rng.integers(0, 8, items)]
        logs = features @ rng.normal(0, liking, (8, 4)) * (1 - counts / USERS)[:, None]
        parts = shares * np.exp(logs + rng.normal(0, own, (items, 4)))
        parts /= parts.sum(axis=1, keepdims=True)
        return cls(counts, shares, counts[:, None] * parts, features)

    @property
    def lifts(self):
        return self.cells / self.counts[:, None] / (self.cells.sum(axis=0) / self.cells.sum())

    def items(self, rng, relative: float = 0.03) -> Items:
        spread = relative * self.counts
        return Items(self.counts + spread * rng.standard_normal(len(spread)), spread)

    def totals(self, rng, deviation: float = 300.0):
        true = self.cells.sum(axis=0)
        return true + rng.laplace(0, deviation / 2**0.5, 4)

    def head(self, rng, k: int = 20, size: int = 400) -> Head:
        """Interval noise: one shift per context and one number per cell, within a box."""
        box = rng.integers(size - size // 5, size + size // 5, 4)
        shift = rng.integers(0, box + 1)
        noise = shift - rng.integers(0, box + 1, (k, 4))
        return Head(np.arange(k), self.cells[:k] + noise, float(np.sqrt(np.mean(box**2.0) / 6)))

    def rows(self, rng, k: int = 50, scale: float = 12.0) -> Rows:
        weights = self.cells[:k] / 20
        return Rows(np.arange(k), weights + rng.laplace(0, scale, weights.shape), scale * 2**0.5)

    def tastes(self, rng, scale: float = 10.0) -> Tastes:
        """As if every user's row were scaled to a half of its size, β too."""
        profile = self.counts @ self.features / self.counts.sum()
        weights = profile**-0.5
        liked = (self.cells.T @ self.features / self.cells.sum(axis=0)[:, None]).T  # (f, h)
        people = 0.5 * USERS * self.shares
        sums = weights[:, None] * (liked - profile[:, None]) * people
        anchors = 0.15 * people
        return Tastes(
            self.features, sums + rng.laplace(0, scale, sums.shape),
            anchors + rng.laplace(0, scale, 4), profile, weights, 0.15, scale * 2**0.5,
        )  # fmt: skip


WORLD = World.make(0)


def estimate(world: World = WORLD, seed: int = 1, **measured):
    rng = np.random.default_rng(seed)
    facts = ContextFacts(
        world.totals(rng), 300.0, USERS,
        **{name: getattr(world, name)(rng, **kw) for name, kw in measured.items()},
    )  # fmt: skip
    return estimate_contexts(world.items(rng), facts)


def correlation(estimates, world: World, places) -> float:
    """Of true and estimated lifts, each context around its own mean."""
    found, true = estimates.at(places).lift, world.lifts[places]
    found, true = found - found.mean(axis=0), true - true.mean(axis=0)
    return float((found * true).sum() / np.sqrt((found**2).sum() * (true**2).sum()))


MEASURED = [
    {}, {"tastes": {}}, {"head": {}}, {"rows": {}}, {"tastes": {}, "head": {}},
    {"tastes": {}, "rows": {}},
]  # fmt: skip


@pytest.mark.parametrize("measured", MEASURED, ids=lambda kw: "+".join(kw) or "nothing")
def test_contexts_add_up_to_their_items(measured):
    found = estimate(**measured)
    cells = found.matrix()
    assert cells.mean.sum(axis=1) == pytest.approx(found.items.mean)
    assert cells.lift @ found.shares == pytest.approx(np.ones(400))
    for values in (cells.mean, cells.deviation, cells.lift_deviation):
        assert (values > 0).all()
    assert found.same_ranking == (not measured)


def test_with_nothing_measured_each_context_has_the_overall_ranking():
    cells = estimate().matrix()
    assert cells.lift == pytest.approx(np.ones((400, 4)))
    assert (np.argsort(-cells.mean, axis=0) == np.argsort(-cells.mean[:, [0]], axis=0)).all()


def test_tastes_lift_items_of_a_kind():
    assert correlation(estimate(tastes={}), WORLD, np.arange(100)) > 0.8


def test_a_head_lifts_its_own_items_only():
    found = estimate(head={"size": 60})
    assert correlation(found, WORLD, np.arange(20)) > 0.9
    assert found.at(np.arange(20, 400)).lift == pytest.approx(np.ones((380, 4)), abs=1e-9)


def test_rows_lift_their_items():
    assert correlation(estimate(rows={"scale": 1.0}), WORLD, np.arange(50)) > 0.8


def test_a_common_shift_is_no_lift():
    """All of a context's head too high by one number says nothing about the context."""
    rng = np.random.default_rng(2)
    flat = World.make(0, liking=0.0, own=0.0)
    shift = np.array([900.0, -900.0, 900.0, -900.0])
    noise = rng.integers(-450, 451, (20, 4))
    head = Head(np.arange(20), flat.cells[:20] + shift + noise, 900 / 6**0.5 * 2)
    facts = ContextFacts(flat.cells.sum(axis=0), 1.0, USERS, head=head)
    found = estimate_contexts(flat.items(rng, 1e-6), facts)
    assert np.abs(found.at(np.arange(20)).lift - 1).max() < 0.1
    assert found.shares == pytest.approx(flat.shares, abs=0.03)


def test_the_head_corrects_a_share_that_noise_made_wrong():
    rng = np.random.default_rng(4)
    wrong = WORLD.cells.sum(axis=0) * np.array([1.5, 1, 1, 1])
    items = WORLD.items(rng, 1e-6)
    plain = ContextFacts(wrong, 8000.0, USERS)
    found = estimate_contexts(
        items, ContextFacts(wrong, 8000.0, USERS, head=WORLD.head(rng, size=40))
    )  # fmt: skip
    true = WORLD.cells.sum(axis=0) / WORLD.cells.sum()
    assert abs(found.shares[0] - true[0]) < 0.5 * abs(plain.shares[0] - true[0])


def test_what_everybody_has_cannot_be_special():
    """Tastes act on odds: an item of nine users in ten hardly moves, with repeats it does."""
    rng = np.random.default_rng(3)
    world = World.make(5)
    tastes = world.tastes(rng, scale=0.5)
    counts = np.where(np.arange(400) == 0, 0.9 * USERS, 100.0)
    items = Items(counts, counts / 100)
    same = np.where((world.features == world.features[0]).all(axis=1))[0][:2]

    def lifts(**kw):
        facts = ContextFacts(world.cells.sum(axis=0), 1.0, USERS, tastes=tastes, **kw)
        return np.log(estimate_contexts(items, facts).at(same).lift)

    first, second = lifts()
    assert np.abs(first).max() < 0.2 * np.abs(second).max()
    first, second = lifts(repeats=True)
    assert first == pytest.approx(second)


@pytest.mark.parametrize("measured", [{"tastes": {}}, {"rows": {}}], ids=["tastes", "rows"])
def test_contexts_that_do_not_differ_are_left_alike(measured):
    flat = World.make(0, liking=0.0, own=0.0)
    alike = [estimate(flat, seed, **measured).same_ranking for seed in range(40)]
    assert sum(alike) >= 20
    for seed in range(6):
        lifts = estimate(flat, seed, **measured).at(np.arange(50)).lift
        assert np.sqrt(np.mean((lifts - 1) ** 2)) < 0.25


def test_columns_are_those_of_the_matrix_and_need_no_matrix(monkeypatch):
    found = estimate(tastes={}, head={})
    whole = found.matrix()
    monkeypatch.setattr(contexts, "_CHUNK", 400)
    monkeypatch.setattr(contexts, "LARGEST", 1599)
    column = found.column(2)
    for name in ("mean", "deviation", "lift", "lift_deviation"):
        assert getattr(column, name) == pytest.approx(getattr(whole, name)[:, 2])
    with pytest.raises(
        ValueError, match=r"400 items × 4 contexts .* one context's column at a time"
    ):
        found.matrix()


def test_one_context_only_and_totals_below_zero():
    items = Items(np.array([10.0, 0.0]), np.array([1.0, 1.0]))
    alone = estimate_contexts(items, ContextFacts(np.array([-5.0]), 3.0, 9.0)).matrix()
    assert alone.mean[:, 0] == pytest.approx([10.0, 0.0])
    head = Head(np.array([0, 1]), np.array([[-50.0, 3.0], [9.0, 2.0]]), 20.0)
    facts = ContextFacts(np.array([-500.0, 100.0]), 300.0, 9.0, head=head)
    cells = estimate_contexts(items, facts).matrix()
    assert np.isfinite(cells.mean).all()
    assert np.isfinite(cells.deviation).all()
    assert cells.mean.sum(axis=1) == pytest.approx([10.0, 0.0])


def test_a_split_head_and_head_rows_exclude_each_other():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="not by both"):
        ContextFacts(WORLD.totals(rng), 1.0, USERS, head=WORLD.head(rng), rows=WORLD.rows(rng))


def test_what_all_contexts_share_is_the_item_s():
    """An error that all of a row's cells have in common is in the item's count already."""
    parts = np.array([0.2, 0.3, 0.5])
    common = np.full((1, 3, 3), 0.04)
    assert contexts._projected(common, parts) == pytest.approx(np.zeros((1, 3)))
    assert contexts._projected(common, parts[None]) == pytest.approx(np.zeros((1, 3)))
    alone = 0.04 * np.eye(3)[None]
    expected = 0.04 * ((1 - parts) ** 2 + (parts**2).sum() - parts**2)
    assert contexts._projected(alone, parts)[0] == pytest.approx(expected)


def coverage(runs: int, **measured):
    """How often the true lifts and cells of measured items are within 1.96 stated deviations."""
    lifts, cells = [], []
    for run in range(runs):
        world = World.make(run)
        found = estimate(world, run + 1000, **measured)
        places = np.arange(50 if "rows" in measured else 20)
        seen = found.at(places)
        lifts.append(np.abs(seen.lift - world.lifts[places]) < 1.96 * seen.lift_deviation)
        cells.append(np.abs(seen.mean - world.cells[places]) < 1.96 * seen.deviation)
    return np.mean(lifts), np.mean(cells)


@pytest.mark.parametrize("measured", MEASURED[2:5], ids="+".join)
def test_stated_deviations_cover_the_truth(measured):
    lifts, cells = coverage(25, **measured)
    assert 0.90 <= lifts <= 1.0
    assert 0.90 <= cells <= 1.0


@pytest.mark.long
def test_stated_deviations_cover_the_truth_in_many_worlds():
    kinds = [{"head": {}}, {"tastes": {}, "head": {}}, {"rows": {"scale": 1.0}}]
    found = np.array([coverage(300, **measured) for measured in kinds])
    assert 0.92 <= found.mean() <= 0.98, found
    assert found.min() > 0.91, found


# ---- Items and contexts that add up: the least squares, and their variances ----------------------


def test_it_is_the_weighted_least_squares():
    rng = np.random.default_rng(1)
    h, own, theirs = 5, 9.0, 2.0
    items, contexts = rng.normal(50, 9, 1), rng.normal(10, 4, (1, h))
    design = np.vstack([np.ones((1, h)), np.eye(h)])
    weights = np.diag([1 / own] + [1 / theirs] * h)
    values = np.append(items, contexts)
    inverse = np.linalg.inv(design.T @ weights @ design)
    best = inverse @ design.T @ weights @ values
    found = consistent_items(items, own, contexts, theirs)
    assert found.contexts[0] == pytest.approx(best)
    assert found.items[0] == pytest.approx(best.sum())
    assert found.context_variance == pytest.approx(inverse[0, 0])
    assert found.item_variance == pytest.approx(inverse.sum())


def test_the_variances_are_those_of_draws():
    rng = np.random.default_rng(2)
    size = 20_000
    items, contexts = rng.normal(0, 3, size), rng.normal(0, 2, (size, 4))
    found = consistent_items(items, 9.0, contexts, 4.0)
    assert found.items.var() == pytest.approx(found.item_variance, rel=0.05)
    assert found.contexts.var() == pytest.approx(found.context_variance, rel=0.05)
    assert found.items.var() < 9.0


# ---- Lifts in several contexts taken as one ------------------------------------------------------


SHARES = np.array([0.1, 0.15, 0.15, 0.2, 0.4])
ITEMS = 60


class ItemsTogether:
    def __init__(self, counts: np.ndarray) -> None:
        self.mean = counts
        self.deviation = 0.03 * counts


def world(seed: int, *, head: bool = False) -> tuple[np.ndarray, ContextEstimates]:
    """True cells, and estimates from head rows (or a split head): context 1 is much like 0."""
    rng = np.random.default_rng(seed)
    counts = 9000 / np.arange(1, ITEMS + 1) ** 0.5
    likings = rng.normal(0, 0.4, (ITEMS, 5))
    likings[:, 1] = likings[:, 0] + rng.normal(0, 0.1, ITEMS)
    parts = SHARES * np.exp(likings)
    cells = counts[:, None] * parts / parts.sum(axis=1, keepdims=True)
    totals = cells.sum(axis=0) + rng.laplace(0, 50, 5)
    if head:
        shift = rng.integers(0, 401, 5) - rng.integers(0, 401, (ITEMS, 5))
        measured = Head(np.arange(ITEMS), cells + shift, sqrt(401**2 / 6))
        facts = ContextFacts(totals, 50 * sqrt(2), 60_000.0, head=measured)
    else:
        rows = Rows(np.arange(ITEMS), cells / 20 + rng.laplace(0, 4, cells.shape), 4 * sqrt(2))
        facts = ContextFacts(totals, 50 * sqrt(2), 60_000.0, repeats=True, rows=rows)
    return cells, estimate_contexts(ItemsTogether(counts), facts)


def mask(*contexts: int) -> np.ndarray:
    return np.isin(np.arange(5), contexts)


EVERY = np.arange(ITEMS)


def test_one_context_is_told_as_before() -> None:
    _, estimates = world(1)
    cells, found = estimates.at(EVERY), lifts_together(estimates, EVERY, mask(2))
    assert found.mean == pytest.approx(cells.lift[:, 2])
    assert found.deviation == pytest.approx(cells.lift_deviation[:, 2])


def test_several_are_the_mean_of_their_lifts_by_their_shares() -> None:
    _, estimates = world(1)
    cells, found = estimates.at(EVERY), lifts_together(estimates, EVERY, mask(0, 1, 3))
    shares = estimates.shares[[0, 1, 3]]
    assert found.mean == pytest.approx(cells.lift[:, [0, 1, 3]] @ shares / shares.sum())
    assert (found.low <= found.mean).all()
    assert (found.high <= 1 / shares.sum() + 1e-9).all()


def test_what_is_inside_is_as_uncertain_as_what_is_outside() -> None:
    """Parts add up to 1: an error of one is that of the other."""
    _, estimates = world(2)
    inside, outside = mask(0, 1), mask(2, 3, 4)
    shares = estimates.shares
    found = [
        lifts_together(estimates, EVERY, one).deviation * shares[one].sum()
        for one in (inside, outside)
    ]
    assert found[0] == pytest.approx(found[1], rel=0.35)
    assert np.median(found[0] / found[1]) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("contexts", [(0,), (0, 1), (1, 2, 3)])
def test_intervals_and_chances_hold(
    contexts: tuple[int, ...], head: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    inside, sure, held = [], [], []
    for seed in range(12):
        cells, estimates = world(seed, head=head)
        chosen = mask(*contexts)
        share = cells[:, chosen].sum() / cells.sum()
        true = cells[:, chosen].sum(axis=1) / cells.sum(axis=1) / share
        found = lifts_together(estimates, EVERY, chosen)
        inside.append((found.low <= true) & (true <= found.high))
        sure.append(found.above > 0.9)
        held.append(true > 1)
    covered, claimed = float(np.mean(inside)), np.concatenate(sure)
    right = float(np.concatenate(held)[claimed].mean())
    with capsys.disabled():
        print(
            f"\ncontexts {contexts}, {'head' if head else 'rows'}: 95% intervals hold "
            f"{covered:.1%}; {claimed.sum()} called special at 90% or more, {right:.1%} are"
        )
    assert covered >= 0.9
    assert claimed.sum() > 20
    assert right >= 0.9
