"""What a release must draw for its ε: worked out from the proof notes, not asked of the code.

With noise of scale b on counts that one user changes by at most L, the cost is L/b. A choice by
exp(rate·score) costs 2·rate·Δ, or rate·Δ where all scores move one way, Δ being what one user can
change a score by. A sparse table must use, for its empty cells, the probabilities that the same
noise on every cell would give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any

from flint import arb

from crowdtally.core.counts import Keeping
from crowdtally.laws.balls import as_ball, precision
from kit.recording import Drawn

UNITS, SCORE_UNITS = 2**20, 17_297_280
"""Units of a count where rows are scaled (bounding/dpsense.md); in DPSense-S's scores."""
Options = Mapping[str, Any]
Axes = Mapping[str, int]


def user_changes(options: Options, table: str, bound: int, *, by_user: bool, times: int = 1) -> int:
    """L of a table before its transform, in units; ``times`` is how often a record may count.

    Without users it is how many rows are one person's.
    """
    if not by_user:
        return times
    if options.get("bounding") in ("dpsense", "dpsense-s"):
        return UNITS * bound
    return bound * (bound - 1) // 2 if table == "pairs" else bound * times


def _levels(length: int) -> int:
    """k with 2^k ≥ length, the least."""
    return next(k for k in range(64) if 2**k >= length)


def _transform(options: Options, axes: Axes) -> str:
    """A table without the ordered axes stays as it is."""
    kind = str(options.get("transform", "none"))
    return kind if set(options.get("ordered", ())) <= axes.keys() else "none"


def counted_in(options: Options, axes: Axes) -> int:
    """In how many nodes, coefficients or buckets one record counts."""
    kind, ordered = _transform(options, axes), options.get("ordered", ())
    if kind in ("dyadic", "haar"):
        return prod(_levels(axes[name]) + 1 for name in ordered)
    return int(options["sketch_rows"]) if kind == "sketch" else 1


def published_from(options: Options, axes: Axes) -> int:
    """How many cells, nodes, coefficients or buckets there are."""
    kind, ordered = _transform(options, axes), options.get("ordered", ())
    if kind == "sketch":
        return int(options["buckets"] * options["sketch_rows"])
    widths = dict(axes)
    for name in ordered if kind != "none" else ():
        leaves = 2 ** _levels(axes[name])
        widths[name] = 2 * leaves - 1 if kind == "dyadic" else leaves
    return prod(widths.values())


# ---- choices -------------------------------------------------------------------------------------


def cost_of_choice(drawn: Drawn, options: Options, cells: int, published: Fraction) -> Fraction:
    """ε of one choice, its scores in the units that choosing/*.md states."""
    a, rate = published.numerator, Fraction(drawn.parameter)
    if options["choose"] == "rank":  # −|a·#{…} − b·N|: one user moves it by a, either way
        return 2 * rate * a
    if options["bounding"] == "dpsense":  # a·Σ min(RC, θ) − …: up by at most a·θ_max, all of them
        return rate * a * int(options["max_records"])
    whole = lcm(*(Fraction(s).denominator for s in options["scalings"].split(",")))
    return 2 * rate * a * int(options["cap"]) * cells * SCORE_UNITS * whole


# ---- tables --------------------------------------------------------------------------------------


def check_dense(drawn: Sequence[Drawn], epsilon: Fraction, bound: int, cells: int) -> None:
    """One Laplace number for every cell, and nothing else."""
    (noise,) = drawn
    assert (noise.law, noise.size) == ("laplace", cells)
    assert bound / noise.parameter == epsilon


def check_sparse(
    drawn: Sequence[Drawn], epsilon: Fraction, bound: int, cells: int, facts: Options
) -> None:
    """As if every cell had got its Laplace number: the public rule is read from the release."""
    scale, tau = bound / epsilon, facts["sampling_threshold"]
    keeping = Keeping(facts["cut"], None if tau is None else Fraction(tau), facts["sides"])
    by_law: dict[str, list[Drawn]] = {}
    for one in drawn:
        by_law.setdefault(one.law, []).append(one)
    assert len(by_law["laplace"]) == (2 if keeping.keeps_all else 1)
    assert {one.parameter for one in by_law.pop("laplace")} == {scale}
    assert {one.parameter for one in by_law.pop("geometric", [])} <= {1 / scale}
    (hits,) = by_law.pop("hits")
    assert hits.size == cells
    assert _is(hits.parameter, _inclusion, scale, keeping)
    for coins in by_law.pop("bernoulli", []):
        p = coins.parameter
        assert p == Fraction(1, 2) or _is(p, _first_share, scale, keeping)
    for coins in by_law.pop("bernoulli_each", []):
        assert keeping.threshold is not None
        assert all(_is_share(p, keeping.threshold) for p in coins.parameter)
    for tickets in by_law.pop("uniforms_below", []):
        assert facts["size"] is not None
        assert set(tickets.parameter) == {2**63}
    assert not by_law


def _is_share(p: Fraction, tau: Fraction) -> bool:
    """w/τ or τ/w for a whole weight w, at most 1."""
    return 0 <= p <= 1 and 1 in ((p * tau).denominator, (tau / p).denominator if p else 1)


def _alpha(scale: Fraction) -> arb:
    return (-as_ball(1 / scale)).exp()


def _first_share(scale: Fraction, keeping: Keeping) -> arb:
    """a(1−α)/(a(1−α)+α) with a = max(κ, 1), of publishing/empty.md."""
    least, alpha = max(keeping.cut, 1), _alpha(scale)
    return least * (1 - alpha) / (least * (1 - alpha) + alpha)


def _inclusion(scale: Fraction, keeping: Keeping) -> arb:
    """The chance of an empty cell, by the closed forms of filter.md and threshold.md."""
    alpha, cut = _alpha(scale), keeping.cut
    if keeping.threshold is None or keeping.threshold <= cut:
        both = 2 * alpha**cut / (1 + alpha)
        kept_surely = keeping.sides == "two" and cut == 0
        return arb(1) if kept_surely else both / (1 if keeping.sides == "two" else 2)
    low, t = max(cut, 1), int(keeping.threshold)
    rising = low * alpha**low - (low - 1) * alpha ** (low + 1)
    rising = rising - (t + 1) * alpha ** (t + 1) + t * alpha ** (t + 2)
    both = 2 * rising / (as_ball(keeping.threshold) * (1 - alpha**2))
    both = both + 2 * alpha ** (t + 1) / (1 + alpha)
    return both if keeping.sides == "two" else both / 2


def _is(p: Any, law: Callable[[Fraction, Keeping], arb], scale: Fraction, rule: Keeping) -> bool:
    """Whether a probability is that of the law, to 400 bits."""
    with precision(2048):
        wanted = law(scale, rule)
        ball = as_ball(p) if isinstance(p, Fraction) else p.enclose(400)
        return bool(ball.overlaps(wanted)) and ball.rel_accuracy_bits() >= 400
