"""Every way to ask for a release on a small town, and what each must draw for its ε."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm, prod
from typing import Any

import pyarrow as pa
from flint import arb

import crowdtally as ct
from crowdtally.core.counts import Keeping
from crowdtally.core.records import Records
from crowdtally.curator.request.request import Request, make_request
from crowdtally.laws.balls import as_ball, precision
from kit.draws import Drawn

# ---- Every way to ask for a release: shapes of the records × methods × forms, on a small town ----


ITEMS, DAYS = ("a", "b", "c"), tuple(range(5))
EPSILON = "6/7"
"""Neither a power of two nor a decimal: what is rounded anywhere shows."""


def town(users: int = 40, records: int = 5) -> pa.Table:
    """Some users with more records than are kept, some with few."""
    rows = [
        (f"u{user}", ITEMS[(user + place) % 3], DAYS[(user * place) % 5], 1 + user % 3)
        for user in range(users)
        for place in range(1 + (user + 3) % records)
    ]
    names = ("user", "item", "day", "weight")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@dataclass(frozen=True)
class Shape:
    """What is counted of the records."""

    roles: Mapping[str, Any]
    domain: ct.Domain | None
    tables: Mapping[str, Mapping[str, int]]
    """The tables of counts: the length of each axis, by name."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What goes with it in ``make_request``."""
    by_user: bool = True
    """Whether users are bounded, so that every method may be asked for."""
    times: int = 1
    """How often a record counts at most; without users, how many rows are one person's at most."""

    def records(self, source: object) -> Records:
        return ct.read(source, **self.roles)

    def request(self, source: object, **options: Any) -> Request:
        given = {"epsilon": EPSILON} | dict(self.options) | options
        return make_request(self.records(source), self.domain, **given)


_USER = {"user": "user", "item": "item"}
_DAYS = {"contexts": ["day"]}
_ROW = {"user_per_row": True, "item": "item"}
_LISTED = ct.Domain(ITEMS)
_IN_CONTEXT = ct.Domain(ITEMS, {"day": DAYS})
_ATTRIBUTES = ct.Domain(attributes={"item": ITEMS, "day": DAYS})
_ITEM, _BOTH = {"item": 3}, {"item": 3, "day": 5}

SHAPES = {
    "items": Shape(_USER, _LISTED, {"items": _ITEM}),
    "contexts": Shape(_USER | _DAYS, _IN_CONTEXT, {"items": _ITEM, "edges": _BOTH}),
    "pairs": Shape(_USER, _LISTED, {"items": _ITEM, "pairs": {"pair": 3}}, {"pairs": True}),
    "attributes": Shape(
        {"user": "user", "attributes": ["item", "day"]}, _ATTRIBUTES, {"cells": _BOTH}
    ),
    "quantities": Shape(
        _USER | _DAYS | {"quantity": "weight", "max_quantity": 2}, _IN_CONTEXT,
        {"items": _ITEM, "edges": _BOTH}, times=2,
    ),
    "rows": Shape(_ROW | _DAYS, _IN_CONTEXT, {"items": _ITEM, "edges": _BOTH}, by_user=False),
    "bounded elsewhere": Shape(
        {"bounded_to": 3, "item": "item"} | _DAYS, _IN_CONTEXT, {"items": _ITEM, "edges": _BOTH},
        by_user=False, times=3,
    ),
    "weights": Shape(_ROW | {"weight": "weight"}, _LISTED, {"items": _ITEM}, by_user=False),
    "derived": Shape(
        {
            "user": "user",
            "item": {"letter": "lower(item)"},
            "where": "weight <> 2 OR day > 0",
            "contexts": {"day": "(hour(to_timestamp(day * 3600)) + 19) % 24"},
            "timezone": "Asia/Kolkata",
            "types": {"weight": "int64", "day": "int64"},
        },
        ct.Domain(ITEMS, {"day": DAYS}, item="letter"),
        {"items": {"letter": 3}, "edges": {"letter": 3, "day": 5}},
    ),
    "discovery": Shape(
        _USER, None, {},
        {"discover_items": True, "delta": "1e-6", "max_records": 2, "noise": "laplace"},
        by_user=False,
    ),
    "discovery in context": Shape(
        _USER | _DAYS, None, {},
        {"discover": "item,day", "delta": "1e-6", "max_records": 2, "noise": "laplace"},
        by_user=False,
    ),
}  # fmt: skip

