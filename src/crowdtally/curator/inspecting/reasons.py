"""Why rows fall out, column by column. Exact and private: for the curator's eyes, never released.

What is named here is public: columns, tables, and values of the public lists. A record's own value
never leaves the engine, not even one that no list has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.core.domain import Axis, Domain, OpenDomain
from crowdtally.records.engine import Column, Engine
from crowdtally.records.locate import Sources
from crowdtally.records.prepare import Prepared

EXAMPLES = 3
"""How many listed values without a row are shown."""


@dataclass(frozen=True)
class Unmatched:
    """The values of a public list that no row has."""

    listed: int
    """How many values the list has."""
    missing: int
    """How many of them no row has."""
    examples: tuple[str | int, ...]
    """The first few of these, in the list's order."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"listed": self.listed, "missing": self.missing, "examples": list(self.examples)}


@dataclass(frozen=True)
class Reason:
    """One column, or one join, and the rows that fall out because of it."""

    role: str
    """``user``, ``item``, ``context``, ``attribute``, ``join``, ``weight`` or ``quantity``."""
    name: str
    """The column, the context's name, or the joined table with its key."""
    rows: int
    """How many rows fall out because of it; a row may fall out because of several."""
    unmatched: Unmatched | None = None
    """What its list has and no row does; None where it has no list, or was not looked for."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = None if self.unmatched is None else self.unmatched.to_dict()
        return {"role": self.role, "name": self.name, "rows": self.rows, "list": found}


@dataclass(frozen=True)
class _Check:
    """What a row needs so that it does not fall out."""

    role: str
    name: str
    fails: Column
    """Whether a row lacks it."""
    axis: Axis | None = None
    code: str = ""
    """For a column with a list: the list, and the column with a value's place in it."""


def reasons(
    engine: Engine, prepared: Prepared, sources: Sources, *, lists: bool = False
) -> tuple[Reason, ...]:
    """How many rows fall out because of each column, by one pass over all rows.

    With ``lists``, by one more pass for each list, also which of its values no row has.
    """
    rows, checks = prepared.matched, list(_checks(prepared, sources))
    numbered = {f"n{place}": rows.count(where=check.fails) for place, check in enumerate(checks)}
    found = engine.arrays(rows.aggregate(**numbered))
    return tuple(
        Reason(
            check.role,
            check.name,
            int(found[f"n{place}"][0]),
            _unmatched(engine, prepared, check) if lists and check.axis is not None else None,
        )
        for place, check in enumerate(checks)
    )


def _checks(prepared: Prepared, sources: Sources) -> Iterator[_Check]:
    rows, records = prepared.matched, sources.declared
    if records.user is not None:
        yield _Check("user", ", ".join(records.user_columns), rows.user.isnull())
    for number, (role, name, axis) in enumerate(_roles(prepared.lists)):
        code = f"code_{number}"
        if axis is None:
            yield _Check(role, name, rows[f"axis_{number}"].isnull())
        else:
            yield _Check(role, name, rows[code].isnull(), axis, code)
    for number, found in enumerate(sources.joins):
        name = (found.table.label or "the table").rpartition("/")[2]
        yield _Check("join", f"{name}:{found.declared.keys}", ~rows[f"partner_{number}"])
    if records.weight is not None:
        yield _Check("weight", records.weight, rows.weighs.isnull() | ~rows.weighs)
    if records.quantity is not None:
        yield _Check("quantity", records.quantity.column, rows.counts.isnull() | ~rows.counts)


def _roles(lists: Domain | OpenDomain) -> list[tuple[str, str, Axis | None]]:
    """The columns that name a cell: the role, the name and the list of each."""
    if isinstance(lists, Domain):
        named: list[tuple[str, Axis | None]] = [(axis.name, axis) for axis in lists.axes]
    else:
        named = [(name, lists.lists.get(name)) for name in lists.columns]
    if not lists.has_items:
        return [("attribute", *one) for one in named]
    return [("context" if place else "item", *one) for place, one in enumerate(named)]


def _unmatched(engine: Engine, prepared: Prepared, check: _Check) -> Unmatched | None:
    """By the places of values in their list: no value of a record is fetched."""
    axis, rows = check.axis, prepared.matched
    if axis is None:
        return None
    places = rows.filter(~check.fails).select(place=rows[check.code]).distinct()
    met = np.zeros(len(axis), dtype=bool)
    met[engine.arrays(places)["place"]] = True
    (missing,) = np.nonzero(~met)
    return Unmatched(len(axis), len(missing), tuple(axis.values[missing[:EXAMPLES]].tolist()))
