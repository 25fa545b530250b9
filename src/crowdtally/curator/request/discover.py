"""Columns without a public list: which they are, and what is asked about their cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import OpenDomain, columns_of
from crowdtally.core.layout import CELLS, EDGES, ITEMS, grid
from crowdtally.core.privacy import Delta, Epsilon
from crowdtally.core.records import Records
from crowdtally.curator.bounding.rules import Discover
from crowdtally.curator.choices.selection import Discovered, OtherMass, UnknownCells
from crowdtally.curator.request.method import TOTAL
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.table_specs import LARGEST_SCALE, Paid, Prices, check_names
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.noise.draws import Draws

_ITEM = "item"
"""Another name of the item column."""


@dataclass(frozen=True)
class UnknownTable:
    """A table whose cells are found by the release itself."""

    name: str
    """Its file has this name too, and the part that pays for it."""
    columns: tuple[str, ...]
    """The first ones of the domain."""
    rule: UnknownCells

    def select(self, users: NDArray[np.int64], draws: Draws) -> Discovered:
        return self.rule.select(users, draws)


@dataclass(frozen=True)
class Discovery:
    """What is discovered: each table has its own δ, and all together one mass of other cells."""

    domain: OpenDomain
    tables: tuple[UnknownTable, ...]
    other: OtherMass
    """The mass of what the last table does not release."""

    def at(self, price_of: Prices) -> Discovery:
        tables = tuple(
            replace(table, rule=replace(table.rule, price=price_of(table.name)))
            for table in self.tables
        )
        return replace(self, tables=tables, other=replace(self.other, price=price_of(TOTAL)))


def discovered_columns(method: object, records: Records) -> tuple[str, ...]:
    """The columns that --discover names, in the order of the tables."""
    if not isinstance(method, Discover):
        return ()
    columns = columns_of(records)
    named = {_column(name, columns, records) for name in method.columns}
    return tuple(name for name in columns if name in named)


def _column(name: str, columns: tuple[str, ...], records: Records) -> str:
    if name in columns:
        return name
    if name == _ITEM and records.item is not None:
        return records.item
    raise UsageError(
        f"--discover names {name!r}, which is neither the item nor a context nor an attribute. "
        f"{did_you_mean(name, columns)}"
    )


def check_open(asked: Asked) -> None:
    """Refuse columns that have a list and are discovered, and those that are neither."""
    columns, found = columns_of(asked.records), asked.discovered
    given = [axis.name for axis in asked.domain.axes] if asked.domain is not None else []
    for name in columns:
        if (name in found) != (name in given):
            continue
        if name in found:
            raise UsageError(
                f"{name!r} is discovered, and it has a public list: remove the list, or take "
                f"{name!r} out of --discover."
            )
        how = "--items FILE" if name == asked.records.item else f"--values {name}=a,b,c"
        raise UsageError(
            f"{name!r} is not discovered, so that it needs its public list: give {how}, or "
            "name it in --discover too."
        )
    for name in given:
        if name not in columns:
            raise UsageError(
                f"there is a list of values for {name!r}, which is neither the item nor a context "
                f"nor an attribute. {did_you_mean(name, columns)}"
            )
    check_names(columns)


def tables_of(domain: OpenDomain) -> dict[str, tuple[str, ...]]:
    """The tables of such a domain, and their columns; those with fewer columns first."""
    if not domain.has_items:
        return {CELLS.name: domain.columns}
    items = {ITEMS.name: domain.columns[:1]}
    return items | ({EDGES.name: domain.columns} if domain.columns[1:] else {})


def plain_tables(domain: OpenDomain, limit: int, price_of: Prices) -> tuple[Table, ...]:
    """The tables whose columns all have lists: all cells, each user once in at most l."""
    plain = {name: own for name, own in tables_of(domain).items() if not domain.finds(own)}
    cells = {name: grid([domain.lists[one] for one in own]) for name, own in plain.items()}
    return tuple(
        Table(name, name, own, price_of(name), limit, squared=limit) for name, own in cells.items()
    )


def make_discovery(domain: OpenDomain, limit: int, price_of: Prices, delta: Delta) -> Discovery:
    """``delta`` is divided evenly between the tables."""
    found = {name: own for name, own in tables_of(domain).items() if domain.finds(own)}
    each = Delta(delta.value / len(found))
    tables = tuple(
        UnknownTable(name, own, UnknownCells(limit, price_of(name), each))
        for name, own in found.items()
    )
    return Discovery(domain, tables, OtherMass(limit, price_of(TOTAL)))


def check_noise(discovery: Discovery, epsilon: Epsilon) -> None:
    for table in discovery.tables:
        if table.rule.law.std() > LARGEST_SCALE:
            raise UsageError(
                f"the noise of {table.name!r} would be beyond any count: epsilon {epsilon} is too "
                f"small for a bound of {table.rule.limit}. Raise --epsilon or lower the bound."
            )


def paid_for_unknown(asked: Asked, epsilon: Epsilon, made: Callable[[Paid], Discovery]) -> Paid:
    """What is paid where cells are discovered: unless a noise was named, for the lower threshold.

    Laplace noise leaves all of δ to unknown cells, Gaussian noise half of it.
    """
    delta, noise = asked.delta, asked.options.noise
    laplace = Paid("laplace", epsilon, delta, unknown=delta, offered=delta)
    gaussian = replace(laplace, noise="gaussian", unknown=Delta(delta.value * Fraction(1, 2)))
    if noise != AUTO:
        return gaussian if noise == "gaussian" else laplace
    return min(
        laplace, gaussian, key=lambda paid: sum(one.rule.threshold for one in made(paid).tables)
    )
