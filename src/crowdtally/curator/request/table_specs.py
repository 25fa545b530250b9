"""The tables of a request, with everything public about each, and what they are paid for in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from crowdtally.core.counts import What
from crowdtally.core.domain import RESERVED, Domain
from crowdtally.core.layout import CELLS, EDGES, ITEMS, PAIRS, POPULARITY, Layout, Pairs, grid
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.curator.bounding.rules import (
    Everyone,
    EveryRow,
    RecordRule,
    Rule,
    pairs_l1,
    pairs_l2_squared,
)
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.request.method import AUTO_PART, Method
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.summaries.base import Dense, Publishing
from crowdtally.curator.summaries.priority import FilterPriority
from crowdtally.curator.table import Measured, Table
from crowdtally.curator.transforms.base import Transform, Untransformed, fits
from crowdtally.errors import UsageError
from crowdtally.laws.conversion import rho_of
from crowdtally.laws.interval import phantoms_for

MOST_MEASURED = 4000
"""Most cells of a table with interval noise: they are drawn together with their phantoms."""
LARGEST_SCALE = 2**50
"""Counts beyond which noise is refused."""
LARGEST_DENSE_AUTO = 2**22
"""Cells up to which ``auto`` publishes all of them."""
_AUTO_SIZE = 1_000_000
"""About how many cells ``auto`` publishes of more."""
_LARGEST_EPSILON = 10_000  # beyond it e^(−ε) is taken for 0

Prices = Callable[[str], Price]


def counted_cells(domain: Domain | None, *, pairs: bool) -> dict[tuple[str, str], Layout]:
    """The cells of each table of counts, by its name and the part of the split that pays."""
    if domain is None:
        return {}
    if not domain.has_items:
        return {(CELLS.name, CELLS.name): grid(domain.axes)}
    found: dict[tuple[str, str], Layout] = {(ITEMS.name, ITEMS.name): grid(domain.axes[:1])}
    if pairs:
        found[PAIRS.name, EDGES.name] = Pairs(domain.items)
    elif domain.contexts:
        found[EDGES.name, EDGES.name] = grid(domain.axes)
    return found


def make_tables(asked: Asked, method: Method, price_of: Prices) -> tuple[Table, ...]:
    domain, rule, form = asked.domain, method.rule, (asked.transform, asked.publishing)
    if isinstance(rule, Auto):
        return _auto_tables(domain, rule, price_of(AUTO_PART))
    if isinstance(rule, Everyone):
        return _measured(counted_cells(domain, pairs=False), price_of)
    tables = []
    for (name, part), cells in counted_cells(domain, pairs=method.pairs).items():
        bound, unit, squared = table_bound(rule, cells, method.what)
        made = formed(name, cells, price_of(part), *form, bound=bound, unit=unit)
        tables.append(replace(made, part=part, squared=squared, settled=method.choose is None))
    return tuple(tables)


def _auto_tables(domain: Domain | None, rule: Auto, price: Price) -> tuple[Table, ...]:
    """The tables of ``auto`` that have every item, with the most that they may cost and change.

    Of too many items the largest are published; contexts are then counted without items.
    """
    tables: list[Table] = []
    for (name, _), cells in counted_cells(domain, pairs=False).items():
        too_many = cells.size > LARGEST_DENSE_AUTO
        if too_many and tables:
            break
        summary = FilterPriority(_AUTO_SIZE) if too_many else Dense()
        made = Table(name, AUTO_PART, cells, price, rule.l1_bound, rule.unit, settled=False)
        tables.append(replace(made, publishing=summary))
    return tuple(tables)


def _measured(counted: Mapping[tuple[str, str], Layout], price_of: Prices) -> tuple[Measured, ...]:
    """Tables of distinct users with interval noise, with the best number of phantoms."""
    tables = []
    for (name, part), cells in counted.items():
        if cells.size > MOST_MEASURED:
            raise UsageError(
                f"the table {name!r} would have {cells.size} cells, and --noise interval is for at "
                f"most {MOST_MEASURED}, because its noise grows with their number: shorten the "
                "lists, use fewer contexts, or remove --noise interval."
            )
        tables.append(
            Measured(name, part, cells, price_of(part), phantoms=phantoms_for(cells.size))
        )
    return tuple(tables)


def formed(
    name: str,
    cells: Layout,
    price: Price,
    transform: Transform,
    publishing: Publishing,
    *,
    bound: int,
    unit: Fraction = Fraction(1),
) -> Table:
    """A table in the form that was asked for; it stays as it is where it lacks its columns."""
    own = transform.for_table() if fits(transform, cells) else Untransformed()
    return Table(name, name, cells, price, bound, unit, own, publishing)


def popularity_table(domain: Domain, records: int, price: Price, what: What) -> Table:
    """The noisy item counts that rank items for a rule; at most d₀ records of a user count."""
    name, rule, cells = POPULARITY.name, RecordRule(records), grid([domain.items])
    return Table(name, name, cells, price, rule.l1_bound, squared=rule.l2_squared(what))


def table_bound(rule: Rule, cells: Layout, what: What) -> tuple[int, Fraction, int]:
    """What one user can change in a table, in units; what a unit means; and the L2 bound, squared.

    >>> from crowdtally.curator.bounding.sampling import SRA
    >>> from crowdtally.core.domain import Axis
    >>> axis = Axis.of("item", ["a", "b", "c"])
    >>> table_bound(SRA(10), grid([axis]), "users")
    (10, Fraction(1, 1), 10)
    >>> table_bound(SRA(10), Pairs(axis), "records")
    (45, Fraction(1, 1), 625)
    >>> table_bound(SRA(10, times=3), grid([axis]), "records")  # that count up to 3 times
    (30, Fraction(1, 1), 900)
    """
    if isinstance(rule, EveryRow):
        return rule.l1_bound, rule.unit, rule.squared_in(cells.names)
    if isinstance(cells, Pairs):
        return pairs_l1(rule.l1_bound), rule.unit, pairs_l2_squared(rule.l1_bound, what)
    return rule.l1_bound, rule.unit, rule.l2_squared(what)


def check_tables(tables: Sequence[Table], epsilon: Epsilon, rule: Rule) -> None:
    """Refuse what public numbers alone rule out: names, noise and sizes."""
    for table in tables:
        check_names(table.layout.names)
        _check_noise(table, epsilon, rule)
        _check_odds(table)
        _check_sample(table)
        _check_size(table)


def check_names(columns: Sequence[str]) -> None:
    """Refuse columns that DuckDB would take for one: it ignores upper and lower case."""
    seen: set[str] = set()
    for column in (*columns, *RESERVED):
        if column.lower() in seen:
            raise UsageError(
                f"two columns of the release would be called {column!r}, upper and lower case "
                f"being one: rename one, for example --context my_{column}=COLUMN."
            )
        seen.add(column.lower())


def check_measured(table: Table, epsilon: Epsilon, shorten: str) -> None:
    """Refuse noise of cells together beyond any count; ``shorten`` says what to make smaller."""
    if table.law.std() > LARGEST_SCALE:
        raise UsageError(
            f"the noise of {table.name!r} would be beyond any count: epsilon "
            f"{show(epsilon.value)} is too small for the noise of {table.cells.size} cells. "
            f"Raise --epsilon or {shorten}."
        )


def _check_noise(table: Table, epsilon: Epsilon, rule: Rule) -> None:
    if isinstance(table, Measured):
        check_measured(table, epsilon, "shorten the lists")
    if table.law.std() <= LARGEST_SCALE:
        return
    if table.name == POPULARITY.name:
        raise UsageError(
            f"the noise of the popularity would be beyond any count: epsilon {show(epsilon.value)} "
            f"is too small for popularity-records={table.bound}. Raise one or lower the other."
        )
    if isinstance(rule, Auto):
        raise UsageError(
            f"the noise of {table.name!r} could be beyond any count: epsilon {show(epsilon.value)} "
            f"is too small for auto, which may choose a bound of up to {rule.limit}. Raise "
            "--epsilon, or name a method and its bound, for example --method sra:max-records=1."
        )
    bound, lower = f"a bound of {rule.limit}", "the bound"
    if isinstance(rule, EveryRow):
        lower = "--bounded-to, if what it states stays true"
    if isinstance(rule, RecordRule) and rule.times > 1:
        bound += f" records, each of which counts up to {rule.times} times"
        lower += " or --max-quantity"
    raise UsageError(
        f"the noise of {table.name!r} would be beyond any count: epsilon {show(epsilon.value)} is "
        f"too small for {bound}. Raise --epsilon or lower {lower}."
    )


def _check_odds(table: Table) -> None:
    """One-sided without a cut, a negative noisy count has a chance of about e^(−ε/L), L ≥ 1."""
    drops = table.keeping.least == 0 and not table.keeping.keeps_all
    if drops and isinstance(table.price, Epsilon) and table.price.value > _LARGEST_EPSILON:
        raise UsageError(
            f"with epsilon {show(table.price.value)} for {table.name!r} no empty cell would ever "
            f"be dropped: give the summary cut=1, or an epsilon of at most {_LARGEST_EPSILON}."
        )


def samples_uncut(table: Table) -> bool:
    """Whether a noisy table is to be sampled without a cut."""
    return table.keeping.samples and not table.keeping.cut


def _check_sample(table: Table) -> None:
    """A sample of Gaussian noise is taken from what a filter kept, which needs a cut."""
    if isinstance(table.price, Rho) and samples_uncut(table):
        raise UsageError(
            f"with Gaussian noise the table {table.name!r} can be sampled only after a cut: use "
            "--summary filter-priority:size=S, or filter, or give --noise laplace, whose samples "
            "need none."
        )


def _check_size(table: Table) -> None:
    most, size = table.publishing.largest, table.layout.size
    if not table.publishing.leaves_out:
        if size > most:
            raise UsageError(
                f"the table {table.name!r} would have {size} cells, and a dense release has at "
                f"most {most}: use --summary filter-priority:size=S, shorten the lists or use "
                "fewer contexts."
            )
        return
    if (table.publishing.wanted or 0) > most:
        raise UsageError(f"the size must be at most {most}: received {table.publishing.wanted}.")
    if table.expected_empty > most:
        raise UsageError(
            f"of the {size} cells of {table.name!r} about {table.expected_empty:.3g} empty ones "
            f"would be published, and at most {most} fit: ask for a smaller size, or raise the cut "
            "or the threshold."
        )


# What a release is paid for in: pure ε, or the ρ of zCDP that its ε and δ buy.
#
# Contract. ρ is :func:`~crowdtally.laws.conversion.rho_of` of ε and of the part of δ that no
# unknown cells need, rounded down: what is drawn at prices that sum to at most ρ is (ε,
# δ)-differentially private. The noise is decided by public numbers alone: what one user can
# change, ε and δ.

Made = Callable[[Price], Sequence[Table]]
"""The tables, for the price of the release."""


@dataclass(frozen=True)
class Paid:
    """The price of a release, and its noise."""

    noise: str
    """One of ``NOISES``; ``auto`` where ``auto`` decides on the way."""
    epsilon: Epsilon
    delta: Delta
    unknown: Delta = field(default_factory=Delta, kw_only=True)
    """The part of δ that cells without a public list need."""
    offered: Delta = field(default_factory=Delta, kw_only=True)
    """The δ that was offered; none of it is spent where noise of pure ε is smaller."""
    left_open: bool = field(default=False, kw_only=True)
    """Whether the smaller of two noises was taken, which at another ε may be the other one."""

    @property
    def rho(self) -> Rho | None:
        """ρ that ε and δ buy, rounded down; None where the release is paid for in ε.

        >>> str(Paid("gaussian", Epsilon.of(1), Delta.of("1e-9")).rho)
        '0.0149730576735'
        """
        if self.noise != "gaussian":
            return None
        return Rho(rho_of(self.epsilon, Delta(self.delta.value - self.unknown.value)))

    @property
    def price(self) -> Price:
        return self.rho or self.epsilon

    def either(self) -> list[Paid]:
        if not self.left_open:
            return [self]
        pure = replace(self, noise="laplace", delta=Delta())
        return [pure, replace(self, noise="gaussian", delta=self.offered)]


def ways_to_pay(asked: Asked, epsilon: Epsilon) -> list[Paid]:
    """Pure ε, ρ, or both: what options and δ leave open."""
    noise, delta = asked.options.noise, asked.delta
    pure = Paid("interval" if asked.interval else "laplace", epsilon, Delta(), offered=delta)
    if not delta.value or noise not in (AUTO, "gaussian"):
        return [pure]
    gaussian = Paid("gaussian", epsilon, delta, offered=delta)
    return [pure, gaussian] if noise == AUTO else [gaussian]


def paid(asked: Asked, epsilon: Epsilon, made: Made) -> Paid:
    """What is paid, by the noise that was asked for or else by the smaller of two."""
    noise, delta = asked.options.noise, asked.delta
    if asked.rule.name == "auto" and delta.value and noise == AUTO:
        # It decides once it knows how long rows are.
        return Paid(AUTO, epsilon, delta, offered=delta)
    ways = ways_to_pay(asked, epsilon)
    # The first of equals: pure ε, which can also be sampled without a cut.
    if len(ways) == 1 or any(map(samples_uncut, made(ways[1].price))):
        return ways[0]
    found = min(ways, key=lambda way: sum(one.law.std() ** 2 for one in made(way.price)))
    return replace(found, left_open=True)


def unspent_words(paid: Paid) -> str | None:
    if not paid.offered.value or paid.delta.value:
        return None
    return (
        f"Noise of pure epsilon is used here, so delta {paid.offered} is not spent: the release "
        f"is of epsilon {paid.epsilon} without any delta."
    )
