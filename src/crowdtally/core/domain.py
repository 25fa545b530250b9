"""The public domain: which cells a release speaks about, decided before any record is read."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import takewhile
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.display import one_line, some, table
from crowdtally.core.records import Origin, Records
from crowdtally.errors import InputError, UsageError

Kind = Literal["text", "integer"]

_FEW = 3


@dataclass(frozen=True, eq=False)
class Axis:
    """One public list of values, in the order that tables and ranges use."""

    name: str
    values: NDArray[np.int64] | NDArray[np.object_]
    """Distinct 64-bit integers, or distinct NFC strings (an object array)."""
    origin: Origin | None = field(default=None, kw_only=True)
    """Where the list was read from; None where it was typed or computed."""

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("a list of values needs a name: the column it belongs to.")
        if len(self.values) == 0:
            raise InputError(f"the list of values for {self.name!r} is empty: give at least one.")
        if self.kind == "text":
            _check_text(self.name, self.values)
        if _distinct(self.values) != len(self.values):
            raise InputError(
                f"the list of values for {self.name!r} holds {len(self.values)} values of which "
                f"only {_distinct(self.values)} are distinct: remove the repeated ones."
            )

    @classmethod
    def of(cls, name: str, values: Iterable[object]) -> Axis:
        """An axis from a Python sequence, array or Series of text or integers.

        >>> Axis.of("day", ["Mon", "Tue"]).kind
        'text'
        """
        listed = _listed(name, values)
        if any(value is None or value != value for value in listed):
            raise InputError(f"the list of values for {name!r} contains a null: remove it.")
        kinds = {type(value) for value in listed}
        if kinds <= {str}:
            return cls(name, _objects(listed))
        if kinds == {int} and all(-(2**63) <= value < 2**63 for value in listed):
            return cls(name, np.array(listed, dtype=np.int64))
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UsageError(
            f"values of {name!r} must be all text or all 64-bit integers: received {names}."
        )

    @classmethod
    def plainest(cls, name: str, texts: Sequence[str], *, origin: Origin | None = None) -> Axis:
        """An axis of texts (CSV, the command line): of integers if all of them spell integers.

        >>> Axis.plainest("age", ["7", "11"]).kind, Axis.plainest("zip", ["02139", "7"]).kind
        ('integer', 'text')
        """
        numbers = list(takewhile(lambda number: number is not None, map(plain_integer, texts)))
        if not len(texts) or len(numbers) < len(texts):
            return cls(name, _objects(texts), origin=origin)
        return cls(name, np.array(numbers, dtype=np.int64), origin=origin)

    @property
    def kind(self) -> Kind:
        return "integer" if self.values.dtype == np.int64 else "text"

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return one_line(f"<Axis {self.name!r} of {len(self):,}: {self.first()}>")

    def first(self) -> str:
        """The first values, and how many more there are, for people."""
        return some(self.values[:_FEW].tolist(), len(self))

    def renamed(self, name: str) -> Axis:
        if name == self.name:
            return self
        # Not replace(): it would check the values again, and a list may have ten million of them.
        other = copy(self)
        object.__setattr__(other, "name", name)
        return other


def plain_integer(text: str) -> int | None:
    """The 64-bit integer of a text in its one plain spelling, so that no two texts mean one.

    >>> [plain_integer(text) for text in ("7", "-7", "07", "7.0", "seven")]
    [7, -7, None, None, None]
    """
    try:
        number = int(text)
    except ValueError:
        return None
    return number if str(number) == text and -(2**63) <= number < 2**63 else None


def _listed(name: str, values: Iterable[object]) -> list[Any]:
    """Plain Python values, also from arrays, Series and pyarrow columns."""
    if isinstance(values, str | bytes):
        raise UsageError(
            f'values of {name!r} must be a list, not one string: type for example ["a", "b"].'
        )
    if hasattr(values, "columns"):  # listing a data frame would give the names of its columns
        raise UsageError(
            f"values of {name!r} must be one list: received a table ({type(values).__name__}); "
            "give one of its columns."
        )
    for method in ("tolist", "to_pylist"):
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    if not isinstance(values, Iterable):
        raise UsageError(
            f"values of {name!r} must be a list: received {type(values).__name__}; "
            'type for example ["a", "b"] or range(10).'
        )
    return list(values)


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _distinct(values: NDArray[np.int64] | NDArray[np.object_]) -> int:
    """The number of different values; a list may have ten million of them."""
    if values.dtype == np.int64:
        return _runs(np.sort(values))
    hashes = np.fromiter(map(hash, values), dtype=np.int64, count=len(values))
    # Different hashes are different values; a set of them all would take half a gigabyte.
    return len(values) if _runs(np.sort(hashes)) == len(values) else len(set(values))


def _runs(ascending: NDArray[np.int64]) -> int:
    return int((ascending[1:] != ascending[:-1]).sum()) + 1 if len(ascending) else 0


def _check_text(name: str, values: NDArray[Any]) -> None:
    for position, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(f"the list of values for {name!r} contains a null: remove it.")
        if not value.isascii() and not unicodedata.is_normalized("NFC", value):
            raise InputError(
                f"value {position + 1} of the list for {name!r} is not in Unicode normal form C, "
                "so it could look equal to a record's value and not match: normalise the list and "
                "the records to NFC."
            )


RESERVED = ("count", "noise_std", "low", "high")
"""Column names of every release table that a user's column may not take."""

