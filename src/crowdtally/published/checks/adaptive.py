"""What a release of ``auto`` must be: its steps, their tables and their cost, in agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from crowdtally.core.layout import (
    BINS,
    CELLS,
    EDGES,
    ITEMS,
    SIZES,
    STEPS,
    TASTES,
    TASTES_AGAIN,
    TableKind,
    added,
)
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.laws.conversion import delta_of
from crowdtally.published.auto import AutoFacts, bounds_nobody
from crowdtally.published.domain import PublicDomain
from crowdtally.published.metadata import AUTO, Guarantee, MethodFacts
from crowdtally.published.table import TableFacts

_TASTES = ("features", "merged", "profile", "weights", "beta", "parts", "kinds", "items")
"""What a table of tastes says beside its cells."""
SIZE_BINS = 13
"""Bins of the users' sizes: 2^k … 2^(k+1) − 1 records, the last one open."""


def is_auto(metadata: Mapping[str, Any]) -> bool:
    """Whether it is said, in one place or the other, that ``auto`` decided."""
    return "auto" in metadata or metadata["method"]["bounding"] == AUTO


def auto_disagreements(
    metadata: Mapping[str, Any], domain: PublicDomain, tables: Sequence[TableFacts]
) -> Iterator[str]:
    """What does not agree, in words; the metadata has the shape that ``fields`` declares."""
    if "auto" not in metadata or metadata["method"]["bounding"] != AUTO:
        yield "it says how auto spent epsilon, or method.bounding is 'auto', but not both"
        return
    auto = AutoFacts.from_json(metadata["auto"])
    if "other" in metadata or domain.is_discovered:
        yield "its cells are discovered, which auto does not do"
        return
    yield from _tables_there({table.name for table in tables}, domain)
    yield from _declared(auto, domain)
    yield from _steps(auto, tables)
    yield from _cost(auto, Guarantee.from_json(metadata["guarantee"]))
    yield from _bounds(MethodFacts.from_json(metadata["method"]), tables)
    for table in tables:
        yield from _own(table, domain)


def _tables_there(names: set[str], domain: PublicDomain) -> Iterator[str]:
    """Sizes, one table of all items, and tables of steps; those of contexts where there are any."""
    main = {ITEMS.name, EDGES.name} if domain.has_items else {CELLS.name}
    if not domain.contexts:
        main -= {EDGES.name}
    allowed = {kind.name for kind in STEPS if domain.contexts or not _is_in_context(kind)}
    if SIZES.name not in names or len(names & main) != 1 or not names <= allowed | main:
        yield (
            f"its tables are {', '.join(sorted(names))}, and auto makes {SIZES.name}, one of "
            f"{', '.join(sorted(main))}, and those of its other steps"
        )


def _is_in_context(kind: TableKind) -> bool:
    return kind.over in ("contexts", "items in context", "own in context")


def _declared(auto: AutoFacts, domain: PublicDomain) -> Iterator[str]:
    contexts = {one.name for one in domain.contexts}
    if auto.context_per_user and set(auto.context_per_user) != contexts:
        yield "auto.context_per_user names some of the contexts: it must be all of them, or none"


def _steps(auto: AutoFacts, tables: Sequence[TableFacts]) -> Iterator[str]:
    """Every table is that of a step at the same cost."""
    yield from _twice(auto)
    steps = {step.name: step.cost for step in auto.taken}
    costs = added({table.name: table.price.value for table in tables})
    for name in sorted(steps.keys() - costs.keys()):
        yield f"auto took the step {name!r}, and there is no table of it"
    for name, cost in costs.items():
        if name not in steps:
            yield f"there is a table {name!r}, and auto took no such step"
        elif steps[name] != cost:
            yield f"the step {name!r} cost {show(steps[name])}, and its table {show(cost)}"
    paid_in = {table.name: table.price.field for table in tables}
    if any(step.paid_in != paid_in.get(step.name, step.paid_in) for step in auto.taken):
        yield "a step of auto is paid for in epsilon and its table in rho, or the other way round"


def _twice(auto: AutoFacts) -> Iterator[str]:
    for name, times in Counter(step.name for step in auto.taken).items():
        if times > 1:
            yield f"auto took the step {name!r} {times} times"


