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
        {"method": ct.Discover("item", 2), "delta": "1e-6", "noise": "laplace"},
        by_user=False,
    ),
    "discovery in context": Shape(
        _USER | _DAYS, None, {},
        {"method": ct.Discover(["item", "day"], 2), "delta": "1e-6", "noise": "laplace"},
        by_user=False,
    ),
}  # fmt: skip

_USERS = {"count": "users"}
METHODS: dict[str, dict[str, Any]] = {
    "sra": {"method": ct.SRA(3)},
    "sra, users": {"method": ct.SRA(3), "count": "users"},
    "declared": {"method": ct.Declared(4)},
    "hpa": {"method": ct.HPA(3, popularity_records=2)},
    "dpsense": {"method": ct.DPSense(3)} | _USERS,
    "dpsense, capped": {"method": ct.DPSense(3, cap=2)},
    "dpsense-s": {"method": ct.DPSenseS(3, scalings="1.5")} | _USERS,
    "sra, rank": {"method": ct.SRA(4, choose="rank")},
    "hpa, rank": {"method": ct.HPA(3, popularity_records=2, choose="rank")},
    "dpsense, rank": {"method": ct.DPSense(3, choose="rank")} | _USERS,
    "dpsense, dpsense": {"method": ct.DPSense(3, cap=2, choose="dpsense")},
    "dpsense-s, dpsense": {
        "method": ct.DPSenseS(3, cap=2, choose="dpsense", scalings=["1", "1.25", "2"]),
    },
}  # fmt: skip

_DYADIC, _HAAR = {"transform": ct.Dyadic("day")}, {"transform": ct.Haar("day")}
_OF_ITEMS = {"transform": ct.Dyadic("item")}
FORMS: dict[str, dict[str, Any]] = {
    "dense": {},
    "filter, cut": {"summary": ct.Filter(cut=4)},
    "filter, size": {"summary": ct.Filter(size=2)},
    "filter, one side": {"summary": ct.Filter(cut=0, sides="one")},
    "filter that keeps all": {"summary": ct.Filter(cut=0)},
    "threshold": {"summary": ct.Threshold("19/3")},
    "threshold, high": {"summary": ct.Threshold("25")},
    "threshold, one side": {"summary": ct.Threshold("7/2", sides="one")},
    "threshold, size": {"summary": ct.Threshold(size=2, guess_total=100)},
    "priority": {"summary": ct.Priority(2)},
    "priority, threshold": {"summary": ct.Priority(2, threshold="3")},
    "filter-priority": {"summary": ct.FilterPriority(2, cut=3)},
    "filter-priority, size": {"summary": ct.FilterPriority(2, sides="one")},
    "dyadic": _DYADIC,
    "dyadic of items": _OF_ITEMS,
    "dyadic, filter": _DYADIC | {"summary": ct.Filter(cut=3)},
    "dyadic, threshold": _DYADIC | {"summary": ct.Threshold("19/3")},
    "dyadic, filter-priority": _DYADIC | {"summary": ct.FilterPriority(3)},
    "haar": _HAAR,
    "haar, filter": _HAAR | {"summary": ct.Filter(cut=3)},
    "haar, priority": _HAAR | {"summary": ct.Priority(3)},
    "sketch": {"transform": ct.Sketch(4, rows=3)},
}


def fitting(shape: str, method: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
    """Whether the three go together; what is refused instead is tested where it is refused."""
    if shape == "pairs":
        return "transform" not in form and not isinstance(method.get("method"), ct.DPSense)
    if shape == "derived":
        return not form or "summary" in form
    if shape == "quantities" and method.get("count") == "users":
        return False
    if shape == "attributes" and isinstance(method.get("method"), ct.HPA):
        return False
    with_days = shape not in ("items", "weights")
    return with_days or "day" not in _ordered(form)


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
    if isinstance(options.get("method"), ct.DPSense):
        return UNITS * bound
    return bound * (bound - 1) // 2 if table == "pairs" else bound * times


def _levels(length: int) -> int:
    """k with 2^k ≥ length, the least."""
    return next(k for k in range(64) if 2**k >= length)


def _ordered(options: Options) -> tuple[str, ...]:
    return tuple(getattr(options.get("transform"), "columns", ()))


def _transform(options: Options, axes: Axes) -> Any:
    """A table without the ordered axes stays as it is."""
    return options.get("transform") if set(_ordered(options)) <= axes.keys() else None


def counted_in(options: Options, axes: Axes) -> int:
    """In how many nodes, coefficients or buckets one record counts."""
    match _transform(options, axes):
        case ct.Dyadic() | ct.Haar():
            return prod(_levels(axes[name]) + 1 for name in _ordered(options))
        case ct.Sketch(rows=rows):
            return rows
    return 1


def published_from(options: Options, axes: Axes) -> int:
    """How many cells, nodes, coefficients or buckets there are."""
    transform, widths = _transform(options, axes), dict(axes)
    if isinstance(transform, ct.Sketch):
        return transform.buckets * transform.rows
    for name in _ordered(options) if transform is not None else ():
        leaves = 2 ** _levels(axes[name])
        widths[name] = 2 * leaves - 1 if isinstance(transform, ct.Dyadic) else leaves
    return prod(widths.values())


# ---- choices -------------------------------------------------------------------------------------


def cost_of_choice(drawn: Drawn, options: Options, cells: int, published: Fraction) -> Fraction:
    """ε of one choice, its scores in the units that choosing/*.md states."""
    a, rate, method = published.numerator, Fraction(drawn.parameter), options["method"]
    if method.choose == "rank":  # −|a·#{…} − b·N|: one user moves it by a, either way
        return 2 * rate * a
    if not isinstance(method, ct.DPSenseS):  # a·Σ min(RC, θ) − …: up by at most a·θ_max, all
        return rate * a * method.max_records
    whole = lcm(*(Fraction(s).denominator for s in method.scalings))
    return 2 * rate * a * method.cap * cells * SCORE_UNITS * whole


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
