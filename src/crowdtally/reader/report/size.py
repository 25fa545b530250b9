"""How large a release is, how far its numbers may be off, and how it can be checked."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import AUTO, DISTINCT, TableFacts
from crowdtally.reader.asking.sum import Sum
from crowdtally.reader.describing.what import table_lines
from crowdtally.reader.estimating.believed import TRUE
from crowdtally.reader.estimating.covering import is_bounded

UNKNOWN = "cannot be known from this release"
NONE = "none: nothing was cut"


@dataclass(frozen=True)
class Listed:
    """One public list."""

    name: str
    """The column."""
    values: int
    """How many values it has."""
    discovered: bool
    """Whether the release itself found them."""


@dataclass(frozen=True)
class TableSize:
    """One table of the release: its size, its noise, and what bounding took away from it."""

    name: str
    """The table's name."""
    file: str
    """Its file in the folder."""
    words: str
    """What it holds."""
    columns: tuple[str, ...]
    """The columns that name a cell."""
    cells: int
    """Cells, nodes, coefficients or buckets, published or not."""
    rows: int
    """Rows of its file."""
    bytes: int
    """Size of its file."""
    cost: str
    """Its part of ε, or of ρ, exact; with a table that it refines, what both cost together."""
    paid_in: str
    """What the cost is: ``epsilon``, or ``rho`` of zCDP."""
    refines: str | None
    """The table whose noise it refines; None where its noise is its own."""
    most: float
    """What one person can change, as a count: in all cells together, or ``per_cell`` in each."""
    per_cell: bool
    """Whether that is in each cell, in however many."""
    noise: str
    """The law of its noise."""
    noise_std: float
    """Standard deviation of the noise of one cell: the typical error by noise."""
    interval: float
    """Half the width of the noise interval."""
    level: str
    """How likely the noise lies within it."""
    publishing: str
    """Which cells are published."""
    transform: str
    """What became of the counts before noise was added."""
    bounding: str
    """The error by bounding: none, unknown, or what is known of it."""


def lists(published: Published) -> tuple[Listed, ...]:
    """The public lists."""
    return tuple(Listed(one.name, one.length, one.is_discovered) for one in published.domain.lists)


def table_sizes(published: Published, whole: Sum | None) -> tuple[TableSize, ...]:
    """Each table."""
    lines = list(table_lines(published))
    return tuple(
        _sized(published, table, words, whole)
        for table, words in zip(published.tables, lines, strict=True)
    )


def _sized(published: Published, table: TableFacts, words: str, whole: Sum | None) -> TableSize:
    return TableSize(
        table.name,
        table.file,
        words,
        table.columns,
        table.cells,
        table.published_cells,
        published.path(table).stat().st_size,
        str(table.price),
        table.price.field,
        table.kind.refines,
        1.0 if table.law.per_cell else float(table.sensitivity * table.law.unit),
        table.law.per_cell,
        table.law.kind,
        table.noise_std,
        table.interval_half_width,
        show(table.interval_level),
        table.publishing,
        table.transform.kind,
        _bounding(published, table, whole),
    )


def _bounding(published: Published, table: TableFacts, whole: Sum | None) -> str:
    """The part of the error that is not noise, as far as a release can say it."""
    if not is_bounded(published) or published.method.bounding == DISTINCT or table.law.per_cell:
        return NONE
    if published.method.bounding == AUTO and table.law.unit == 1:
        return NONE
    if published.method.bounding != AUTO:
        return f"{what_counts(published, table).words()}; what that leaves out {UNKNOWN}"
    lost = lost_share(whole)
    if lost is None or whole is None or whole.table != table.name:
        return "rows were scaled down; estimates allow for it"
    share = f"about {lost:.0%}" if lost >= 0.01 else "less than 1%"
    return f"{share} of all counts were lost by scaling down; estimates put it back"


def lost_share(whole: Sum | None) -> float | None:
    """The share of all counts that bounding took away; None where it was not measured."""
    if whole is None or whole.covers != TRUE or whole.value is None or whole.estimate <= 0:
        return None
    return min(max(1 - whole.value / whole.estimate, 0.0), 1.0)


@dataclass(frozen=True)
class Check:
    """Something that a reader can do."""

    command: str
    """What to type, in the folder that holds the release."""
    words: str
    """What it does."""


def checks(published: Published) -> tuple[Check, ...]:
    """How the release can be checked."""
    name = shlex.quote(published.folder.name or "RELEASE")
    return (
        Check(
            f"crowdtally check {name}",
            "Checks every file against its hash, every row against the public lists and the noise.",
        ),
        Check(
            f"crowdtally check {name} --ledger LEDGER",
            "Checks the same, and the charge in the ledger; for whoever may read that ledger.",
        ),
        Check(f"crowdtally describe {name}", "Prints the sentences of this report."),
        Check(f"crowdtally report {name} --json", "Prints all facts of this report, for programs."),
        Check("crowdtally check", "Tests noise, engine and ledger of your own installation."),
    )
