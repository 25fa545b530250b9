"""A request for a release: every public parameter, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crowdtally.core.domain import Domain, OpenDomain
from crowdtally.core.layout import POPULARITY
from crowdtally.core.numbers import exact
from crowdtally.core.privacy import Delta, Epsilon, Price
from crowdtally.core.records import Records
from crowdtally.curator.bounding.rules import Discover, Top
from crowdtally.curator.bounding.scaling import Auto, DPSense, DPSenseS, is_euclidean
from crowdtally.curator.choices.bounds import check_theta
from crowdtally.curator.request import discover, table_specs
from crowdtally.curator.request.auto import check_contexts
from crowdtally.curator.request.discover import Discovery
from crowdtally.curator.request.method import (
    AUTO_PART,
    CHOOSE,
    TOTAL,
    Method,
    complete_split,
    method_of,
    rule_of,
)
from crowdtally.curator.request.options import Options
from crowdtally.curator.request.refusals import Asked, refuse
from crowdtally.curator.request.table_specs import Paid
from crowdtally.curator.request.top import MEASURE, SELECT, TopRequest, paid_for_top
from crowdtally.curator.summaries.base import Dense
from crowdtally.curator.table import Measured, Table
from crowdtally.curator.transforms.base import Untransformed
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.laws.conversion import approximate
from crowdtally.records.locate import Sources


@dataclass(frozen=True)
class Subject:
    """What would be counted, and how users would be bounded, whatever it costs."""

    sources: Sources
    domain: Domain | None
    """None where a column is discovered."""
    method: Method
    open: OpenDomain | None = None
    """The columns and some lists, where a column is discovered."""

    @property
    def records(self) -> Records:
        return self.sources.declared

    @property
    def lists(self) -> Domain | OpenDomain:
        return self.domain or self.open or OpenDomain.of(self.records)


@dataclass(frozen=True, kw_only=True)
class Request(Subject):
    """What a curator asks for: all of it public, and none of it read off the records."""

    paid: Paid
    shares: Mapping[str, Fraction]
    tables: tuple[Table, ...] = ()
    popularity: Table | None = None
    """The table that items are ranked by."""
    discovery: Discovery | None = None
    selection: TopRequest | None = None
    """Top items; there are no other tables then."""
    guess_total: int = 0
    most_dropped: Fraction | None = None
    """The largest share of the rows that may be dropped."""

    @property
    def bounded(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables if not isinstance(table, Measured))

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The tables with interval noise."""
        return tuple(table for table in self.tables if isinstance(table, Measured))

    @property
    def bounds_nobody(self) -> bool:
        """Whether each user counts in all of her cells: interval noise covers them together."""
        return bool(self.measured) or self.selection is not None

    @property
    def subject(self) -> Subject:
        return Subject(self.sources, self.domain, self.method, self.open)

    @property
    def epsilon(self) -> Epsilon:
        return self.paid.epsilon

    @property
    def delta(self) -> Delta:
        return self.paid.delta

    def part(self, name: str) -> Price:
        return self.paid.price * self.shares[name]

    def at(self, epsilon: Epsilon) -> Request:
        """The same request with another ε and the same shares."""
        return self.bought_by(replace(self.paid, epsilon=epsilon))

    def bought_by(self, paid: Paid) -> Request:
        """The same request for another ε, δ or noise, with the same shares."""
        made = replace(self, paid=paid)
        tables = tuple(table.priced(made.part(table.part)) for table in self.tables)
        popularity, discovery, selection = self.popularity, self.discovery, self.selection
        if popularity is not None:
            popularity = popularity.priced(made.part(popularity.part))
        if discovery is not None:
            discovery = discovery.at(made.part)
        if selection is not None:
            selection = replace(selection, select=made.part(SELECT), measure=made.part(MEASURE))
        ranked_first = [*([popularity] if popularity else []), *tables]
        table_specs.check_tables(ranked_first, paid.epsilon, self.method.rule)
        return replace(
            made, tables=tables, popularity=popularity, discovery=discovery, selection=selection
        )