Values = Iterable[object] | Axis  # a public list as a caller may give it


@dataclass(frozen=True, eq=False, init=False)
class Domain:
    """The public items, and the contexts they are counted in; or the attributes of a table.

    >>> d = Domain(["a", "b", "c"], {"day": ["Mon", "Tue"]})
    >>> d.size, d.contexts_size, d.cell((2, 1)), d.codes(5)
    (6, 2, 5, (2, 1))
    """

    axes: tuple[Axis, ...]
    """The item axis first, then the contexts; a cell's number is mixed-radix, last axis fastest."""
    has_items: bool
    """Whether the first axis is the items; else all axes are attributes."""

    def __init__(
        self,
        items: Values | None = None,
        contexts: Mapping[str, Values] | None = None,
        *,
        item: str = "item",
        attributes: Mapping[str, Values] | None = None,
    ) -> None:
        """Make a domain.

        Args:
            items: the public item list: distinct text or integers, in the order of the tables.
            contexts: for each context its public list of values; several make one joint table.
                Without ``items``, where a release discovers those.
            item: the name of the item column; a release takes it from the records.
            attributes: instead of items and contexts: each attribute's public values.
        """
        _refuse_mapping(items)
        beside, instead = _by_name("contexts", contexts), _by_name("attributes", attributes)
        _refuse_both(items, beside, attributes)
        named = beside | instead
        if items is not None and item in named:
            raise UsageError(f"{item!r} is used for two lists of values: rename one.")
        lists = named if items is None else {item: items, **named}
        if not lists:
            raise UsageError("a domain needs at least one list of values.")
        axes = tuple(_axis(name, values) for name, values in lists.items())
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "has_items", items is not None)

    @property
    def items(self) -> Axis:
        if not self.has_items:
            raise ValueError("a domain of attributes has no items")
        return self.axes[0]

    @property
    def contexts(self) -> tuple[Axis, ...]:
        return self.axes[1:] if self.has_items else ()

    @property
    def size(self) -> int:
        """Number of cells of the joint table; a Python integer of any size."""
        return prod(len(axis) for axis in self.axes)

    @property
    def contexts_size(self) -> int:
        """Number of combinations of contexts; 1 without contexts."""
        return prod(len(axis) for axis in self.contexts)

    def __repr__(self) -> str:
        lists = " × ".join(f"{axis.name!r} ({len(axis):,})" for axis in self.axes)
        return one_line(f"<Domain of {self.size:,} cells: {lists}>")

    def _repr_html_(self) -> str:
        what = "items and contexts" if self.contexts else "items"
        rows = ((a.name, a.kind, f"{len(a):,}", a.first()) for a in self.axes)
        return table(
            f"Domain: {self.size:,} cells, by {what if self.has_items else 'attributes'}",
            ("column", "kind", "values", "the first of them"),
            rows,
            total=len(self.axes),
            right=("values",),
        )

    def with_axes(self, axes: Sequence[Axis]) -> Domain:
        named = {axis.name: axis for axis in axes}
        if not self.has_items:
            return Domain(attributes=named)
        item, *_ = named
        return Domain(named.pop(item), named, item=item)

    def named(self, item: str) -> Domain:
        """The same domain with the records' name for the item column."""
        return self.with_axes([self.items.renamed(item), *self.contexts])

    def cell(self, codes: Sequence[int]) -> int:
        """The number of the cell with these positions on the axes."""
        number = 0
        for axis, code in zip(self.axes, codes, strict=True):
            number = number * len(axis) + int(code)
        return number

    def codes(self, cell: int) -> tuple[int, ...]:
        """The positions on the axes of cell number ``cell``."""
        codes: list[int] = []
        for axis in reversed(self.axes):
            cell, code = divmod(cell, len(axis))
            codes.append(code)
        return tuple(reversed(codes))


