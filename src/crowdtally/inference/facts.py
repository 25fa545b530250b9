"""What a release says about its items: arrays and laws, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, sqrt
from typing import Literal, Self

from crowdtally.core import layout as kinds
from crowdtally.core.counts import Keeping
from crowdtally.errors import UsageError
from crowdtally.inference.posterior import Floats, Ints
from crowdtally.inference.rows import RowLengths
from crowdtally.laws.base import Combination, NoiseLaw


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy counts of every cell of a table."""

    values: Floats
    """As counts, not in units."""
    law: NoiseLaw
    """Of their noise; it knows what a unit is as a count."""
    bound: float = inf
    """What rows were scaled to; ∞ where no row was, or where nothing says it."""

    @cached_property
    def std(self) -> float:
        """The standard deviation of the noise of one value."""
        return self.law.std()

    def std_of_sum(self, values: int) -> float:
        return self.law.std(Combination.of_cells(values))

    @property
    def scale(self) -> float:
        """The scale b of a Laplace law of the same variance."""
        return self.std / sqrt(2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Chosen(Noisy):
    """The same of some cells: those that were measured apart, or that a sparse publishing kept."""

    places: Ints
    """Which cells: their places in the list, each once."""
    keeping: Keeping = field(default_factory=Keeping)
    """Which noisy values are published; after priority sampling, with its final threshold."""


@dataclass(frozen=True, eq=False)
class ItemFacts:
    """What one table says about its cells."""

    size: int
    table: Noisy
    exact: bool = False
    """Whether nothing was bounded: then the estimates are of all records."""


Path = Literal["short", "rich", "long"]
"""What users' rows are like: all short; long, and so many that tastes could be looked at; long."""


@dataclass(frozen=True, eq=False)
class AutoFacts:
    """All that a release of auto says about its items. What was not measured is None."""

    size: int
    """How many items there are."""
    lengths: RowLengths
    path: Path
    """Which questions followed the lengths of the rows."""
    items: Noisy
    """All items, or of a domain that is too large to list those that were kept; where ``short`` is
    there, from longer rows alone."""
    short: Noisy | None = None
    """All items, from the rows that are no longer than its bound: they were not scaled."""
    total: Noisy | None = None
    """One value: all records, nearly unbounded."""
    head: Chosen | None = None
    """The largest items, measured again."""
    cells: Noisy | None = None
    """(items, contexts)."""
    totals: Noisy | None = None
    """(contexts,): the sums of the contexts."""
    repeats: bool = False
    """Whether several records of a user at one item count as several."""
    kappa: float = 0.55
    """How far long rows may differ in taste: the error per unit of shift to short rows."""
    zoom: Chosen | None = None
    """Items that have much of all records, measured again in rows of their own."""

    @cached_property
    def scaled(self) -> RowLengths:
        """The lengths of rows, for tables of items: rows of ones are scaled to a norm for ρ."""
        return replace(self.lengths, by_norm=by_norm(self.items.law, repeats=self.repeats))

    @classmethod
    def of(
        cls, size: int, tables: Mapping[str, Noisy], path: Path, kappa: float, *,
        rich: bool, repeats: bool,
    ) -> Self:  # fmt: skip
        """The facts that the tables of a release state, by their names."""

        def named(*some: kinds.TableKind) -> Noisy | None:
            return next((tables[kind.name] for kind in some if kind.name in tables), None)

        def chosen(*some: kinds.TableKind) -> Chosen | None:
            return found if isinstance(found := named(*some), Chosen) else None

        sizes, items = named(kinds.SIZES), named(kinds.ITEMS, kinds.CELLS)
        if sizes is None or items is None:
            raise UsageError("a release of auto has a table of sizes, and one of all items.")
        cells, head = named(kinds.EDGES), chosen(kinds.HEAD, kinds.HEAD_ROWS)
        if cells is not None:
            cells = replace(cells, values=cells.values.reshape(size, -1))
        lengths = RowLengths(sizes.values, sizes.std, rich_from=0.0 if rich else inf)
        return cls(
            size, lengths, path, items, named(kinds.ITEMS_SHORT), named(kinds.TOTAL), head, cells,
            named(kinds.CONTEXTS), repeats, kappa, chosen(kinds.ZOOM),
        )  # fmt: skip


def by_norm(law: NoiseLaw, *, repeats: bool) -> bool:
    """Whether rows of items are scaled to a Euclidean norm, not to a sum: ones, paid for in ρ."""
    return law.bounded_by == "l2" and not repeats