def make_request(
    records: Records,
    domain: Domain | None,
    *,
    epsilon: object,
    delta: object = 0,
    split: Mapping[str, object] | None = None,
    strict: bool = False,
    most_dropped: object = None,
    sources: Sources | None = None,
    **options: Any,
) -> Request:
    """Check every public parameter and put them together; ``options`` are ``Options``."""
    _check_kinds(records, domain, split)
    asked = _asked(Options(**options), records, domain, Delta.of(delta))
    sources = sources or Sources(records)
    asked = _together(asked, sources)
    method = method_of(asked.options, asked.rule, asked.discovered)
    total = Epsilon.of(epsilon)
    if split is not None and isinstance(method.rule, Auto):
        raise UsageError(
            "auto divides epsilon itself, as it goes: remove --split, or name a method, for "
            "example --method sra:max-records=10."
        )
    if isinstance(asked.method, Top) and asked.domain is not None:
        spent, shares, top = paid_for_top(asked.domain, asked.method, asked, total, split)
        made = Request(sources, asked.domain, method, paid=spent, shares=shares, selection=top)
    else:
        shares = complete_split(split, _parts(method, asked), method.choose)
        made = _checked(asked, method, total, shares, sources)
    return replace(made, most_dropped=share_dropped(most_dropped, strict=strict))


def make_subject(
    records: Records, domain: Domain | None, *, sources: Sources | None = None, **options: Any
) -> Subject:
    _check_kinds(records, domain, None)
    given = Options(**options)
    # δ is a part of the cost: whatever it will be, it is there where nothing works without it.
    needs_delta = isinstance(given.method, Discover) or is_euclidean(given.method)
    delta = Delta.of("1e-9") if needs_delta else Delta()
    sources = sources or Sources(records)
    asked = _together(_asked(given, records, domain, delta), sources)
    method = method_of(asked.options, asked.rule, asked.discovered)
    return Subject(sources, asked.domain, method, asked.open)


def _together(asked: Asked, sources: Sources) -> Asked:
    """What was asked, once it is known to go together."""
    refuse(asked)
    if asked.delta.value:
        approximate(asked.delta)  # refuses a δ that promises next to nothing
    if asked.discovered:
        discover.check_open(asked)
        return replace(asked, domain=None, open=OpenDomain.of(asked.records, asked.domain))
    _check_lists(asked.records, asked.domain)
    check_contexts(asked)
    return asked


def share_dropped(most: object, *, strict: bool) -> Fraction | None:
    """The largest share of the rows that may be dropped; None where any may."""
    if most is None:
        return Fraction(0) if strict else None
    if strict:
        raise UsageError("--strict means --most-dropped 0: give one of the two.")
    share = exact(most, "--most-dropped")
    if not 0 <= share <= 1:
        raise UsageError(
            "--most-dropped is the share of all rows that may be dropped, between 0 and 1, such as "
            f"0.1 or 1/10: received {most}."
        )
    return share


def check_options(records: Records, options: Mapping[str, Any]) -> None:
    """Refuse what each option alone rules out, before any list is read."""
    _asked(Options(**options), records, None, Delta())


def _asked(options: Options, records: Records, domain: Domain | None, delta: Delta) -> Asked:
    if domain is not None and records.item is not None and domain.has_items:
        domain = domain.named(records.item)
    return Asked(
        options,
        records,
        domain,
        delta,
        rule_of(options, records),
        options.transform or Untransformed(),
        options.summary or Dense(),
        discover.discovered_columns(options.method, records),
    )


