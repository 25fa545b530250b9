"""The public domain: which cells a release speaks about, decided before any record is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from crowdtally.errors import UsageError
from crowdtally.showing import one_line, table
from crowdtally.values.axis import Axis, Kind, plain_integer

__all__ = ["RESERVED", "Axis", "Domain", "Kind", "plain_integer"]

RESERVED = ("count", "noise_std", "low", "high")
"""Column names of every release table that a user's column may not take."""

Values = Iterable[object] | Axis
"""A public list as a caller may give it."""


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
        """The item axis."""
        if not self.has_items:
            raise ValueError("a domain of attributes has no items")
        return self.axes[0]

    @property
    def contexts(self) -> tuple[Axis, ...]:
        """The context axes."""
        return self.axes[1:] if self.has_items else ()

    @property
    def size(self) -> int:
        """Number of cells of the joint table; a Python integer of any size."""
        return prod(len(axis) for axis in self.axes)

    @property
    def contexts_size(self) -> int:
        """Number of context combinations per item; 1 without contexts."""
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
        """The same domain with other lists, in order."""
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
    """Refuse items or contexts beside attributes, and nothing at all.

    Contexts alone are the lists of a release that discovers its items.
    """
    if (items is not None or bool(contexts)) == (attributes is not None):
        raise UsageError(
            "a domain has items (and contexts), or attributes: one of the two, not both. Type "
            'Domain(["a", "b"]) or Domain(attributes={"age": range(100)}).'
        )


def _refuse_mapping(items: object) -> None:
    """Its keys could be meant, or contexts: the caller says which."""
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
