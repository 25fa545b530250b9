"""Every row against the manifest."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from crowdtally.core import files
from crowdtally.core.hierarchy import DyadicAxis
from crowdtally.core.integers import saturating_sum
from crowdtally.errors import InputError
from crowdtally.format import tables
from crowdtally.format.entries import PublicDomain, PublicList, TableFacts, TransformFacts
from crowdtally.format.parse import damaged
from crowdtally.format.tables import TYPES

# Which cells a table has, from ``release.json`` alone: columns, types, number and order.
#
# A cell is named by one code on each **factor**: a list's value, a node of a tree over it, a Haar
# coefficient, a row or bucket of a sketch. Tables are sorted by these codes, the first one
# slowest.

Codes = NDArray[np.int64]
Block = Mapping[str, NDArray[Any]]
"""Some rows of a table: its columns by name."""

NO_CELL = -1
"""The code of a row that names no cell of the public table."""


class Factor(Protocol):
    """One part of a cell's name."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        """Its columns, and the kind of their values; None where it may be either."""

    @property
    def length(self) -> int:
        """How many codes there are."""

    def codes(self, rows: Block) -> Codes:
        """The code of each row; ``NO_CELL`` where its columns name none."""


@dataclass(frozen=True, eq=False)
class Values:
    over: PublicList

    @property
    def columns(self) -> Mapping[str, str | None]:
        return {self.over.name: self.over.kind}

    @property
    def length(self) -> int:
        return self.over.length

    @cached_property
    def places(self) -> dict[Any, int]:
        return {value: place for place, value in enumerate(self.over.values or ())}

    def codes(self, rows: Block) -> Codes:
        column = rows[self.over.name]
        found = (self.places.get(value, NO_CELL) for value in column.tolist())
        return np.fromiter(found, dtype=np.int64, count=len(column))


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a dyadic tree over a list: level, place, and the first and last value below."""

    over: PublicList

    @property
    def columns(self) -> Mapping[str, str | None]:
        name, kind = self.over.name, self.over.kind
        kinds = {"level": "integer", "place": "integer", "first": kind, "last": kind}
        return {f"{name}_{part}": one for part, one in kinds.items()}

    @property
    def length(self) -> int:
        return DyadicAxis(self.over.length).nodes

    def codes(self, rows: Block) -> Codes:
        """The nodes' numbers in a heap whose root is 0."""
        tree, values = DyadicAxis(self.over.length), self.over.values or ()
        level, place, first, last = (rows[name].tolist() for name in self.columns)
        codes = np.full(len(level), NO_CELL, dtype=np.int64)
        for row, named in enumerate(zip(level, place, first, last, strict=True)):
            if not 0 <= named[0] <= tree.levels or not 0 <= named[1] < 1 << named[0]:
                continue
            width = 1 << (tree.levels - named[0])
            start, end = named[1] * width, min((named[1] + 1) * width, tree.length)
            # A node of padding only has no values.
            ends = (values[start], values[end - 1]) if start < end else (None, None)
            if named[2:] == ends:
                codes[row] = (1 << named[0]) - 1 + named[1]
        return codes


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers from 0 in one column: Haar coefficients, rows or buckets of a sketch."""

    name: str
    """The column."""
    length: int
    """How many numbers there are."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        return {self.name: "integer"}

    def codes(self, rows: Block) -> Codes:
        numbers = rows[self.name]
        return np.where((numbers >= 0) & (numbers < self.length), numbers, NO_CELL)


