"""Databases of people with several ids and records of several counts, and what they mean."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import crowdtally as ct

ITEMS, CONTEXTS, MOST = 4, 3, 5
DOMAIN = ct.Domain(range(ITEMS), {"context": range(CONTEXTS)}, item="item")

Id = tuple[Any, ...]
"""The parts of an id."""
Visit = tuple[Id, Any, Any, Any]
"""The id, the item, the context and the quantity of a record."""
Histories = dict[str, Counter[tuple[int, int]]]
"""For each person, how many records of which cell and quantity."""


@dataclass(frozen=True)
class People:
    """Records, and perhaps a table of which ids are one person's."""

    visits: Sequence[Visit]
    names: tuple[str, ...] = ("shop", "customer")
    """The columns of the id."""
    kinds: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Types of columns that are not to be text (ids) or integers (the others)."""
    same: Sequence[tuple[Id, Any]] | None = None
    """Which id is whose, as rows of a table."""
    same_kinds: Mapping[str, pa.DataType] = field(default_factory=dict)
    """The same for that table."""

    def table(self) -> pa.Table:
        """The records."""
        columns: dict[str, Any] = {
            name: pa.array([v[0][place] for v in self.visits], self.kinds.get(name, pa.string()))
            for place, name in enumerate(self.names)
        }
        for place, name in enumerate(("item", "context", "quantity"), start=1):
            kind = self.kinds.get(name, pa.int64())
            columns[name] = pa.array([v[place] for v in self.visits], kind)
        return pa.table(columns)

    def same_table(self) -> pa.Table:
        """The table of ids and persons."""
        assert self.same is not None
        columns: dict[str, Any] = {
            name: pa.array([i[place] for i, _ in self.same], self.same_kinds.get(name, pa.string()))
            for place, name in enumerate(self.names)
        }
        kind = self.same_kinds.get("person", pa.string())
        return pa.table(columns | {"person": pa.array([p for _, p in self.same], kind)})

    def records(self, *, quantity: int | None = None) -> ct.Records:
        """The declaration."""
        return ct.read(
            self.table(), user=list(self.names), item="item", contexts=["context"],
            same_person=None if self.same is None else self.same_table(),
            quantity=None if quantity is None else "quantity", max_quantity=quantity,
        )  # fmt: skip

    def person(self, one: Id) -> str | None:
        """Whose records these are, by plain Python.

        None where a part of the id is missing, or where the table gives the id several persons.
        """
        if any(part is None for part in one):
            return None
        parts = tuple(map(str, one))
        persons = {
            str(person)
            for known, person in self.same or ()
            if person is not None and tuple(map(_text, known)) == parts
        }
        if persons:
            return persons.pop() if len(persons) == 1 else None
        return parts[0] if len(parts) == 1 else repr(parts)

    def histories(self, most: int | None = None) -> Histories:
        """Each person's records that count, by cell and quantity, which is 1 without one."""
        found: Histories = defaultdict(Counter)
        for one, item, context, quantity in self.visits:
            person = self.person(one)
            times = 1 if most is None else quantity
            listed = item in range(ITEMS) and context in range(CONTEXTS)
            if person is None or not listed or times is None or times < 1:
                continue
            found[person][item * CONTEXTS + context, min(times, most or 1)] += 1
        return found

    def without(self, person: str) -> People:
        """The neighbour: neither the person's records nor the rows that name that person."""
        visits = [visit for visit in self.visits if self.person(visit[0]) != person]
        same = self.same and [row for row in self.same if self.person(row[0]) != person]
        return People(visits, self.names, self.kinds, same, self.same_kinds)


def _text(part: Any) -> str | None:
    return None if part is None else str(part)


def tallied(own: Histories) -> Counter[int]:
    """What each cell counts where nobody is cut."""
    found: Counter[int] = Counter()
    for records in own.values():
        for (cell, times), number in records.items():
            found[cell] += times * number
    return found


def drawn(seed: int, visits: int, ids: Sequence[Id]) -> list[Visit]:
    """Records of these ids at random, some of nobody, outside the lists or of no quantity."""
    rng = np.random.default_rng(seed)
    quantities = [1, 1, 2, 3, MOST, MOST + 1, 2**40, 0, -2, None]
    return [
        (
            ids[rng.integers(len(ids))],
            int(rng.integers(ITEMS + 1)) if rng.random() < 0.95 else None,
            int(rng.integers(CONTEXTS + 1)),
            quantities[rng.integers(len(quantities))],
        )
        for _ in range(visits)
    ]
