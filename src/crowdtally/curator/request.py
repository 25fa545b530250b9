"""A request for a release: every public parameter, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

from crowdtally.curator.bounding.scales import l1_bound
from crowdtally.curator.choosing.candidates import check_theta
from crowdtally.curator.method import Method, MethodOptions, make_method
from crowdtally.curator.split import complete_split
from crowdtally.errors import UsageError
from crowdtally.values.domain import Domain
from crowdtally.values.epsilon import Delta, Epsilon
from crowdtally.values.layout import Layout, Pairs, grid
from crowdtally.values.rational import show
from crowdtally.values.records import Records

LARGEST_DENSE = 500_000_000
"""Cells beyond which a dense table is refused: about 20 GB while it is written."""
_LARGEST_SCALE = 2**50  # in units of a count: beyond it noise is beyond any count


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
        tables: dict[str, Layout] = {"items": grid(domain.axes[:1])}
        if self.method.pairs:
            tables["pairs"] = Pairs(domain.items)
        elif domain.contexts:
            tables["edges"] = grid(domain.axes)
        return tables

    def table_epsilon(self, table: str) -> Epsilon:
        """The ε of a table of counts; pairs of items stand where items in context would."""
        return self.part("edges" if table == "pairs" else table)


def make_request(
    records: Records,
    domain: Domain | None,
    *,
    epsilon: object,
    delta: object = 0,
    split: Mapping[str, object] | None = None,
    strict: bool = False,
    **method: Unpack[MethodOptions],
) -> Request:
    """Check every public parameter and put them together; ``method`` is ``make_method``'s."""
    made = make_method(**method)
    exact_delta = Delta.of(delta)
    if domain is not None:
        domain = domain.named(records.item)
    _check_domain(records, domain, made, exact_delta)
    shares = complete_split(split, _parts(made, domain), made.choose)
    request = Request(records, domain, Epsilon.of(epsilon), exact_delta, made, shares, strict)
    _check_sizes(request)
    return request


def _parts(method: Method, domain: Domain | None) -> list[str]:
    return [
        *(["choose"] if method.choose else []),
        *(["total"] if method.discover else []),
        *(["popularity"] if method.popularity_records else []),
        "items",
        *(["edges"] if method.pairs or (domain is not None and domain.contexts) else []),
    ]


def _check_domain(records: Records, domain: Domain | None, method: Method, delta: Delta) -> None:
    if method.discover != (delta.value > 0):
        raise UsageError(
            "--discover-items and --delta go together: items that no public list names can only be "
            "released with a small probability delta of exceeding epsilon, such as --delta 1e-9."
        )
    if method.discover and (domain is not None or records.contexts):
        raise UsageError(
            "--discover-items finds the items itself: give neither --items nor --context."
        )
    if domain is None:
        if not method.discover:
            raise UsageError(
                "which items may appear must be decided without looking at the records: give the "
                "public list with --items FILE, or let items be discovered with --discover-items "
                "--delta D."
            )
        return
    undeclared = sorted(set(records.contexts) ^ {axis.name for axis in domain.contexts})
    if undeclared:
        raise UsageError(
            f"context {undeclared[0]!r} needs both its column or expression (--context) and its "
            f"list of values (--values {undeclared[0]}=a,b,c)."
        )
    if method.pairs and domain.contexts:
        raise UsageError("--pairs counts pairs of items: give no --context with it.")
    if method.pairs and method.limit < 2:
        raise UsageError(
            "a user of whom one record is kept has no pairs: --pairs needs --max-records 2 or more."
        )
    if not method.samples:
        check_theta(method.limit, len(domain.items), method.cap, 1)


def _check_sizes(request: Request) -> None:
    for name, layout in request.layouts().items():
        if layout.size > LARGEST_DENSE:
            raise UsageError(
                f"the table {name!r} would have {layout.size} cells, and a dense release has at "
                f"most {LARGEST_DENSE}: shorten the item list or use fewer contexts."
            )
        bound, unit = l1_bound(request.method, name, request.method.limit)
        if bound * unit / request.table_epsilon(name).value > _LARGEST_SCALE:
            raise UsageError(
                f"the noise of {name!r} would be beyond any count: epsilon "
                f"{show(request.epsilon.value)} is too small for a bound of "
                f"{request.method.limit}. Raise --epsilon or lower --max-records."
            )
