"""Fields that must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from math import isclose, prod
from unicodedata import is_normalized

from crowdtally.core.domain import RESERVED
from crowdtally.core.layout import (
    CELLS,
    CONTEXTS,
    EDGES,
    HEAD,
    HEADS,
    ITEMS,
    PAIRS,
    POPULARITY,
    SIZES,
    STEPS,
    TOTAL,
    added,
)
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.format.contents import cells_of
from crowdtally.format.entries import PublicDomain, PublicList, TableFacts
from crowdtally.format.manifest import (
    AUTO,
    DISTINCT,
    STATED,
    AutoFacts,
    Guarantee,
    Manifest,
    MethodFacts,
)
from crowdtally.format.parse import plain
from crowdtally.laws.conversion import delta_of
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.registry import fault_of

# What a release of ``auto`` must be: its steps, their tables and their cost, in agreement.

_OWN = {SIZES.name: 19, TOTAL.name: 1}
"""How many cells a table of numbers of its own has."""


def is_auto(manifest: Manifest) -> bool:
    """Whether it is said, in one place or the other, that ``auto`` decided."""
    return manifest.auto is not None or manifest.method.bounding == AUTO


def auto_disagreements(manifest: Manifest) -> Iterator[str]:
    auto, domain, tables = manifest.auto, manifest.domain, manifest.tables
    if auto is None or manifest.method.bounding != AUTO:
        yield "it says how auto spent epsilon, or method.bounding is 'auto', but not both"
        return
    if manifest.other is not None or domain.is_discovered:
        yield "its cells are discovered, which auto does not do"
        return
    yield from _auto_tables_there({table.name for table in tables}, domain)
    if set(auto.context_per_user) not in (set(), {one.name for one in domain.contexts}):
        yield "auto.context_per_user names some of the contexts: it must be all of them, or none"
    yield from _steps(auto, tables)
    yield from _auto_cost(auto, manifest.guarantee)
    yield from _bounds(manifest.method, auto, tables)
    for table in tables:
        wanted = _OWN.get(table.name, table.cells)
        if table.cells != wanted:
            yield f"the table {table.name!r} has {table.cells} cells, and auto counts {wanted}"


def _auto_tables_there(names: set[str], domain: PublicDomain) -> Iterator[str]:
    """Sizes, the table of all items, and others; those of contexts where there are any."""
    main = ITEMS.name if domain.has_items else CELLS.name
    in_context = ("contexts", "items in context")
    allowed = {kind.name for kind in STEPS if domain.contexts or kind.over not in in_context}
    allowed |= {main, EDGES.name} if domain.contexts else {main}
    if not {SIZES.name, main} <= names <= allowed:
        yield (
            f"its tables are {', '.join(sorted(names))}, and auto makes {SIZES.name}, {main} and "
            f"some of {', '.join(sorted(allowed - {SIZES.name, main}))}"
        )
    if EDGES.name in names and CONTEXTS.name not in names:
        yield f"it has a table {EDGES.name!r} without a table {CONTEXTS.name!r}"


def _steps(auto: AutoFacts, tables: Sequence[TableFacts]) -> Iterator[str]:
    """Every table is told of once, at the same cost."""
    yield from _doubled("auto tells of the table", [step.name for step in auto.steps])
    steps = {step.name: (step.cost, step.paid_in) for step in auto.steps}
    costs = {table.name: (table.price.value, table.price.field) for table in tables}
    for name in sorted(steps.keys() - costs.keys()):
        yield f"auto tells of the table {name!r}, which is not there"
    for name, (cost, paid_in) in costs.items():
        if name not in steps:
            yield f"there is a table {name!r}, of which auto does not tell"
        elif steps[name] != (cost, paid_in):
            told, currency = steps[name]
            yield (
                f"the table {name!r} cost {currency} {show(told)} by auto, and {paid_in} "
                f"{show(cost)} by its own entry"
            )


def _auto_cost(auto: AutoFacts, promised: Guarantee) -> Iterator[str]:
    """The steps cost what was promised: in ε, in ρ, or first in ε and then in the ρ of the rest.

    Steps of ε₁ in all and then of ρ are (ε, δ)-differentially private together if ρ alone is
    (ε − ε₁, δ), which ρ of a release that is paid for in ρ from the start is with ε₁ = 0.
    """
    paid_in, whole = (
        (Epsilon.field, promised.epsilon) if auto.rho is None else (Rho.field, auto.rho)
    )
    spent = auto.spent(paid_in)
    if spent != whole:
        yield f"auto spent {show(spent)}, and {show(whole)} was charged"
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


def _bounds(method: MethodFacts, auto: AutoFacts, tables: Sequence[TableFacts]) -> Iterator[str]:
    """A bound is what its table's noise was drawn for; none is told where nobody is bounded."""
    there = {table.name for table in tables}
    for name, bound in method.bounds.items():
        if name not in there:
            yield f"method.bounds is about {name!r}, and there is no such table"
        elif bound.scaling != 1 or bound.bound != auto.theta(name):
            yield f"method.bounds.{name} is not what auto tells of that table"
    yield from _thetas(method, auto, tables)