def _cost(auto: AutoFacts, promised: Guarantee) -> Iterator[str]:
    """The steps cost what was promised: in ε, in ρ, or first in ε and then in the ρ of the rest.

    Steps of ε₁ in all and then of ρ are (ε, δ)-differentially private together if ρ alone is
    (ε − ε₁, δ), which ρ of a release that is paid for in ρ from the start is with ε₁ = 0.
    """
    paid_in, whole = (
        (Epsilon.field, promised.epsilon) if auto.rho is None else (Rho.field, auto.rho)
    )
    spent = auto.spent(paid_in)
    if spent + auto.unspent != whole:
        yield (
            f"auto spent {show(spent)} and left {show(auto.unspent)}, and {show(whole)} was charged"
        )
    if auto.rho is not None:
        yield from _turned(auto, auto.rho, promised)
    elif auto.spent(Rho.field) or promised.rho is not None:
        yield "a step of auto is paid for in rho, and auto.rho does not say out of which"


def _turned(auto: AutoFacts, rho: Fraction, promised: Guarantee) -> Iterator[str]:
    """A course that is paid for in ρ, or goes on in it."""
    pure = auto.spent(Epsilon.field)
    if [step.paid_in for step in auto.steps] != sorted(step.paid_in for step in auto.steps):
        yield "auto went back from rho to epsilon"
    if promised.rho is not None and (pure or rho > promised.rho):
        yield "auto spent more than guarantee.rho"
    if delta_of(rho, promised.epsilon - pure) > promised.delta:
        yield "auto.rho is more than what is left of epsilon, and delta, pay for"


def _bounds(method: MethodFacts, tables: Sequence[TableFacts]) -> Iterator[str]:
    """A bound is what its table's noise was drawn for; the items' own unless nobody is bounded."""
    by_name = {table.name: table for table in tables}
    for name, bound in method.bounds.items():
        table = by_name.get(name)
        if table is None:
            yield f"method.bounds is about {name!r}, and there is no such table"
        elif bound.scaling != 1 or _changed(table) != bound.bound**2:
            yield f"method.bounds.{name} is not what one user can change in that table"
    for name in (ITEMS.name, CELLS.name, EDGES.name):
        table = by_name.get(name)
        if table is not None and name not in method.bounds and not bounds_nobody(table.law):
            yield f"method.bounds lacks the table {name!r}"


def _changed(table: TableFacts) -> Fraction:
    """The square of what one user can change, as counts: in L1, or in L2 where ρ pays for it."""
    in_l2 = isinstance(table.price, Rho)
    squared = table.sensitivity_squared if in_l2 else table.sensitivity**2
    return squared * table.law.unit**2


def _own(table: TableFacts, domain: PublicDomain) -> Iterator[str]:
    """Tables whose cells are numbers of their own."""
    if table.kind is SIZES and table.cells != SIZE_BINS:
        yield f"the table 'sizes' has {table.cells} cells, and there are {SIZE_BINS} bins of sizes"
    inside = prod(domain.by_name[name].length for name in table.axes)
    if table.kind.own is not None and (not table.cells or table.cells % inside):
        yield f"the table {table.name!r} has {table.cells} cells, and {inside} contexts"
    if table.kind in (TASTES, TASTES_AGAIN):
        yield from _features(table, domain)
    if table.kind is BINS:
        yield from _groups(table, domain)


def _features(table: TableFacts, domain: PublicDomain) -> Iterator[str]:
    """What tastes are measured by: a name, mean and weight of each feature, a kind of each item."""
    facts = table.more
    if lacking := [name for name in _TASTES if name not in facts]:
        yield f"the table {table.name!r} lacks {lacking[0]!r}"
        return
    number, kinds = len(facts["features"]), facts["kinds"]
    rows = table.cells // max(prod(one.length for one in domain.contexts), 1)
    if not number == len(facts["profile"]) == len(facts["weights"]) == rows - 1:
        yield f"the table {table.name!r} has {rows} rows of contexts for {number} features"
    if any(len(kind) != number or max(kind) > facts["parts"] for kind in kinds):
        yield f"the table {table.name!r} has kinds of items that are not of its features"
    if len(facts["items"]) != domain.lists[0].length or max(facts["items"]) >= len(kinds):
        yield f"the table {table.name!r} must say the kind of each of the items"


def _groups(table: TableFacts, domain: PublicDomain) -> Iterator[str]:
    groups, size = table.groups, prod(one.length for one in domain.lists)
    items = size // prod(one.length for one in domain.contexts)
    if groups is None or len(groups) != items:
        yield f"the table 'bins' must say the bin of each of the {items} items in 'groups'"
    elif not set(groups) <= {"-", *map(str, range(min(table.cells, 10)))}:
        yield f"the table 'bins' has {table.cells} bins, and 'groups' names another"