_POPULAR = {"max_records": 3, "popularity_records": 2}
_ROWS = {"max_records": 3, "count": "users"}
METHODS: dict[str, dict[str, Any]] = {
    "sra": {"max_records": 3},
    "sra, users": {"max_records": 3, "count": "users"},
    "declared": {"bounding": "declared", "max_records": 4},
    "hpa": {"bounding": "hpa"} | _POPULAR,
    "dpsense": {"bounding": "dpsense"} | _ROWS,
    "dpsense, capped": {"bounding": "dpsense", "max_records": 3, "cap": 2},
    "dpsense-s": {"bounding": "dpsense-s", "scalings": "1.5"} | _ROWS,
    "sra, rank": {"max_records": 4, "choose": "rank"},
    "hpa, rank": {"bounding": "hpa", "choose": "rank"} | _POPULAR,
    "dpsense, rank": {"bounding": "dpsense", "choose": "rank"} | _ROWS,
    "dpsense, dpsense": {"bounding": "dpsense", "choose": "dpsense", "max_records": 3, "cap": 2},
    "dpsense-s, dpsense": {
        "bounding": "dpsense-s", "choose": "dpsense", "max_records": 3, "cap": 2,
        "scalings": "1,1.25,2",
    },
}  # fmt: skip

_DYADIC, _HAAR = ({"transform": kind, "ordered": ["day"]} for kind in ("dyadic", "haar"))
_OF_ITEMS = {"transform": "dyadic", "ordered": ["item"]}
FORMS: dict[str, dict[str, Any]] = {
    "dense": {},
    "filter, cut": {"publishing": "filter", "cut": 4},
    "filter, size": {"publishing": "filter", "size": 2},
    "filter, one side": {"publishing": "filter", "cut": 0, "sides": "one"},
    "filter that keeps all": {"publishing": "filter", "cut": 0},
    "threshold": {"publishing": "threshold", "threshold": "19/3"},
    "threshold, high": {"publishing": "threshold", "threshold": "25"},
    "threshold, one side": {"publishing": "threshold", "threshold": "7/2", "sides": "one"},
    "threshold, size": {"publishing": "threshold", "size": 2, "guess_total": 100},
    "priority": {"publishing": "priority", "size": 2},
    "priority, threshold": {"publishing": "priority", "size": 2, "threshold": "3"},
    "filter-priority": {"publishing": "filter-priority", "size": 2, "cut": 3},
    "filter-priority, size": {"publishing": "filter-priority", "size": 2, "sides": "one"},
    "dyadic": _DYADIC,
    "dyadic of items": _OF_ITEMS,
    "dyadic, filter": _DYADIC | {"publishing": "filter", "cut": 3},
    "dyadic, threshold": _DYADIC | {"publishing": "threshold", "threshold": "19/3"},
    "dyadic, filter-priority": _DYADIC | {"publishing": "filter-priority", "size": 3},
    "haar": _HAAR,
    "haar, filter": _HAAR | {"publishing": "filter", "cut": 3},
    "haar, priority": _HAAR | {"publishing": "priority", "size": 3},
    "sketch": {"transform": "sketch", "buckets": 4, "sketch_rows": 3},
}


def fitting(shape: str, method: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
    """Whether the three go together; what is refused instead is tested where it is refused."""
    if shape == "pairs":
        scales = method.get("bounding") in ("dpsense", "dpsense-s")
        return "transform" not in form and not scales
    if shape == "derived":
        return not form or "publishing" in form
    if shape == "quantities" and method.get("count") == "users":
        return False
    if shape == "attributes" and "popularity_records" in method:
        return False
    with_days = shape not in ("items", "weights")
    return with_days or "day" not in form.get("ordered", ())


def every_request() -> Iterator[tuple[str, str, str]]:
    """The names of all that go together: shape, method and form."""
    for name, shape in SHAPES.items():
        methods = METHODS if shape.by_user else {"none": {}}
        forms = FORMS if shape.domain is not None else {"dense": {}}
        for method, options in methods.items():
            for form, given in forms.items():
                if fitting(name, options, given):
                    yield name, method, form


def asked(method: str, form: str) -> dict[str, Any]:
    """The options of one of them."""
    return {**METHODS.get(method, {}), **FORMS[form]}


# ---- What a release must draw for its ε: worked out from the proof notes, not asked of the
#      code
#
# With noise of scale b on counts that one user changes by at most L, the cost is L/b. A choice by
# exp(rate·score) costs 2·rate·Δ, or rate·Δ where all scores move one way, Δ being what one user
# can change a score by. A sparse table must use, for its empty cells, the probabilities that the
# same noise on every cell would give.


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
