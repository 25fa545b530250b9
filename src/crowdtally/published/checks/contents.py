"""Every row of a table against what ``release.json`` says, for ``crowdtally check``.

Rows must name cells of the public table in ascending order, none twice; counts must be there, and
stand in the middle of their noise interval. Where all cells are published their number is known,
so a row that was dropped is missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.numbers import saturating_sum
from crowdtally.published import parquet
from crowdtally.published.checks.cells import NO_CELL, Block, Cells, Codes, cells_of
from crowdtally.published.domain import PublicDomain, PublicList
from crowdtally.published.table import TableFacts
from crowdtally.published.words import damaged

_VALUES = ("count", "noise_std", "low", "high")
_ROUNDING = 1e-9
_EVERY_UNIT = 2.0**52


def check_contents(folder: Path, domain: PublicDomain, table: TableFacts) -> None:
    """Raise an InputError where a row is not what it can be.

    Columns, types and the number of rows were checked before.
    """
    path, rows = folder / table.file, table.published_cells
    lists = tuple(_filled(folder, one) for one in domain.lists)
    cells, expected = cells_of(table, replace(domain, lists=lists)), _Expected.of(table)
    last: list[int] | None = None
    for block in parquet.read(path, [*cells.columns, *_VALUES], rows):
        for fault in chain(_missing(cells, block), expected.faults(block)):
            raise damaged(path, fault)
        rows -= len(block["count"])
        codes = cells.codes(block)
        if any((code == NO_CELL).any() for code in codes):
            raise damaged(path, "a row names no cell of the public lists")
        if not _ascends(codes, last):
            raise damaged(path, "its rows are not in the order of the lists, or one is there twice")
        if not _complete(cells, codes, last):
            raise damaged(path, "it has an item without some of its contexts")
        last = [int(code[-1]) for code in codes]
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
    """All values of one column."""
    values = list[Any]()
    for block in parquet.read(path, [name], parquet.opened(path).rows):
        if np.ma.is_masked(block[name]):
            raise damaged(path, f"its column {name!r} has a row without a value (NULL)")
        values += block[name].tolist()
    return values


def list_hash(values: list[Any]) -> str:
    """The SHA-256 of a list's values, each followed by a line feed."""
    return hashlib.sha256("".join(f"{value}\n" for value in values).encode()).hexdigest()


def _ascends(codes: list[Codes], last: list[int] | None) -> bool:
    """Whether rows follow each other in the order of their codes, the first slowest."""
    ascends: NDArray[np.bool_] | bool = False
    for place in reversed(range(len(codes))):
        code = codes[place] if last is None else np.concatenate(([last[place]], codes[place]))
        step = np.diff(code)
        ascends = (step > 0) | ((step == 0) & ascends)
    return bool(np.all(ascends))


def _complete(cells: Cells, codes: list[Codes], last: list[int] | None) -> bool:
    """Whether rows that ascend have every chosen item with all of its cells.

    Then the cells of an item count up from 0 to the last, and only then another item follows.
    """
    if cells.chosen is None or not cells.whole:
        return True
    first = len(cells.factors) - cells.whole
    number, before = _within_item(cells, codes), -1
    if last is not None:
        before = int(_within_item(cells, [np.array([one]) for one in last])[0])
    counts_up = number == (before + 1 + np.arange(len(number))) % cells.together
    return bool(np.all(counts_up)) and all(
        _changes_at_once(codes[place], number, None if last is None else last[place])
        for place in range(first)
    )


def _within_item(cells: Cells, codes: list[Codes]) -> Codes:
    """The number of each row's cell among those of its item."""
    number = np.zeros(len(codes[0]), dtype=np.int64)
    for place in range(len(codes) - cells.whole, len(codes)):
        number = number * cells.factors[place].length + codes[place]
    return number


def _changes_at_once(code: Codes, number: Codes, last: int | None) -> bool:
    """Whether an item's code is that of the row before, but where its first cell stands."""
    before = np.concatenate(([code[0] if last is None else last], code[:-1]))
    return bool(np.all((code == before) | (number == 0)))


def _missing(cells: Cells, block: Block) -> Iterator[str]:
    """Columns that have a row without a value."""
    # Nodes of padding only have no first and last value: their codes say so.
    ends = {name for name in cells.columns if name.endswith(("_first", "_last"))}
    for name, column in block.items():
        if name not in ends and np.ma.is_masked(column):
            yield f"its column {name!r} has a row without a value (NULL)"


@dataclass(frozen=True)
class _Expected:
    """What the values of a table's rows must be to each other."""

    std: float
    """Of the noise, in every row."""
    reach: int
    """Half of the noise interval's width, in units."""
    unit: Fraction
    """What a unit means as a count."""
    least: int | None
    """The smallest weight, in units, that is published; None for all."""
    signed: bool
    """Whether negative counts are published too."""

    @classmethod
    def of(cls, table: TableFacts) -> _Expected:
        width = min(table.law.half_width(table.interval_level), 2**62)
        least = None if table.summary is None else table.keeping.cut
        signed = table.keeping.sides == "two"
        if table.discovery_threshold is not None:
            least, signed = min(table.discovery_threshold, 2**63 - 1), False  # within 64 bits
        return cls(table.noise_std, width, table.law.unit, least, signed)

    def faults(self, block: Block) -> Iterator[str]:
        """What is wrong with the values of some rows."""
        count = block["count"]
        if not np.isfinite(count.astype(np.float64)).all():
            yield "a count is not a finite number"
            return
        if not (block["noise_std"] == self.std).all():
            yield "the standard deviation beside a count is not that of the noise"
        units = count if self.unit == 1 else np.rint(count / float(self.unit))
        for name, shift in (("count", 0), ("low", -self.reach), ("high", self.reach)):
            if not _is_count(block[name], units, shift, self.unit):
                yield f"a count and its noise interval do not belong together ({name!r})"
        weights = np.abs(units.astype(np.float64)) if self.signed else units
        # Floats know the larger counts to within a rounding only.
        if self.least is not None and (weights < self.least * (1 - _ROUNDING)).any():
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
