"""Sparse samples of a noisy table that is never built: empty cells, ancestors, sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import isqrt, prod

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crowdtally.core.counts import Counts, Keeping, Sides
from crowdtally.core.hierarchy import Dyadic
from crowdtally.core.integers import Integers, exact_product, exact_sum, positions, repeated
from crowdtally.core.numbers import exact, is_whole, whole_number
from crowdtally.core.values import one_of
from crowdtally.curator.summaries.base import Publishing, Summary
from crowdtally.errors import UsageError
from crowdtally.laws.balls import Probability, Real, as_ball, precision
from crowdtally.laws.base import CellNoise
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import Draws

# Empty cells of a domain of any size, drawn as if each had been given noise. See empty.md.


def inclusion_probability(law: CellNoise, keeping: Keeping) -> Probability:
    """The exact probability that an empty cell is kept, as ever smaller balls."""
    if keeping.keeps_all:
        return Fraction(1)
    return Real.ball(("inclusion", law, keeping), lambda bits: law.inclusion(keeping))


def empty_cells(counts: Counts, law: CellNoise, keeping: Keeping, draws: Draws) -> Integers:
    """Returns, sorted, the kept ones among the cells that are not listed.

    Each is kept independently with exactly the probability above. Skip sampling runs over *all*
    cells, and hits on listed ones are discarded: the others are as if these did not exist.
    """
    hits = draws.hits(inclusion_probability(law, keeping), counts.size)
    _, listed = positions(counts.cells, hits)
    return hits[~listed]


def empty_values(size: int, law: CellNoise, keeping: Keeping, draws: Draws) -> Integers:
    """Returns ``size`` values distributed as the noise of an empty cell, given that it is kept."""
    if keeping.keeps_all:
        return law.draw(draws, size)
    if isinstance(law, DiscreteLaplace):
        return _laplace_values(size, law.scale, keeping, draws)
    if isinstance(law, GaussianNoise) and not keeping.samples:
        return draws.gaussian_beyond(law.variance, keeping.least, keeping.sides, size)
    raise TypeError(f"no empty cells are drawn with {law.kind} noise by this rule")


def _laplace_values(size: int, scale: Fraction, keeping: Keeping, draws: Draws) -> Integers:
    """Pr[v] ∝ α^|v|·min(w/τ, 1) on the weights w ≥ κ, with both signs or the positive one."""
    if keeping.samples and keeping.threshold is not None:
        weights = _accepted(size, _proposal(scale, keeping.least, keeping.threshold, draws))
    else:
        weights = exact_sum(draws.geometric(1 / scale, size), keeping.least)
    if keeping.sides == "two":
        # No weight is 0 here: a random sign would make a 0 twice as likely as it is.
        return np.where(draws.bernoulli(Fraction(1, 2), size), weights, -weights)
    return weights


Proposal = Callable[[int], tuple[Integers, NDArray[np.bool_]]]
"""From a number n: n proposed weights, and which of them are accepted."""


def _accepted(size: int, propose: Proposal) -> Integers:
    """Returns ``size`` weights, each the first accepted one of its own proposals."""
    weights: Integers = np.empty(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        proposed, accepted = propose(pending.size)
        if proposed.dtype == object:
            weights = weights.astype(object, copy=False)
        weights[pending[accepted]] = proposed[accepted]
        pending = pending[~accepted]
    return weights


def _proposal(scale: Fraction, least: int, threshold: Fraction, draws: Draws) -> Proposal:
    """Of two proposals for one law, the one that is accepted more often: by public numbers.

    Their acceptances are as 1/E[ν] to 1/τ, E[ν] ≈ least + scale being the mean of the second; so
    the better one is accepted more than half of the time.
    """
    above, below = threshold.numerator, threshold.denominator

    def rising(size: int) -> tuple[Integers, NDArray[np.bool_]]:
        """ν ∝ ν·α^ν, accepted with min(1, τ/ν)."""
        weights = _rising(size, scale, least, draws)
        return weights, _coins(above, exact_product(weights, below), draws)

    def falling(size: int) -> tuple[Integers, NDArray[np.bool_]]:
        """ν ∝ α^ν, accepted with min(1, ν/τ)."""
        weights = exact_sum(draws.geometric(1 / scale, size), least)
        return weights, kept_by_chance(weights, threshold, draws)

    return rising if threshold >= least + scale else falling


def _rising(size: int, scale: Fraction, least: int, draws: Draws) -> Integers:
    """Returns ν ≥ least ≥ 1 with Pr ∝ ν·α^ν: least + G, or least + 1 + G + G′.

    (least + j)·α^j = least·α^j + j·α^j: two laws, with masses in the ratio least·(1−α) : α.
    """
    first = Real.ball(("first of two", scale, least), lambda bits: _first_share(scale, least))
    weights = exact_sum(draws.geometric(1 / scale, size), least)
    second = np.flatnonzero(~draws.bernoulli(first, size))
    more = exact_sum(draws.geometric(1 / scale, second.size), 1)
    added = np.zeros(size, dtype=more.dtype)
    added[second] = more
    return exact_sum(weights, added)


def _first_share(scale: Fraction, least: int) -> arb:
    rate = as_ball(1 / scale)
    first = least * -(-rate).expm1()
    return first / (first + (-rate).exp())


def kept_by_chance(weights: Integers, threshold: Fraction, draws: Draws) -> NDArray[np.bool_]:
    """Returns coins, each True with probability exactly min(w/τ, 1), for weights w ≥ 0."""
    above, below = threshold.numerator, threshold.denominator
    coins = np.asarray(weights >= -(-above // below), dtype=np.bool_)
    doubtful = np.flatnonzero(~coins)
    against = repeated(above, doubtful.size)
    # A doubtful w is below τ, so w·below is less than above: it fits where that does.
    numerators = exact_product(weights[doubtful], below).astype(against.dtype)
    coins[doubtful] = draws.bernoulli_each(numerators, against)
    return coins


def _coins(numerator: int, denominators: Integers, draws: Draws) -> NDArray[np.bool_]:
    """Returns coins, the i-th True with probability exactly min(1, numerator/denominators[i])."""
    coins = np.asarray(denominators <= numerator, dtype=np.bool_)
    doubtful = np.flatnonzero(~coins)
    against = denominators[doubtful]
    # A doubtful denominator is above the numerator: where one fits 64 bits, so does the other.
    numerators = repeated(numerator, against.size).astype(against.dtype)
    coins[doubtful] = draws.bernoulli_each(numerators, against)
    return coins


# The ancestor rule of trees: what lies below a node that was dropped is dropped too.


def without_orphans(summary: Summary, tree: Dyadic) -> Summary:
    """Drop every published node that has an unpublished ancestor: post-processing, at no cost.

    A node's count is at least that of each node below it; an ancestor that did not pass the filter
    says that what is below is noise. For a priority sample apply it to the whole filtered table and
    sample afterwards: a node that was sampled away says nothing.
    """
    if summary.publishing not in ("dense", "filter"):
        raise UsageError(
            f"the ancestor rule needs the output of a filter, not of {summary.publishing!r}: apply "
            "it after filtering and before sampling."
        )
    if summary.size != tree.size:
        raise UsageError(f"the tree has {tree.size} nodes, and the table {summary.size} cells.")
    parents, depth = _parents(summary.cells, tree)
    alive = np.zeros(len(summary.cells), dtype=np.bool_)
    for level in range(int(depth.max(initial=-1)) + 1):  # parents are one level up
        here = np.flatnonzero(depth == level)
        passed = np.ones(len(here), dtype=np.bool_)
        for parent in parents:
            place, found = positions(summary.cells, parent[here])
            passed &= found & (alive[place] | (parent[here] == summary.cells[here]))
        alive[here] = passed
    return replace(
        summary, cells=summary.cells[alive], values=summary.values[alive], consistency="ancestors"
    )


def _parents(numbers: Integers, tree: Dyadic) -> tuple[list[Integers], NDArray[np.int64]]:
    """For each ordered axis the node one step up on it (at its root, the node itself); the depth.

    The depth is the sum over the axes of the steps from the root.
    """
    parents: list[Integers] = []
    depth = np.zeros(len(numbers), dtype=np.int64)
    for place, axis in enumerate(tree.axes):
        if not axis.ordered:
            continue
        inner = prod(later.nodes for later in tree.axes[place + 1 :])
        code = numbers // inner % axis.nodes
        up = np.where(code > 0, (code - 1) // 2, code)
        parents.append(numbers - (code - up) * inner)
        first = np.array([(1 << level) - 1 for level in range(axis.levels + 1)], dtype=code.dtype)
        depth += np.searchsorted(first, code, side="right") - 1
    return parents, depth


# Cuts and thresholds for a wanted size: from public numbers alone, never from the records.
#
# All sizes are expected sizes. What is computed here will be published, so it may be rounded in
# any way that is written down: κ is the smallest that suffices; τ is rounded down, to 16
# significant bits, so that no fewer cells are expected than wanted. See ``sizes.md``.

LARGEST_SIZE = LARGEST_CUT = 1 << 40
LARGEST_GUESS = 1 << 62
_STEPS = 1 << 15  # a threshold is (1 + j/2^15)·2^i times the smallest one
_BITS = 128


def check_size(size: object) -> None:
    if not isinstance(size, int) or not is_whole(size) or not 1 <= size <= LARGEST_SIZE:
        raise UsageError(
            f"the size must be a whole number between 1 and {LARGEST_SIZE}: received {size!r}. "
            "It is how many cells to publish."
        )


def check_fields(summary: Publishing) -> None:
    """Refuse a cut, size, threshold or sides that no summary has; make the threshold exact."""
    of = f"of {type(summary).__name__}"
    cut, threshold = getattr(summary, "cut", None), getattr(summary, "threshold", None)
    if cut is not None:
        whole_number(cut, f"cut {of}", 0, LARGEST_CUT)
    if threshold is not None:
        found = Keeping(0, exact(threshold, f"threshold {of}")).threshold
        object.__setattr__(summary, "threshold", found)
    if summary.size is not None:
        check_size(summary.size)
    one_of(summary.sides, ("one", "two"), f"sides {of}")


def cut_for(cut: int | None, size: int | None, cells: int, law: CellNoise, sides: Sides) -> int:
    """κ in units: as given, or from the public N, S and law."""
    if cut is not None:
        return int(cut / law.unit)
    return filter_cut(cells, size or 1, law, sides=sides)


def filter_cut(cells: int, size: int, law: CellNoise, *, sides: Sides = "two") -> int:
    """The smallest κ ≥ 1 at which no more than ``size`` of ``cells`` empty cells are expected.

    >>> from crowdtally.laws.laplace import DiscreteLaplace
    >>> filter_cut(10**6, 10**5, DiscreteLaplace(Fraction(10)))
    24
    """
    check_size(size)
    return law.cut(Fraction(size, (2 if sides == "two" else 1) * cells))


def sampling_threshold(
    cells: int,
    size: int,
    law: CellNoise,
    *,
    cut: int = 0,
    sides: Sides = "two",
    total: Fraction | int = 0,
) -> Fraction:
    """The largest τ (of 16 significant bits) at which ``size`` or more cells are expected.

    Expected are N·p(κ, τ) empty cells, and total/τ cells for a public guess of the total count.
    Where even τ = max(κ, 1), which keeps all that passes the cut, expects fewer, it is that.

    >>> from crowdtally.laws.laplace import DiscreteLaplace
    >>> sampling_threshold(10**6, 10**5, DiscreteLaplace(Fraction(10)), total=10**7)
    Fraction(51157, 256)
    """
    check_size(size)
    if isinstance(total, bool) or not isinstance(total, int | Fraction) or total < 0:
        raise UsageError(f"the guess of the total must be an exact number ≥ 0: received {total!r}.")
    return _largest_threshold(cells, Fraction(size), law, cut, sides, Fraction(total))


def priority_threshold(
    cells: int, size: int, law: CellNoise, *, cut: int = 0, sides: Sides = "two"
) -> Fraction:
    """A τ at which a threshold sample has more than S cells, but with a chance of about 10^-8.

    Of empty cells alone S + 1 + m are expected, and occupied cells are kept no less often; m is
    about 6·√S + 36. Where that many cannot be expected, nothing that passes the cut is sampled
    away.
    """
    check_size(size)
    wanted = size + 1 + 6 * isqrt(size + 1) + 42
    return _largest_threshold(cells, Fraction(wanted), law, cut, sides, Fraction(0))


def expected_size(cells: int, law: CellNoise, keeping: Keeping, total: Fraction | int = 0) -> float:
    """How many cells are expected if all were empty, and of a guessed total beside them."""
    with precision(_BITS):
        return float(_expected(cells, law, keeping, Fraction(total)))


def _largest_threshold(
    cells: int, wanted: Fraction, law: CellNoise, cut: int, sides: Sides, total: Fraction
) -> Fraction:
    def enough(threshold: Fraction) -> bool:
        keeping = Keeping(cut, threshold, sides)
        with precision(_BITS):
            return bool(_expected(cells, law, keeping, total) >= as_ball(wanted))

    base = Fraction(max(cut, 1))
    if not enough(base):
        return base
    while enough(2 * base):
        base *= 2
    low, high = 0, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(base + base * middle / _STEPS) else (low, middle)
    return base + base * low / _STEPS


def _expected(cells: int, law: CellNoise, keeping: Keeping, total: Fraction) -> arb:
    p = inclusion_probability(law, keeping)
    chance = p.enclose(_BITS) if isinstance(p, Real) else as_ball(p)
    guessed = as_ball(total / keeping.threshold) if keeping.threshold else as_ball(0)
    return cells * chance + guessed


# One sample of a noisy table that is never built: all sparse publishings start here.
#
# Contract. Relation: counts whose distance is within their bound. Output law: as if every one of
# the N cells had been given independent noise of the law and then been kept or dropped by the
# rule, listed in the order of the cells: a function of the dense table, at its price. Time and
# memory are those of the listed cells and of the output, whatever N is. The proof is in
# ``empty.md``.

LARGEST_SAMPLE = 300_000_000
"""Expected kept empty cells beyond which a sample is refused: about 15 GB while it is drawn."""


def draw_sample(
    counts: Counts, law: CellNoise, keeping: Keeping, draws: Draws
) -> tuple[Integers, Integers]:
    """Returns (cells, noisy values) of the kept cells, sorted by cell.

    Of Gaussian noise what passes the cut is drawn, and sampled afterwards: post-processing.
    """
    refuse(counts, law, keeping)
    if keeping.samples and isinstance(law, GaussianNoise):
        whole = draw_sample(counts, law, replace(keeping, threshold=None), draws)
        return _by_chance(*whole, keeping, draws)
    cells, values = _occupied(counts, law, keeping, draws)
    empty = empty_cells(counts, law, keeping, draws)
    noise = empty_values(len(empty), law, keeping, draws)
    return _merged(cells, values, empty, noise)


def refuse(counts: Counts, law: CellNoise, keeping: Keeping) -> None:
    """Refuse, by public facts alone, what has no meaning or would not fit."""
    if counts.signed and keeping.sides == "one":
        raise UsageError(
            "one-sided publishing drops negative values, and here they are half of the "
            "information (Haar coefficients, sketch buckets): use two-sided publishing."
        )
    expected = expected_size(counts.size, law, keeping)
    if expected > LARGEST_SAMPLE:
        raise UsageError(
            f"of {counts.size} cells about {expected:.3g} empty ones would be published, and at "
            f"most {LARGEST_SAMPLE} fit: ask for a smaller size, or raise the cut or the threshold."
        )


def _by_chance(
    cells: Integers, values: Integers, keeping: Keeping, draws: Draws
) -> tuple[Integers, Integers]:
    if keeping.threshold is None:
        return cells, values
    weights = np.abs(values) if keeping.sides == "two" else values
    kept = np.flatnonzero(kept_by_chance(weights, keeping.threshold, draws))
    return cells[kept], values[kept]


def _occupied(
    counts: Counts, law: CellNoise, keeping: Keeping, draws: Draws
) -> tuple[Integers, Integers]:
    """The listed cells: noise, then the rule, one by one."""
    noisy = exact_sum(counts.values, law.draw(draws, len(counts.values)))
    weights = np.abs(noisy) if keeping.sides == "two" else noisy
    passed = np.flatnonzero(weights >= keeping.least)
    found = counts.cells[passed], noisy[passed]
    return _by_chance(*found, keeping, draws) if keeping.samples else found


def _merged(
    cells: Integers, values: Integers, empty: Integers, noise: Integers
) -> tuple[Integers, Integers]:
    """Both lists as one, by cell: any other order would tell which cells were occupied."""
    together = np.concatenate([cells, empty])
    order = np.argsort(together, kind="stable")
    return together[order], np.concatenate([values, noise])[order]