def _by_name(parameter: str, given: Mapping[str, Values] | None) -> dict[str, Values]:
    """The lists of ``contexts`` or ``attributes``, each under its column's name."""
    if given is None:
        return {}
    example = f'{parameter}={{"day": ["Mon", "Tue"]}}'
    if not isinstance(given, Mapping):
        raise UsageError(
            f"{parameter} must give each column's public list of values by name: received "
            f"{type(given).__name__}; type for example {example}."
        )
    for name in given:
        if not isinstance(name, str):
            raise UsageError(
                f"{parameter} must name columns by text: received a name of type "
                f"{type(name).__name__}; type for example {example}."
            )
    return dict(given)


def _refuse_both(items: Values | None, contexts: Mapping[str, Values], attributes: object) -> None:
    """Refuse items or contexts beside attributes, and a domain with neither."""
    if (items is not None or bool(contexts)) == (attributes is not None):
        raise UsageError(
            "a domain has items (and contexts), or attributes: one of the two, not both. Type "
            'Domain(["a", "b"]) or Domain(attributes={"age": range(100)}).'
        )


def _refuse_mapping(items: object) -> None:
    """The caller may mean its keys, or contexts."""
    if isinstance(items, Mapping):
        raise UsageError(
            f"items must be a list: received {type(items).__name__}; type list(…) for its keys, or "
            'Domain(["a", "b"], contexts={"day": ["Mon", "Tue"]}).'
        )


def _axis(name: str, values: Values) -> Axis:
    if name in RESERVED:
        raise UsageError(
            f"a column called {name!r} would clash with the release's own columns "
            f"({', '.join(RESERVED)}): rename it, for example --context my_{name}={name}, "
            f"in Python contexts={{'my_{name}': '{name}'}}."
        )
    return values.renamed(name) if isinstance(values, Axis) else Axis.of(name, values)


@dataclass(frozen=True, eq=False)
class OpenDomain:
    """The columns that name a cell, in the order of the tables, and the lists of some of them."""

    columns: tuple[str, ...]
    """The item first, then the contexts; or the attributes."""
    has_items: bool
    lists: Mapping[str, Axis] = field(default_factory=dict)
    """The public list of each column that has one; the others are discovered."""

    @classmethod
    def of(cls, records: Records, lists: Domain | None = None) -> OpenDomain:
        """The declared columns, with the lists of some.

        >>> OpenDomain.of(Records("visits.csv", "user", "place", {"day": None})).discovered
        ('place', 'day')
        """
        axes = {axis.name: axis for axis in (() if lists is None else lists.axes)}
        columns = columns_of(records)
        listed = {name: axes[name] for name in columns if name in axes}
        return cls(columns, records.item is not None, listed)

    @property
    def discovered(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self.lists)

    @property
    def listed(self) -> tuple[Axis, ...]:
        """The public lists, in the order of their columns."""
        return tuple(self.lists.values())

    def finds(self, columns: Iterable[str]) -> bool:
        """Whether a table of these columns has one that is discovered."""
        return any(name not in self.lists for name in columns)


def columns_of(records: Records) -> tuple[str, ...]:
    """The columns that name a cell: the item and the contexts, or the attributes."""
    return records.attributes if records.item is None else (records.item, *records.contexts)
