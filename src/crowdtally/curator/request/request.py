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
from crowdtally.curator.request.auto import check_contexts
from crowdtally.curator.request.discover import (
    Discovery,
    check_noise,
    check_open,
    discovered_columns,
    make_discovery,
    paid_for_unknown,
    plain_tables,
    tables_of,
)
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
from crowdtally.curator.request.table_specs import (
    Paid,
    check_names,
    check_tables,
    counted_cells,
    make_tables,
    paid,
    popularity_table,
)
from crowdtally.curator.request.top import MEASURE, SELECT, TopRequest, paid_for_top
from crowdtally.curator.summaries.base import Dense
from crowdtally.curator.table import AnyTable, Measured, Table
from crowdtally.curator.transforms.base import Untransformed
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.laws.conversion import approximate
from crowdtally.records.locate import Sources


@dataclass(frozen=True)
class Subject:
    """What would be counted, and how users would be bounded: a request without cost and form."""

    sources: Sources
    """Where the records are: found once."""
    domain: Domain | None
    """The public cells; None where a column is discovered."""
    method: Method
    """How users are bounded and what is counted."""
    open: OpenDomain | None = None
    """The columns and some of their lists, where a column is discovered."""

    @property
    def records(self) -> Records:
        return self.sources.declared

    @property
    def lists(self) -> Domain | OpenDomain:
        """The public lists, of all columns or of some."""
        return self.domain or self.open or OpenDomain.of(self.records)