def _thetas(method: MethodFacts, auto: AutoFacts, tables: Sequence[TableFacts]) -> Iterator[str]:
    for table in tables:
        theta = auto.theta(table.name)
        if table.kind.answers and table.name not in method.bounds:
            yield f"method.bounds lacks the table {table.name!r}"
        free = table.kind in (SIZES, HEAD)
        if free != (theta is None):
            yield f"auto tells {'a' if free else 'no'} bound of the table {table.name!r}"
        elif theta is not None and auto.changed(table) != theta:
            yield f"the bound of {table.name!r} is not what one user can change in that table"


# What the fields of ``release.json`` must be to each other.
#
# Much is said twice there, in other words: the noise's scale is sensitivity/ε and decides the
# standard deviation and the interval; the lists decide columns and cells. So a field that was
# changed does not agree with the rest.

_ROUNDING = 1e-9


def disagreements(manifest: Manifest) -> Iterator[str]:
    """What does not agree, in words."""
    domain, tables = manifest.domain, manifest.tables
    names = [table.name for table in tables]
    yield from _doubled("it names the table", names)
    yield from _lists(domain)
    if not is_auto(manifest):
        yield from _tables_there(manifest, set(names))
    yield from _declared(manifest)
    yield from _stated(manifest)
    yield from _cost(manifest)
    for place, table in enumerate(tables):
        unread = fault_of(plain(table.noise))
        if unread is not None:
            yield f"tables[{place}] ({table.name}) {unread}"
            return
    if is_auto(manifest):
        yield from auto_disagreements(manifest)
    for place, table in enumerate(tables):
        faults = (_free(table, manifest), _covers(table, manifest), _table(table, domain))
        for fault in chain(*faults, _noise(table)):
            yield f"tables[{place}] ({table.name}) {fault}"


def _doubled(done: str, names: list[str]) -> Iterator[str]:
    for name, times in Counter(names).items():
        if times > 1:
            yield f"{done} {name!r} {times} times"


def _lists(domain: PublicDomain) -> Iterator[str]:
    yield from _doubled("it names the column", domain.names)
    for one in domain.lists:
        if one.name in RESERVED:
            yield f"the domain has a column {one.name!r}, which is a column of every table"
        if one.values is not None:
            yield from _values(one, one.values)


def _values(listed: PublicList, values: Sequence[str | int]) -> Iterator[str]:
    name = listed.name
    if len(values) != listed.length:
        yield f"the list of {name!r} has {len(values)} values, and its size is {listed.length}"
    if len(set(values)) != len(values):
        yield f"the list of {name!r} holds a value twice"
    if set(map(type, values)) != {str if listed.kind == "text" else int}:
        yield f"the list of {name!r} is said to be of kind {listed.kind!r}, and is not"
    elif not all(is_normalized("NFC", value) for value in values if isinstance(value, str)):
        yield f"the list of {name!r} has a value that is not in Unicode normal form C"


def _tables_there(manifest: Manifest, names: set[str]) -> Iterator[str]:
    """Each table of counts has a bound, unless nobody is bounded; popularity has none."""
    method, found = manifest.method, manifest.domain.is_discovered
    wanted, bounds = _wanted(manifest.domain, names), set(method.bounds)
    free = found or method.bounding == DISTINCT
    if bounds - wanted or (not free and bounds != wanted) or (found and bounds):
        yield f"method.bounds is about {_named(bounds)}, and the tables are {_named(names)}"
    if method.popularity_records is not None:
        wanted = wanted | {POPULARITY.name}
    if names != wanted:
        yield f"its tables are {_named(names)}, and those of this domain are {_named(wanted)}"
    if found != (manifest.other is not None):
        yield "it has 'other' without discovered cells, or they without it"


def _declared(manifest: Manifest) -> Iterator[str]:
    """The records' declaration against the lists and the guarantee."""
    records, unit, domain = manifest.records, manifest.guarantee, manifest.domain
    if domain.has_items and records.item != domain.names[0]:
        yield f"records.item is {records.item!r}, and the domain's items are {domain.names[0]!r}"
    if not set(records.contexts) <= set(domain.names):
        yield "records.contexts names a context that the domain does not have"
    if records.same_person != (unit.unit == "same-person"):
        yield f"records.same_person does not go with the unit {unit.unit!r}"
    if unit.unit in ("user", "same-person") and ", ".join(records.user) != unit.column:
        yield f"records.user is {', '.join(records.user)!r}, and the unit's is {unit.column!r}"


