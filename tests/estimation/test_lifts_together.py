"""Lifts in several contexts taken as one."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from crowdtally.inference.contexts import (
    ContextEstimates,
    ContextFacts,
    estimate_contexts,
    lifts_together,
)
from crowdtally.inference.lifts import Head, Rows

SHARES = np.array([0.1, 0.15, 0.15, 0.2, 0.4])
ITEMS = 60


class Items:
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
    return cells, estimate_contexts(Items(counts), facts)


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