@dataclass(frozen=True, eq=False)
class Cells:
    factors: tuple[Factor, ...]
    """The parts of a cell's name, in the order of the columns."""
    pairs: bool = False
    """Whether both factors are one list, and a cell is an unordered pair of its values."""
    chosen: int | None = None
    """How many cells there are, where a release chose some of its items, or found its cells."""

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The columns that name a cell, and the kind of their values."""
        return {name: kind for factor in self.factors for name, kind in factor.columns.items()}

    @property
    def size(self) -> int:
        """How many cells the public table has; a Python integer of any size."""
        if self.chosen is not None:
            return self.chosen
        if self.pairs:
            return self.factors[0].length * (self.factors[0].length - 1) // 2
        return prod(factor.length for factor in self.factors)

    @property
    def most(self) -> int:
        """How many cells could have been chosen."""
        return prod(factor.length for factor in self.factors)

    def codes(self, rows: Block) -> list[Codes]:
        found = [factor.codes(rows) for factor in self.factors]
        if not self.pairs:
            return found
        earlier, later = found  # pairs are sorted by the later item, then by the earlier one
        return [later, np.where(earlier < later, earlier, NO_CELL)]


def cells_of(table: TableFacts, domain: PublicDomain) -> Cells:
    transform = table.transform
    if transform.kind == "sketch":
        return Cells((Numbers("row", transform.rows), Numbers("bucket", transform.buckets)))
    if table.kind.is_pairs:
        items, (_, other) = domain.lists[0], table.axes
        return Cells((Values(items), Values(items.renamed(other))), pairs=True)
    factors = tuple(_factor(domain.by_name[axis], transform) for axis in table.axes)
    if table.kind.own is not None:
        # How many numbers there are nothing but the table says: as many as go with its contexts.
        length = table.cells // prod(factor.length for factor in factors)
        return Cells((Numbers(table.kind.own, length), *factors))
    return Cells(factors, chosen=table.cells if table.is_discovered or table.is_chosen else None)


def _factor(axis: PublicList, transform: TransformFacts) -> Factor:
    if axis.name not in transform.ordered:
        return Values(axis)
    if transform.kind == "dyadic":
        return Nodes(axis)
    return Numbers(f"{axis.name}_coefficient", DyadicAxis(axis.length).leaves)


# Every row of a table against what ``release.json`` says, for ``crowdtally check``.
#
# Rows must name cells of the public table in ascending order, none twice; counts must be there,
# and stand in the middle of their noise interval. Where all cells are published their number is
# known, so a row that was dropped is missed.

_VALUES = ("count", "noise_std", "low", "high")
_ROUNDING = 1e-9
_EVERY_UNIT = 2.0**52


def check_contents(folder: Path, domain: PublicDomain, table: TableFacts) -> None:
    """Raise an InputError where a row is not what it can be.

    Columns, types and the number of rows were checked before.
    """
    path, rows = folder / table.file, table.published_cells
    whole = domain.holding([_filled(folder, one) for one in domain.lists])
    cells = cells_of(table, whole)
    last: list[Codes] | None = None
    for block in tables.read(path, [*cells.columns, *_VALUES], rows):
        for fault in chain(_missing(cells, block), _value_faults(table, block)):
            raise damaged(path, fault)
        rows -= len(block["count"])
        codes = cells.codes(block)
        if any((code == NO_CELL).any() for code in codes):
            raise damaged(path, "a row names no cell of the public lists")
        if last is not None:
            codes = [np.concatenate(both) for both in zip(last, codes, strict=True)]
        if not _ascends(codes):
            raise damaged(path, "its rows are not in the order of the lists, or one is there twice")
        last = [code[-1:] for code in codes]
    if rows:
        raise damaged(path, f"{rows} rows that it should have cannot be read")


def _filled(folder: Path, listed: PublicList) -> PublicList:
    """The list with its values, which may stand in tables alone."""
    if not listed.tables:
        return listed
    values = [_column(folder / f"{name}.parquet", listed.name) for name in listed.tables]
    first = values[0]
    if listed.is_discovered:
        first = sorted(set(chain(*values)))
        sound = len(first) == listed.length
    else:
        sound = list_hash(first) == listed.sha256
    if not sound:
        path = folder / f"{listed.tables[0]}.parquet"
        raise damaged(path, f"the values of {listed.name!r} are not those that were released")
    return replace(listed, values=first)


def _column(path: Path, name: str) -> list[Any]:
    values = list[Any]()
    for block in tables.read(path, [name], tables.opened(path).rows):
        if np.ma.is_masked(block[name]):
            raise damaged(path, f"its column {name!r} has a row without a value (NULL)")
        values += block[name].tolist()
    return values


def list_hash(values: list[Any]) -> str:
    """The SHA-256 of a list's values, each followed by a line feed."""
    return hashlib.sha256("".join(f"{value}\n" for value in values).encode()).hexdigest()


def _ascends(codes: list[Codes]) -> bool:
    """Whether rows follow each other in the order of their codes, the first slowest."""
    ascends: NDArray[np.bool_] | bool = False
    for code in reversed(codes):
        step = np.diff(code)
        ascends = (step > 0) | ((step == 0) & ascends)
    return bool(np.all(ascends))


