"""A request for a release: every public parameter, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crowdtally.curator.bounding.scales import l1_bound
from crowdtally.curator.choosing.candidates import check_theta
from crowdtally.curator.publishing.sizes import expected_size
from crowdtally.curator.request.form import Form, FormOptions, check_ordered, make_form
from crowdtally.curator.request.method import ROW, Method, MethodOptions, make_method
from crowdtally.curator.request.split import complete_split
from crowdtally.curator.steps.shape import form_factor, form_keeping, form_layout
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.values.domain import RESERVED, Domain
from crowdtally.values.epsilon import Delta, Epsilon
from crowdtally.values.keeping import Keeping
from crowdtally.values.layout import Layout, Pairs, grid
from crowdtally.values.rational import show
from crowdtally.values.records import Records
from crowdtally.values.transformed import Nodes

LARGEST_DENSE = 500_000_000
"""Cells beyond which a dense table is refused: about 20 GB while it is written."""
LARGEST_SAMPLE = 200_000_000
"""Published cells beyond which a summary is refused: about 20 GB while it is written."""
_LARGEST_SCALE = 2**50  # in units of a count: beyond it noise is beyond any count
_LARGEST_EPSILON = 10_000  # beyond it e^(−ε) is not told apart from 0
_WIDEST_ITEMS = 2**62


class ReleaseOptions(MethodOptions, FormOptions, total=False):
    """How users are bounded, what is counted, and in which form it is published."""


@dataclass(frozen=True)
class Request:
    """What a curator asks for. All of it is public; none of it was read off the records."""

    records: Records
    """The records and the roles of their columns."""
    domain: Domain | None
    """The public cells; None where the items are discovered."""
    epsilon: Epsilon
    """The whole cost of the release."""
    delta: Delta
    """The whole δ; 0 unless items are discovered."""
    method: Method
    """How users are bounded and what is counted."""
    form: Form
    """The transform, and which cells are published."""
    shares: Mapping[str, Fraction]
    """Each part's exact share of ε."""
    strict: bool = False
    """Stop, before anything is charged, where a row would be dropped."""

    def part(self, name: str) -> Epsilon:
        """The ε of one part."""
        return self.epsilon * self.shares[name]

    def layouts(self, domain: Domain | None = None) -> dict[str, Layout]:
        """The public cells of each table of counts; ``domain`` may have the records' own types."""
        domain = domain or self.domain
        if domain is None:
            return {}
        if not domain.has_items:
            return {"cells": grid(domain.axes)}
        tables: dict[str, Layout] = {"items": grid(domain.axes[:1])}
        if self.method.pairs:
            tables["pairs"] = Pairs(domain.items)
        elif domain.contexts:
            tables["edges"] = grid(domain.axes)
        return tables

    def table_epsilon(self, table: str) -> Epsilon:
        """The ε of a table of counts; pairs of items stand where items in context would."""
        return self.part("edges" if table == "pairs" else table)

    def sensitivity(self, table: str) -> tuple[int, Fraction]:
        """The L1 bound of a table in its public form, in units, and what a unit means.

        Where the bound is chosen privately: with the largest candidate.
        """
        bound, unit = l1_bound(self.method, table, self.method.limit)
        return bound * form_factor(self.form, self.layouts()[table]), unit


_METHOD = frozenset(MethodOptions.__annotations__)


def make_request(
    records: Records,
    domain: Domain | None,
    *,
    epsilon: object,
    delta: object = 0,
    split: Mapping[str, object] | None = None,
    strict: bool = False,
    **options: Any,
) -> Request:
    """Check every public parameter and put them together; ``options`` are ``ReleaseOptions``."""
    _check_kinds(records, domain, split)
    unknown = sorted(options.keys() - ReleaseOptions.__annotations__.keys())
    if unknown:
        known = did_you_mean(unknown[0], ReleaseOptions.__annotations__)
        raise UsageError(f"unknown option {unknown[0]!r} of a release. {known}")
    method = make_method(**{k: v for k, v in options.items() if k in _METHOD})
    form = make_form(**{k: v for k, v in options.items() if k not in _METHOD})
    if records.user is None:
        method = _by_row(method)
    exact_delta = Delta.of(delta)
    if domain is not None and records.item is not None and domain.has_items:
        domain = domain.named(records.item)
    _check_discovery(records, domain, method, form, exact_delta)
    if domain is not None:
        _check_domain(records, domain, method, form)
    shares = complete_split(split, _parts(method, domain), method.choose)
    total = Epsilon.of(epsilon)
    request = Request(records, domain, total, exact_delta, method, form, shares, strict)
    _check_sizes(request)
    return request


def _check_kinds(records: object, domain: object, split: object) -> None:
    """Refuse what a notebook passes by mistake, before it fails somewhere inside."""
    for given, kind, words in (
        (records, Records, "records come from ct.read(SOURCE, user=…, item=…)"),
        (domain, Domain | None, "a domain comes from ct.Domain(ITEMS, {CONTEXT: VALUES})"),
        (split, Mapping | None, "a split is {'items': '0.5', 'edges': '0.5'}"),
    ):
        if not isinstance(given, kind):
            raise UsageError(f"{words}: received a {type(given).__name__}.")


def _by_row(method: Method) -> Method:
    """Each row is one person: rules that bound users, and what goes with them, are refused."""
    if replace(method, limit=10, what="records") != Method():
        raise UsageError(
            "with --user-per-row each row is one person, so there is nothing to bound or choose: "
            "remove --bounding, --choose, --pairs, --discover-items and what goes with them."
        )
    return Method(ROW, 1, what="users")