def _stated(manifest: Manifest) -> Iterator[str]:
    """A bound that the publisher states goes with its unit and its rule, and with each table."""
    unit, method = manifest.guarantee.unit == "bounded-elsewhere", manifest.method
    most = manifest.records.bounded_to
    if not unit == (method.bounding == STATED) == (most is not None):
        yield (
            "guarantee.unit, method.bounding and records.bounded do not agree on whether the "
            "bound is a statement of the publisher's"
        )
    elif most is not None and any(one.bound != most for one in method.bounds.values()):
        yield f"method.bounds has another bound than records.bounded.to, which is {most}"


def _covers(table: TableFacts, manifest: Manifest) -> Iterator[str]:
    """The noise of a table covers all rows that a person has, by the publisher's statement."""
    most = manifest.records.bounded_to
    if most is None:
        return
    apart = manifest.records.cells_once and set(table.axes) >= set(manifest.domain.names)
    squared = most if apart else most**2
    if table.sensitivity < most or table.sensitivity_squared < squared:
        yield f"covers fewer rows of a person than the {most} of records.bounded.to"


def _wanted(domain: PublicDomain, names: set[str]) -> set[str]:
    """The tables of counts that a release of this domain has."""
    if not domain.has_items:
        return {CELLS.name}
    if names & {HEAD.name, HEADS.name}:
        return {HEADS.name if domain.contexts else HEAD.name}
    if PAIRS.name in names:
        return {ITEMS.name, PAIRS.name}
    return {ITEMS.name, EDGES.name} if domain.contexts else {ITEMS.name}


