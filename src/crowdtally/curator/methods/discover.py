"""Cells without public lists: those that enough users have, under (ε, δ)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.layout import ITEMS, Listed
from crowdtally.core.numbers import show
from crowdtally.curator.choices.selection import Discovered
from crowdtally.curator.converse import Reading, Released
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.counting.users import Kept, kept_cells
from crowdtally.curator.pricing import cost_facts
from crowdtally.curator.request.discover import Discovery, UnknownTable
from crowdtally.curator.request.method import TOTAL
from crowdtally.curator.table import Table
from crowdtally.format import NoisyTable
from crowdtally.format.manifest import DISCOVERED
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class Discover:
    """The cells that pass, with their noisy numbers of users; and the mass of the others.

    All tables count the same kept cells, of which each user has at most l. A table of listed values
    alone has all of its cells; there too a user counts once in at most l of them.
    """

    discovery: Discovery
    """What is discovered, and for what price."""
    plain: tuple[Table, ...] = ()
    """The tables of which every column has a list."""

    def parts(self) -> Sequence[Part]:
        """The mass of the others, and the tables."""
        found = self.discovery
        return [
            found.other.part(TOTAL),
            *(table.charge() for table in self.plain),
            *(table.rule.part(table.name) for table in found.tables),
        ]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """(user, cell) → at most l distinct cells per user → cells by value, users of each."""
        widths = [len(table.layout.names) for table in self.plain]
        widths += [len(table.columns) for table in self.discovery.tables]
        limit, key = self.discovery.other.limit, reading.fresh_key()
        return kept_cells(reading.engine, reading.prepared, limit, widths, key=key)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The cells that enough users have."""
        found, unknown = list[Kept](counted.found), self.discovery.tables
        tables = [
            table.publish(_listed(table, kept), draws)
            for table, kept in zip(self.plain, found, strict=False)
        ]
        found = found[len(self.plain) :]
        passed = [
            table.select(kept.users, draws) for table, kept in zip(unknown, found, strict=True)
        ]
        tables += map(self._found, unknown, found, passed)
        other = self.discovery.other.draw(found[-1].users, passed[-1], draws)
        return replace(released.with_tables(tables), other=self._mass(other))

    def _found(self, table: UnknownTable, kept: Kept, passed: Discovered) -> NoisyTable:
        """A table of the cells that passed, in the order of their values."""
        rule = table.rule
        facts = {
            **cost_facts(rule, rule.price),
            "delta": show(rule.actual_delta),
            "publishing": DISCOVERED,
            "threshold": rule.threshold,
        }
        columns = {
            name: self._values(name, values[passed.places])
            for name, values in zip(table.columns, kept.values, strict=True)
        }
        return NoisyTable(table.name, Listed(columns), passed.noisy, rule.law, facts)

    def _values(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """The values of a column, where its list has places instead."""
        axis = self.discovery.domain.lists.get(name)
        return values if axis is None else axis.values[values.astype(np.int64)]

    def _mass(self, other: int) -> dict[str, Any]:
        table, law = self.discovery.tables[-1], self.discovery.other.law
        what = "item" if table.name == ITEMS.name else "cell"
        words = f"noisy number of (user, {what}) pairs among the kept ones whose {what} is not "
        told = {
            name: law.to_json()[name] for name in ("scale", "variance") if name in law.to_json()
        }
        noise = {f"noise_{name}": value for name, value in told.items()}
        return {"count": other, **noise, "counts": f"{words}released", "table": table.name}


def _listed(table: Table, kept: Kept) -> Counts:
    """The users of each listed value: such a table has one column, that of the items."""
    (places,) = kept.values
    size, bound = table.cells.size, table.bound
    return Counts(size, places.astype(np.int64), kept.users, bound, squared=bound)