def _parts(method: Method, domain: Domain | None) -> list[str]:
    if domain is not None and not domain.has_items:
        return [*(["choose"] if method.choose else []), "cells"]
    return [
        *(["choose"] if method.choose else []),
        *(["total"] if method.discover else []),
        *(["popularity"] if method.popularity_records else []),
        "items",
        *(["edges"] if method.pairs or (domain is not None and domain.contexts) else []),
    ]


def _check_discovery(
    records: Records, domain: Domain | None, method: Method, form: Form, delta: Delta
) -> None:
    if method.discover != (delta.value > 0):
        raise UsageError(
            "--discover-items and --delta go together: items that no public list names can only be "
            "released with a small probability delta of exceeding epsilon, such as --delta 1e-9."
        )
    if method.discover and (domain is not None or records.contexts or form != Form()):
        raise UsageError(
            "--discover-items finds the items itself: give no --items, --context, --transform or "
            "--publishing with it."
        )
    if domain is None and not method.discover:
        raise UsageError(
            "which items may appear must be decided without looking at the records: give the "
            "public list with --items FILE, or let items be discovered with --discover-items "
            "--delta D."
        )


def _check_domain(records: Records, domain: Domain, method: Method, form: Form) -> None:
    if domain.has_items != (records.item is not None):
        raise UsageError("the domain must have items where the records do, else attributes.")
    names = {axis.name for axis in (domain.contexts if domain.has_items else domain.axes)}
    declared = set(records.contexts) if domain.has_items else set(records.attributes)
    for name in sorted(declared ^ names):
        raise UsageError(
            f"{name!r} needs both its column or expression (--context or --attributes) and its "
            f"list of values (--values {name}=a,b,c)."
        )
    if not domain.has_items and (method.pairs or method.popularity_records):
        raise UsageError("a table of attributes has no items to rank or to pair: use --item.")
    if domain.has_items and domain.size > _WIDEST_ITEMS:
        raise UsageError("items × contexts are beyond 2^62 cells: use --attributes for so many.")
    if method.pairs and domain.contexts:
        raise UsageError("--pairs counts pairs of items: give no --context with it.")
    if method.pairs and method.limit < 2:
        raise UsageError(
            "a user of whom one record is kept has no pairs: --pairs needs --max-records 2 or more."
        )
    if method.pairs and len(domain.items) < 2:
        raise UsageError("a list of one item has no pairs: --pairs needs two items or more.")
    if method.pairs and form.transform != "none":
        raise UsageError("--pairs cannot be transformed: use --transform none.")
    if not method.samples and not method.by_row:
        smallest = len(domain.items) if domain.has_items else domain.size
        weighed = method.limit * len(method.scalings) if method.choose == "dpsense" else 1
        check_theta(method.limit, smallest, method.cap, weighed)
    check_ordered(form, [axis.name for axis in domain.axes])


def _check_sizes(request: Request) -> None:
    form = request.form
    if not form.is_dense and (form.size or 0) > LARGEST_SAMPLE:
        raise UsageError(f"--size must be at most {LARGEST_SAMPLE}: received {form.size}.")
    _check_popularity(request)
    if request.domain is None:
        _check_names([str(request.records.item)])
    for name, layout in request.layouts().items():
        shaped = form_layout(form, layout)
        size = shaped.size
        _check_names(shaped.names)
        bound, unit = request.sensitivity(name)
        scale = bound / request.table_epsilon(name).value
        if scale * unit > _LARGEST_SCALE:
            raise UsageError(
                f"the noise of {name!r} would be beyond any count: epsilon "
                f"{show(request.epsilon.value)} is too small for a bound of "
                f"{request.method.limit}. Raise --epsilon or lower --max-records."
            )
        if form.is_dense and size > LARGEST_DENSE:
            raise UsageError(
                f"the table {name!r} would have {size} cells, and a dense release has at most "
                f"{LARGEST_DENSE}: use --publishing filter-priority --size S, shorten the lists or "
                "use fewer contexts."
            )
        if not form.is_dense:
            keeping = form_keeping(form, size, scale, unit, tree=isinstance(shaped, Nodes))
            _check_odds(name, keeping, request.table_epsilon(name))
            _check_summary(name, size, expected_size(size, scale, keeping))


def _check_names(columns: Sequence[str]) -> None:
    """Refuse columns that a table's file cannot tell apart: DuckDB ignores upper and lower case."""
    seen: set[str] = set()
    for column in (*columns, *RESERVED):
        if column.lower() in seen:
            raise UsageError(
                f"two columns of the release would be called {column!r}, upper and lower case "
                f"being one: rename one, for example --context my_{column}=COLUMN."
            )
        seen.add(column.lower())


def _check_popularity(request: Request) -> None:
    records = request.method.popularity_records
    if records and records / request.part("popularity").value > _LARGEST_SCALE:
        raise UsageError(
            f"the noise of the popularity would be beyond any count: epsilon "
            f"{show(request.epsilon.value)} is too small for --popularity-records {records}. Raise "
            "one or lower the other."
        )


def _check_odds(name: str, keeping: Keeping, epsilon: Epsilon) -> None:
    """One-sided without a cut, a negative noisy count has a chance of about e^(−ε/L), L ≥ 1."""
    if keeping.least == 0 and not keeping.keeps_all and epsilon.value > _LARGEST_EPSILON:
        raise UsageError(
            f"with epsilon {show(epsilon.value)} for {name!r} no empty cell would ever be dropped: "
            f"give --cut 1, or an epsilon of at most {_LARGEST_EPSILON}."
        )


def _check_summary(name: str, cells: int, expected: float) -> None:
    if expected > LARGEST_SAMPLE:
        raise UsageError(
            f"of the {cells} cells of {name!r} about {expected:.3g} empty ones would be published, "
            f"and at most {LARGEST_SAMPLE} fit: ask for a smaller --size, or raise --cut or "
            "--threshold."
        )
