"""Summaries by their definition: noise on every cell, then a rule; and sums over the result."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from crowdtally.core.counts import Counts, Keeping, Sides
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Price
from crowdtally.curator.pricing import noise_of
from crowdtally.curator.summaries.base import Charged, Summary
from crowdtally.curator.summaries.priority import prioritised
from crowdtally.curator.summaries.sparse import priority_threshold
from crowdtally.curator.summaries.threshold import sampled as kept
from crowdtally.errors import InputError
from crowdtally.format.entries import PublicDomain, PublicList, TableFacts
from crowdtally.format.parse import shaped
from crowdtally.format.tables import INTERVAL_LEVEL
from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.estimates.cell_sums import Estimate, Sampled, weighted_sum
from kit.exact import ONE, Bracket, exp_neg

# ---- The laborious method: noise on every cell of a table, then the rule, cell by cell -----------
#
# Slow, obvious, and sharing nothing with the short cut but the definition. ``chance`` and ``law``
# are the definition itself; ``draw`` realises it for many runs at once.


DROPPED = 10**6
"""Stands for a cell that is not published."""


def weight(value: int, keeping: Keeping) -> int:
    return abs(value) if keeping.sides == "two" else value


def chance(value: int, keeping: Keeping) -> Fraction:
    """The probability that a noisy count is kept."""
    w = weight(value, keeping)
    if w < keeping.cut:
        return Fraction(0)
    if keeping.threshold is None or keeping.threshold <= keeping.cut:
        return Fraction(1)
    return min(w / keeping.threshold, Fraction(1)) if w > 0 else Fraction(0)


def noise(scale: Fraction, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Discrete Laplace noise by floats: good to far below what any number of runs here can see."""
    p = -np.expm1(-1 / float(scale))
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def draw(
    counts: list[int], scale: Fraction, keeping: Keeping, runs: int, rng: np.random.Generator
) -> np.ndarray:
    """runs × cells: the noisy count, or DROPPED."""
    noisy = np.array(counts) + noise(scale, (runs, len(counts)), rng)
    values, inverse = np.unique(noisy, return_inverse=True)
    chances = np.array([float(chance(int(v), keeping)) for v in values])[inverse]
    return np.where(rng.random(noisy.shape) < chances.reshape(noisy.shape), noisy, DROPPED)


def prioritise(
    noisy: np.ndarray, size: int, tau: Fraction, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The ``size`` highest w/r of all noisy counts that passed the filter, r uniform on (0, 1].

    Also the priority that follows, or τ if that is higher: only priorities above it are kept.
    """
    weights = np.where(noisy == DROPPED, 0, np.abs(noisy))
    priorities = weights / (1 - rng.random(noisy.shape))
    following = -np.partition(-priorities, size, axis=1)[:, size]
    limit = np.maximum(following, float(tau))
    return np.where(priorities > limit[:, None], noisy, DROPPED), limit


@cache
def inclusion(scale: Fraction, keeping: Keeping) -> Bracket:
    """Σ_v chance(v)·Pr[X=v], term by term in plain integers, bracketed to about 500 bits."""
    low_alpha, high_alpha = exp_neg(1 / scale)
    low = high = 0
    low_power = high_power = ONE
    value = 0
    while high_power > ONE >> 520:
        kept = chance(value, keeping)
        if keeping.sides == "two" and value:
            kept += chance(-value, keeping)
        low += low_power * kept.numerator // kept.denominator
        high += -(-high_power * kept.numerator // kept.denominator)
        low_power = low_power * low_alpha // ONE
        high_power = -(-high_power * high_alpha // ONE)
        value += 1
    high += 2 * (-(-high_power * ONE // (ONE - high_alpha)))  # all that was not added
    return (
        low * (ONE - high_alpha) // (ONE + high_alpha),
        -(-high * (ONE - low_alpha) // (ONE + low_alpha)),
    )


def codes(table: np.ndarray, most: int = 12) -> np.ndarray:
    """Each run's row as one number; values beyond ±most are not told apart."""
    digits = np.where(table == DROPPED, most + 1, np.clip(table, -most, most)) + most
    radix = 2 * most + 2
    return digits @ (radix ** np.arange(table.shape[1]))


# ---- The rules that the tests of sparse publishing go through ------------------------------------


TAUS = [None, "1/2", "1", "3", "7/2", "19/3", "8"]

RULES = [
    Keeping(cut, None if tau is None else Fraction(tau), sides)
    for sides in ("two", "one")
    for cut in (0, 1, 5)
    for tau in TAUS
]


def named(rule: Keeping) -> str:
    return f"{rule.sides}-sided cut {rule.cut} tau {rule.threshold}"


# ---- Samples by their parameters ----------------------------------------------------------------


def threshold_summary(
    counts: Counts, price: Price, draws: Any, *,
    threshold: Fraction, cut: int = 0, sides: Sides = "two",
) -> Summary:  # fmt: skip
    return kept(Charged(counts, price, Keeping(cut, threshold, sides)), draws)


def priority_summary(
    counts: Counts, price: Price, draws: Any, *,
    size: int, cut: int = 0, threshold: Fraction | None = None, sides: Sides = "two",
) -> Summary:  # fmt: skip
    """Without ``threshold``, τ follows from N, S, κ and the scale."""
    if threshold is None:
        law = noise_of(counts, price)
        threshold = priority_threshold(counts.size, size, law, cut=cut, sides=sides)
    sample = threshold_summary(counts, price, draws, threshold=threshold, cut=cut, sides=sides)
    return prioritised(sample, size, draws)


# ---- Sums over subsets of a summary's cells, by the estimator that a reader's questions use ------


def sampled(keeping: Keeping, scale: Fraction, **more: Any) -> Sampled:
    """Cells with discrete Laplace noise, kept by this rule."""
    return Sampled(keeping, DiscreteLaplace(scale), **more)


def sum_of(values: ArrayLike, cells: int, how: Sampled) -> Estimate:
    """The sum over so many cells, of which those with these values were published."""
    return weighted_sum(values, np.ones(np.size(values)), Combination.of_cells(cells), how)


def table_of(facts: dict[str, Any], scale: Fraction, cells: int) -> TableFacts:
    """What a release would say about a table of one list with these facts."""
    law = DiscreteLaplace(scale)
    noise = {"std": law.std(), "interval_level": show(INTERVAL_LEVEL), "interval_half_width": 0}
    named = {"name": "cells", "file": "cells.parquet", "columns": ["a"], "cells": cells}
    named |= {"rows": cells, "sha256": "0" * 64, "transform": {"kind": "none", "ordered": []}}
    values = PublicList(name="a", kind="integer", length=cells, values=range(cells))
    facts = named | facts | {"noise": law.to_json() | noise}
    return shaped(facts, TableFacts, InputError).over(PublicDomain(attributes=(values,)))


def told_by(summary: Summary) -> Sampled:
    """How a summary was made, as its facts tell a reader."""
    scale = Fraction(summary.cost["sensitivity"]) / Fraction(summary.cost["epsilon"])
    return Sampled.of(table_of(summary.facts(), scale, summary.size))