def _checked(
    asked: Asked, method: Method, total: Epsilon, shares: Mapping[str, Fraction], sources: Sources
) -> Request:
    domain = asked.domain
    if asked.open is not None:
        return _discovering(asked, asked.open, method, total, shares, sources)
    _check_theta(method, domain)
    _check_ordered(asked.transform.ordered, domain)
    if isinstance(method.rule, Auto) and domain is not None:
        # Its tables have these columns in several combinations, of which none is made yet.
        table_specs.check_names([axis.name for axis in domain.axes])

    def tables_for(price: Price) -> tuple[Table, ...]:
        return table_specs.make_tables(asked, method, lambda name: price * shares[name])

    spent = table_specs.paid(asked, total, tables_for)
    tables, popularity = tables_for(spent.price), None
    if method.popularity_records is not None and domain is not None:
        price = spent.price * shares[POPULARITY.name]
        popularity = table_specs.popularity_table(
            domain, method.popularity_records, price, method.what
        )
    table_specs.check_tables([*([popularity] if popularity else []), *tables], total, method.rule)
    guess = getattr(asked.publishing, "guess_total", 0)
    return Request(
        sources, domain, method, paid=spent, shares=shares, tables=tables, popularity=popularity,
        guess_total=guess,
    )  # fmt: skip


def _discovering(
    asked: Asked,
    domain: OpenDomain,
    method: Method,
    total: Epsilon,
    shares: Mapping[str, Fraction],
    sources: Sources,
) -> Request:
    limit = method.rule.limit

    def discovery_for(spent: Paid) -> Discovery:
        return discover.make_discovery(
            domain, limit, lambda name: spent.price * shares[name], spent.unknown
        )

    spent = discover.paid_for_unknown(asked, total, discovery_for)
    discover.check_noise(discovery_for(spent), total)
    tables = discover.plain_tables(domain, limit, lambda name: spent.price * shares[name])
    table_specs.check_tables(tables, total, method.rule)
    found = discovery_for(spent)
    return Request(
        sources, None, method, domain, paid=spent, shares=shares, tables=tables, discovery=found
    )


def _check_kinds(records: object, domain: object, split: object) -> None:
    """Refuse what a notebook passes by mistake, before it fails somewhere inside."""
    for given, kind, words in (
        (records, Records, "records come from ct.read(SOURCE, user=…, item=…)"),
        (domain, Domain | None, "a domain comes from ct.Domain(ITEMS, {CONTEXT: VALUES})"),
        (split, Mapping | None, "a split is {'items': '0.5', 'edges': '0.5'}"),
    ):
        if not isinstance(given, kind):
            raise UsageError(f"{words}: received a {type(given).__name__}.")


def _check_lists(records: Records, domain: Domain | None) -> None:
    if domain is None:
        return
    names = {axis.name for axis in (domain.contexts if domain.has_items else domain.axes)}
    declared = set(records.contexts) if domain.has_items else set(records.attributes)
    for name in sorted(declared ^ names):
        raise UsageError(
            f"{name!r} needs both its column or expression (--context or --attributes) and its "
            f"list of values (--values {name}=a,b,c)."
        )


def _check_theta(method: Method, domain: Domain | None) -> None:
    """Rules that scale rows need a θ that some row can reach, and few enough candidates."""
    rule = method.rule
    if not isinstance(rule, DPSense) or domain is None:
        return
    smallest = len(domain.items) if domain.has_items else domain.size
    scalings = len(rule.weighed) if isinstance(rule, DPSenseS) else 1
    weighed = rule.limit * scalings if method.choose == "dpsense" else 1
    check_theta(rule.limit, smallest, rule.most, weighed)


def _check_ordered(ordered: Sequence[str], domain: Domain | None) -> None:
    names = [axis.name for axis in domain.axes] if domain is not None else []
    for name in ordered:
        if name not in names:
            raise UsageError(f"--transform names the column {name!r}. {did_you_mean(name, names)}")


def _parts(method: Method, asked: Asked) -> list[str]:
    """The parts that ε is divided between, in the order in which they are drawn."""
    if isinstance(method.rule, Auto):
        return [AUTO_PART]
    if asked.open is not None:
        return [TOTAL, *discover.tables_of(asked.open)]
    first = [CHOOSE] if method.choose else []
    first += [POPULARITY.name] if method.popularity_records else []
    return first + [part for _, part in table_specs.counted_cells(asked.domain, pairs=method.pairs)]
