"""The facts of a report, which are also its JSON (``docs/report.md``)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import prod
from typing import Any

from crowdtally.core import display
from crowdtally.core.layout import added
from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.format.load import what_counts
from crowdtally.format.manifest import DISTINCT, Standing, TableFacts
from crowdtally.reader.describe.description import (
    belief_after,
    left_words,
    spending_lines,
    standing_words,
    withdrawal_lines,
)
from crowdtally.reader.describe.promise import beliefs
from crowdtally.reader.describe.protection import part_words, parts_lines
from crowdtally.reader.describe.tables import course_lines, table_lines
from crowdtally.reader.estimates.cell_sums import TRUE
from crowdtally.reader.estimates.estimator import ReleaseView, is_bounded
from crowdtally.reader.questions.sum import Sum
from crowdtally.reader.questions.top_list import TopList
from crowdtally.reader.report.answers import Asking, Distribution, HeatMap, InContext, Labels, Pairs
from crowdtally.reader.report.levels import Level, levels


@dataclass(frozen=True)
class Step:
    """One step of the release."""

    place: int
    """1 for the first."""
    name: str
    """The step's name; without ``auto``, that of a part of ε."""
    cost: str
    """What it cost, exact."""
    paid_in: str
    """What the cost is: ``epsilon``, or ``rho`` of zCDP."""
    share: float
    """What it adds, as a share of the whole: 0 of a table of short rows, beside that of others."""
    why: str
    """Why it was taken, or what it paid for."""