def _missing(cells: Cells, block: Block) -> Iterator[str]:
    """Columns that have a row without a value."""
    # Nodes of padding only have no first and last value: their codes say so.
    ends = {name for name in cells.columns if name.endswith(("_first", "_last"))}
    for name, column in block.items():
        if name not in ends and np.ma.is_masked(column):
            yield f"its column {name!r} has a row without a value (NULL)"


def _value_faults(table: TableFacts, block: Block) -> Iterator[str]:
    """What is wrong with the values of some rows."""
    count, unit = block["count"], table.law.unit
    if not np.isfinite(count.astype(np.float64)).all():
        yield "a count is not a finite number"
        return
    if not (block["noise_std"] == table.noise_std).all():
        yield "the standard deviation beside a count is not that of the noise"
    units = count if unit == 1 else np.rint(count / float(unit))
    reach = min(table.law.half_width(table.interval_level), 2**62)
    for name, shift in (("count", 0), ("low", -reach), ("high", reach)):
        if not _is_count(block[name], units, shift, unit):
            yield f"a count and its noise interval do not belong together ({name!r})"
    least, weights = table.keeping.cut, units
    if table.discovery_threshold is not None:
        least = min(table.discovery_threshold, 2**63 - 1)  # within 64 bits
    elif table.keeping.sides == "two":
        weights = np.abs(units.astype(np.float64))
    # Floats know the larger counts to within a rounding only.
    if (weights < least * (1 - _ROUNDING)).any():
        yield "it has a count that is too small to have been published"


def _is_count(found: NDArray[Any], units: NDArray[Any], shift: int, unit: Fraction) -> bool:
    """Whether a column is ``units + shift``, held in 64 bits, as a count."""
    if unit == 1:
        return bool((found == saturating_sum(units, shift)).all())
    wanted = (units + shift) * float(unit)
    # Beyond this a float does not know every unit.
    far = np.abs(units) + abs(shift) > _EVERY_UNIT
    close = np.abs(found - wanted) <= _ROUNDING * np.abs(wanted)
    return bool(np.where(far, close, found == wanted).all())


# A release's tables, checked when a process first uses them: hash, rows, columns, types.
#
# A file is looked at once for as long as it stays the same file: its inode, size and times say
# so.

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's times tell a later change: clocks of file systems are coarse."""
_REMEMBERED = 1024

_Identity = tuple[int, ...]
_digests: dict[Path, tuple[_Identity, str]] = {}


def check_table(folder: Path, domain: PublicDomain, table: TableFacts) -> None:
    """Raise an InputError where a table's file is not what ``release.json`` says."""
    path = folder / table.file
    digest = digest_of(path)
    if table.sha256 != digest:
        raise damaged(path, "it is not the file that was released (its SHA-256 is another)")
    _check_columns(path, digest, domain, table)


def _check_columns(path: Path, digest: str, domain: PublicDomain, table: TableFacts) -> None:
    found, named = _opened(path, digest), cells_of(table, domain).columns
    counted = "integer" if table.law.unit == 1 else "float"
    wanted = {**named, "count": counted, "noise_std": "float", "low": counted, "high": counted}
    if list(found.columns) != list(wanted):
        raise damaged(path, f"its columns must be {', '.join(wanted)}")
    for name, kind in wanted.items():
        types = [TYPES[kind]] if kind else [TYPES["text"], TYPES["integer"]]
        if found.columns[name] not in types:
            raise damaged(path, f"its column {name!r} must have the type {' or '.join(types)}")
    if found.rows != table.published_cells:
        raise damaged(path, f"it must have {table.published_cells} rows, and has {found.rows}")


@lru_cache(_REMEMBERED)
def _opened(path: Path, digest: str) -> tables.Opened:
    """What the file says about itself, once for each content."""
    return tables.opened(path)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, computed again only where it is another file or was changed."""
    try:
        found = os.stat(path)
        identity = (
            found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        )  # fmt: skip
        known, digest = _digests.get(path, (None, ""))
        if known == identity:
            return digest
        digest = files.digest(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(
            f"{str(path.parent)!r} lacks its table {path.name!r}: copy the whole folder."
        ) from None
    except OSError as error:
        raise files.unreadable(path, error) from error
    if time.time_ns() - max(identity[-2:]) > _SETTLED:
        _digests[path] = identity, digest
    return digest