def _named(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _cost(manifest: Manifest) -> Iterator[str]:
    charged, promised = manifest.charged, manifest.guarantee
    for name, paid, told in (
        ("epsilon", charged.epsilon, promised.epsilon),
        ("delta", charged.delta, promised.delta),
    ):
        if paid != told:
            yield f"charged.{name} is {show(paid)}, and guarantee.{name} is {show(told)}"
    if sum(manifest.split.values()) != 1:
        yield "the shares of split do not add up to 1"
    yield from _added(manifest)
    yield from _paid(manifest)


def _added(manifest: Manifest) -> Iterator[str]:
    """What was spent before and the charge are what was spent after, in each of their sums."""
    charged, promised = manifest.charged, manifest.guarantee
    before, after = charged.spent_before, replace(charged.spent_after, pure_rho=Fraction(0))
    nothing = Fraction(0)
    if charged.rho is None:
        delta = charged.delta if charged.by_zcdp else nothing
        if after != before.plus(charged.epsilon, delta, nothing):
            yield "charged.spent_after is not charged.spent_before and charged.epsilon together"
        return
    if promised.rho is None or charged.rho > promised.rho:
        yield "charged.rho is more than guarantee.rho"
    least = before.plus(nothing, _unknown_delta(manifest), charged.rho)
    most = before.plus(nothing, promised.delta, charged.rho)
    if replace(after, delta=nothing) != replace(least, delta=nothing):
        yield "charged.spent_after is not charged.spent_before and charged.rho together"
    if not least.delta <= after.delta <= most.delta:
        yield "charged.spent_after has another delta than charged.spent_before and the tables"


def _paid(manifest: Manifest) -> Iterator[str]:
    """The tables cost no more than the release, and its ρ no more than its ε and δ buy.

    How ``auto`` pays, which may begin in ε and go on in ρ, is checked by its steps.
    """
    promised = manifest.guarantee
    rho, unknown = promised.rho, _unknown_delta(manifest)
    if rho is not None and delta_of(rho, promised.epsilon) > promised.delta - unknown:
        yield "guarantee.rho is more than guarantee.epsilon and guarantee.delta pay for"
    if unknown > promised.delta:
        yield "the tables cost more delta than was promised"
    paid_in, whole = promised.price.field, promised.price.value
    prices = {one.name: one.price for one in manifest.tables}
    if not is_auto(manifest) and any(one.field != paid_in for one in prices.values()):
        yield f"a table is not paid for in {paid_in}, as the release is"
        return
    paid = {name: one.value for name, one in prices.items() if one.field == paid_in}
    if sum(added(paid).values()) > whole:
        yield f"the tables cost more {paid_in} than was charged"


def _unknown_delta(manifest: Manifest) -> Fraction:
    """δ of all unknown cells: what each table that was discovered costs, added up."""
    costs = (one.delta for one in manifest.tables if one.is_discovered)
    return sum(costs, Fraction(0))


def _table(table: TableFacts, domain: PublicDomain) -> Iterator[str]:
    if table.file != f"{table.name}.parquet":
        yield f"names its file {table.file!r}: it must be '{table.name}.parquet'"
    if table.is_discovered != any(one.is_discovered for one in _lists_of(table, domain)):
        yield "is published as discovered cells are, or its domain says so, but not both"
        return
    yield from _found(table, _lists_of(table, domain))
    yield from _transform(table, domain)
    if table.is_chosen != table.kind.chosen:
        yield f"is published as {table.publishing!r}, which such a table cannot be"
        return
    cells = cells_of(table, domain)
    if table.is_chosen and table.cells > cells.most:
        yield f"has {table.cells} cells, and they are some of {cells.most}"
    if table.columns != tuple(cells.columns):
        yield f"must have the columns {', '.join(cells.columns)}"
    if table.cells != cells.size:
        yield f"has {table.cells} cells, and the lists make {cells.size}"
    if table.summary is not None:
        yield from _summary(table)
    if table.rows != table.published_cells:
        yield f"has {table.rows} rows for {table.published_cells} published cells"


def _lists_of(table: TableFacts, domain: PublicDomain) -> list[PublicList]:
    """The lists of a table's columns; the other item of a pair has none of its own."""
    return [domain.by_name[axis] for axis in table.axes if axis in domain.by_name]


def _found(table: TableFacts, lists: Sequence[PublicList]) -> Iterator[str]:
    """Discovered: no more cells than the values make, and no value without a cell of a table."""
    if not table.is_discovered:
        return
    most = prod(one.length for one in lists)
    alone = [one.length for one in lists if one.tables == (table.name,)]
    if table.cells > most or table.cells < max(alone, default=0):
        lengths = " × ".join(str(one.length) for one in lists)
        yield f"has {table.cells} cells, and its columns have {lengths} values"


def _transform(table: TableFacts, domain: PublicDomain) -> Iterator[str]:
    kind, ordered = table.transform.kind, table.transform.ordered
    if len(set(ordered)) != len(ordered) or not set(ordered) <= set(domain.names):
        yield "has a transform of columns that are not its own"
    if kind == "haar" and len(ordered) != 1:
        yield "has a Haar transform of several columns"
    if kind != "none" and not table.kind.transforms:
        yield "has a transform, which such a table cannot have"


def _summary(table: TableFacts) -> Iterator[str]:
    published, wanted, publishing = table.published_cells, table.size, table.publishing
    if table.domain_cells != table.cells:
        yield f"has {table.cells} cells and {table.domain_cells} domain_cells"
    if published > table.cells:
        yield f"has {published} published cells of {table.cells}"
    if ("priority" in publishing) != (wanted is not None):
        yield "has a size without being a priority sample, or is one without a size"
    elif wanted is not None and (published > wanted or (published < wanted and not table.short)):
        yield f"has {published} published cells for a size of {wanted}"
    if table.cut and "filter" not in publishing:
        yield f"has a cut of {table.cut} without being filtered"
    if publishing == "threshold" and table.estimating_threshold is None:
        yield "is a threshold sample without a threshold"


def _free(table: TableFacts, manifest: Manifest) -> Iterator[str]:
    """Interval noise is for tables in which nobody is bounded, and they for it.

    But few chosen cells, in which a user counts once each, can have Gaussian noise as well.
    """
    bounding, is_interval = manifest.method.bounding, table.law.kind == IntervalNoise.kind
    if is_interval and bounding not in (AUTO, DISTINCT):
        yield "has interval noise, and its users are bounded"
    few = table.is_chosen and table.law.kind == GaussianNoise.kind
    if not is_interval and not few and bounding == DISTINCT:
        yield "bounds nobody, and has no interval noise"


def _noise(table: TableFacts) -> Iterator[str]:
    law = table.law
    fault = law.disagreement(table.price, table.sensitivity, table.sensitivity_squared, table.cells)
    if fault is not None:
        yield fault
        return
    std = law.std()
    if not isclose(table.noise_std, std, rel_tol=_ROUNDING, abs_tol=1e-300):
        yield f"has noise of standard deviation {table.noise_std}, and its scale makes {std}"
    width = law.half_width(table.interval_level) * law.unit
    if abs(Fraction(table.interval_half_width) - width) > width / 10**9:
        yield "has a noise interval that does not follow from its scale and level"