@dataclass(frozen=True)
class Spent:
    steps: tuple[Step, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Budget:
    """What the ledger said when the release was made: exact amounts of ε, or of ρ and δ."""

    before: str
    charged: str
    after: str
    limit: str | None
    """What may be spent; None where no limit was set."""
    left: str | None
    delta: str
    belief_after: str | None
    """What a belief of 50% about one person can become at most by all releases together."""
    unit: str
    """What the amounts are: ``ε``; empty where each says it."""
    words: tuple[str, ...]


def spent(published: Published) -> Spent:
    auto, price = published.auto, published.guarantee.price
    if auto is None:
        parts = {name: Fraction(part) for name, part in published.metadata["split"].items()}
        steps = [
            Step(n, name, str(price * part), price.field, float(part), part_words(published, name))
            for n, (name, part) in enumerate(parts.items(), start=1)
        ]
        return Spent(tuple(steps), tuple(parts_lines(published)))
    shares = added({one.name: auto.share(one, published.guarantee.epsilon) for one in auto.steps})
    steps = [
        Step(place, one.name, show(one.cost), one.paid_in, float(shares[one.name]), one.why)
        for place, one in enumerate(auto.steps, start=1)
    ]
    first, *said = course_lines(published)
    words = (first, *said[len(steps) :], *parts_lines(published))
    return Spent(tuple(steps), words)


def budget(published: Published) -> Budget:
    charged = published.charged
    said = standing_words if charged.by_zcdp else lambda standing: show(standing.epsilon)
    own = f"ρ {show(charged.rho)}" if charged.rho is not None else said(Standing(charged.epsilon))
    return Budget(
        said(charged.spent_before),
        own,
        said(charged.spent_after),
        None if charged.limit is None else said(charged.limit),
        left_words(published),
        show(charged.delta),
        belief_after(published),
        "" if charged.by_zcdp else "ε",
        tuple(spending_lines(published)),
    )


UNKNOWN = "cannot be known from this release"
NONE = "none: nothing was cut"


@dataclass(frozen=True)
class Listed:
    name: str
    values: int
    discovered: bool


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
    """Its part of ε, or of ρ, exact; beside a table of short rows, what both cost together."""
    paid_in: str
    """What the cost is: ``epsilon``, or ``rho`` of zCDP."""
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
    return tuple(Listed(one.name, one.length, one.is_discovered) for one in published.domain.lists)


def table_sizes(published: Published, whole: Sum | None) -> tuple[TableSize, ...]:
    told = zip(published.tables, table_lines(published), strict=True)
    return tuple(_sized(published, table, words, whole) for table, words in told)


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
    auto = published.auto
    if auto is not None and (table.kind.short_rows or auto.theta(table.name) is None):
        return NONE
    if auto is None:
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
    command: str
    """What to type, in the folder that holds the release."""
    words: str


def checks(published: Published) -> tuple[Check, ...]:
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


SCHEMA = "crowdtally-report/1"
"""Name and version of the layout of the JSON."""


@dataclass(frozen=True)
class Facts:
    """Everything that a report says."""

    id: str
    """The release's id."""
    dataset: str | None
    """The dataset that it was charged to."""
    created: str
    """When the release was begun."""
    withdrawn: tuple[str, ...]
    """That it was called back, when and why; empty where it was not."""
    promise: str
    """The guarantee as one sentence."""
    epsilon: str
    """ε of the whole release, exact."""
    delta: str
    """δ of the whole release, exact."""
    unit: str
    """Whom it protects."""
    neighbours: str
    """Which databases are made hard to tell apart."""
    beliefs: tuple[dict[str, str], ...]
    """Beliefs about one person, and the most that each can become."""
    levels: tuple[Level, ...]
    """The guarantee, what can undermine it, and what it rests on."""
    spent: Spent
    """The steps with their share of ε."""
    budget: Budget
    """Before and after."""
    counted: str
    """What a count counts: records or users."""
    whole: Sum | None
    """The sum over everything."""
    top: TopList | None
    """The largest items; None in a release of attributes, or without an item."""
    tops: tuple[InContext, ...]
    """The largest items in each context, where the release has lists there alone."""
    distributions: tuple[Distribution, ...]
    """Over each context, or attribute."""
    heat_maps: tuple[HeatMap, ...]
    """The largest items by each context; of attributes, the first by the second."""
    pairs: Pairs | None
    """The largest pairs."""
    lists: tuple[Listed, ...]
    """The public lists."""
    domain_cells: int
    """Combinations of their values."""
    tables: tuple[TableSize, ...]
    """Each table: size, noise, and what bounding took away."""
    checks: tuple[Check, ...]
    """How it can be checked."""
    labels: dict[str, str]
    """Names of the items that are shown, from a public catalogue; by the items as text."""

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        if self.top is not None:
            found["top"] |= {"notes": self.top.notes}
        return {"schema": SCHEMA, **found}

    def to_json(self) -> str:
        """JSON text in which a terminal finds nothing to obey."""
        return display.printable_json(self.to_dict())


def facts_of(view: ReleaseView, labels: Labels | None = None) -> Facts:
    published, asking = view.published, Asking(view)
    promised, whole, largest = published.guarantee, asking.whole(), asking.top()
    tops = asking.tops() if largest is None else ()
    pairs = asking.pairs()
    return Facts(
        id=published.id,
        dataset=published.charged.dataset,
        created=str(published.metadata["created"]),
        withdrawn=tuple(withdrawal_lines(published.withdrawn)),
        promise=published.promise,
        epsilon=show(promised.epsilon),
        delta=show(promised.delta),
        unit=promised.unit,
        neighbours=promised.neighbours,
        beliefs=tuple(beliefs(promised.epsilon)),
        levels=levels(published),
        spent=spent(published),
        budget=budget(published),
        counted=published.counted,
        whole=whole,
        top=largest,
        tops=tops,
        distributions=asking.distributions(),
        heat_maps=asking.heat_maps(largest),
        pairs=pairs,
        lists=lists(published),
        domain_cells=prod(one.length for one in published.domain.lists),
        tables=table_sizes(published, whole),
        checks=checks(published),
        labels=_names([largest, *(one.top for one in tops)], pairs, labels or {}),
    )


def _names(lists: Iterable[TopList | None], pairs: Pairs | None, labels: Labels) -> dict[str, str]:
    shown = [row.item for one in lists if one is not None for row in one.rows]
    if pairs is not None:
        shown += [item for pair in pairs.rows for item in (pair.item, pair.other)]
    found = ((item, labels.get(item)) for item in shown)
    return {str(item): name for item, name in found if name is not None}