@dataclass(frozen=True)
class Request:
    """What a curator asks for. All of it is public; none of it was read off the records."""

    sources: Sources
    domain: Domain | None
    """The public cells; None where a column is discovered."""
    paid: Paid
    """What the whole release costs, and with what noise."""
    method: Method
    shares: Mapping[str, Fraction]
    """Each part's exact share of the price."""
    tables: tuple[AnyTable, ...]
    """The tables of counts of public cells."""
    popularity: Table | None = None
    """The table that items are ranked by, where a rule asks for one."""
    discovery: Discovery | None = None
    """How cells are discovered, where a column has no public list."""
    selection: TopRequest | None = None
    """What is asked for where only top items are; there are no other tables then."""
    guess_total: int = 0
    """A public guess of the total count, for advice."""
    most_dropped: Fraction | None = None
    """Stop, before anything is charged, where a larger share of the rows would be dropped."""

    @property
    def records(self) -> Records:
        return self.sources.declared

    @property
    def bounded(self) -> tuple[Table, ...]:
        """The tables for which users are bounded."""
        return tuple(table for table in self.tables if isinstance(table, Table))

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The tables with interval noise, for which nobody is bounded."""
        return tuple(table for table in self.tables if isinstance(table, Measured))

    @property
    def bounds_nobody(self) -> bool:
        """Whether each user counts in all of her cells: interval noise covers them together."""
        return bool(self.measured) or self.selection is not None

    @property
    def subject(self) -> Subject:
        found = None if self.discovery is None else self.discovery.domain
        return Subject(self.sources, self.domain, self.method, found)

    @property
    def lists(self) -> Domain | OpenDomain:
        """The public lists, of all columns or of some."""
        return self.subject.lists

    @property
    def epsilon(self) -> Epsilon:
        return self.paid.epsilon

    @property
    def delta(self) -> Delta:
        """δ of the whole release; 0 where it is of pure ε."""
        return self.paid.delta

    def part(self, name: str) -> Price:
        return self.paid.price * self.shares[name]

    def at(self, epsilon: Epsilon) -> Request:
        """The same request with another ε: every share of it is as before."""
        return self.bought_by(replace(self.paid, epsilon=epsilon))

    def bought_by(self, paid: Paid) -> Request:
        """The same request for another ε, δ or noise: every share of it is as before."""
        made = replace(self, paid=paid)
        tables = tuple(table.priced(made.part(table.part)) for table in self.tables)
        ranked = self.popularity
        popularity = None if ranked is None else ranked.priced(made.part(ranked.part))
        discovery = None if self.discovery is None else self.discovery.at(made.part)
        selection = self.selection
        if selection is not None:
            selection = replace(selection, select=made.part(SELECT), measure=made.part(MEASURE))
        ranked_first = [*([popularity] if popularity else []), *tables]
        check_tables(ranked_first, paid.epsilon, self.method.rule)
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
        top = paid_for_top(asked.domain, asked.method, asked, total, split)
        made = Request(
            sources, asked.domain, top.paid, method, top.shares, (), selection=top.request
        )
    else:
        shares = complete_split(split, _parts(method, asked), method.choose)
        made = _checked(asked, method, total, shares, sources)
    return replace(made, most_dropped=share_dropped(most_dropped, strict=strict))


def make_subject(
    records: Records, domain: Domain | None, *, sources: Sources | None = None, **options: Any
) -> Subject:
    """Check what is to be counted, and put it together; what it costs is not said."""
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
    """What was asked, once all of it goes together."""
    refuse(asked)
    if asked.delta.value:
        approximate(asked.delta)  # refuses a δ that promises next to nothing
    if asked.discovers:
        check_open(asked)
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
    """Each part, checked by itself."""
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
        discovered_columns(options.method, records),
    )


def _checked(
    asked: Asked, method: Method, total: Epsilon, shares: Mapping[str, Fraction], sources: Sources
) -> Request:
    """The request with its tables, once all options go together."""
    domain = asked.domain
    if asked.open is not None:
        return _discovering(asked, asked.open, method, total, shares, sources)
    _check_theta(method, domain)
    _check_ordered(asked.transform.ordered, domain)
    if isinstance(method.rule, Auto) and domain is not None:
        # Its tables have these columns in several combinations, of which none is made yet.
        check_names([axis.name for axis in domain.axes])

    def tables_for(price: Price) -> tuple[AnyTable, ...]:
        return make_tables(asked, method, lambda name: price * shares[name])

    spent = paid(asked, total, tables_for)
    tables, popularity = tables_for(spent.price), None
    if method.popularity_records is not None and domain is not None:
        price = spent.price * shares[POPULARITY.name]
        popularity = popularity_table(domain, method.popularity_records, price, method.what)
    check_tables([*([popularity] if popularity else []), *tables], total, method.rule)
    return Request(
        sources, domain, spent, method, shares, tables, popularity,
        guess_total=getattr(asked.publishing, "guess_total", 0),
    )  # fmt: skip


def _discovering(
    asked: Asked,
    domain: OpenDomain,
    method: Method,
    total: Epsilon,
    shares: Mapping[str, Fraction],
    sources: Sources,
) -> Request:
    """The request where a column has no public list."""
    limit = method.rule.limit

    def discovery_for(spent: Paid) -> Discovery:
        return make_discovery(domain, limit, lambda name: spent.price * shares[name], spent.unknown)

    spent = paid_for_unknown(asked, total, discovery_for)
    check_noise(discovery_for(spent), total)
    tables = plain_tables(domain, limit, lambda name: spent.price * shares[name])
    check_tables(tables, total, method.rule)
    return Request(sources, None, spent, method, shares, tables, discovery=discovery_for(spent))


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
    """Every context or attribute has its column and its list."""
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
    """For rules that scale rows: a largest θ that some row can reach, and few enough candidates."""
    rule = method.rule
    if not isinstance(rule, DPSense) or domain is None:
        return
    smallest = len(domain.items) if domain.has_items else domain.size
    scalings = len(rule.weighed) if isinstance(rule, DPSenseS) else 1
    weighed = rule.limit * scalings if method.choose == "dpsense" else 1
    check_theta(rule.limit, smallest, rule.most, weighed)


def _check_ordered(ordered: Sequence[str], domain: Domain | None) -> None:
    """Refuse ordered axes that the domain does not have."""
    names = [axis.name for axis in domain.axes] if domain is not None else []
    for name in ordered:
        if name not in names:
            raise UsageError(f"--transform names the column {name!r}. {did_you_mean(name, names)}")


def _parts(method: Method, asked: Asked) -> list[str]:
    """The parts that ε is divided between, in the order in which they are drawn."""
    if isinstance(method.rule, Auto):
        return [AUTO_PART]
    if asked.open is not None:
        return [TOTAL, *tables_of(asked.open)]
    paid_by = [part for _, part in counted_cells(asked.domain, pairs=method.pairs)]
    return [
        *([CHOOSE] if method.choose else []),
        *([POPULARITY.name] if method.popularity_records else []),
        *paid_by,
    ]
