"""Every row of a table against what ``release.json`` says: for releases without hashes.

Rows must name cells of the public table in ascending order, none twice; counts must be there, and
stand in the middle of their noise interval. Where all cells are published their number is known,
so a row that was dropped is missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally import parquet
from crowdtally.damage.cells import NO_CELL, Block, Cells, Codes, PublicList, cells_of, lists_of
from crowdtally.damage.cells import rows_of as _rows_of
from crowdtally.damage.metadata import DISCOVERED
from crowdtally.damage.words import damaged
from crowdtally.laws.laplace import DiscreteLaplace

_VALUES = ("count", "noise_std", "low", "high")
_ROUNDING = 1e-9
_EVERY_UNIT = 2.0**52


def check_contents(folder: Path, metadata: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    """Raise an InputError where a row is not what it can be.

    Columns, types and the number of rows were checked before.
    """
    path = folder / table["file"]
    lists = {one.name: _filled(folder, metadata, one) for one in _lists(metadata)}
    cells, rows = cells_of(table, lists), _rows_of(table)
    named, law = list(cells.columns), _Law.of(table)
    last: list[int] | None = None
    for block in parquet.read(path, [*named, *_VALUES], rows):
        for fault in _faults(cells, block, law):
            raise damaged(path, fault)
        rows -= len(block["count"])
        codes = cells.codes(block)
        if any((code == NO_CELL).any() for code in codes):
            raise damaged(path, "a row names no cell of the public lists")
        if not _ascends(codes, last):
            raise damaged(path, "its rows are not in the order of the lists, or one is there twice")
        last = [int(code[-1]) for code in codes]
    if rows:
        raise damaged(path, f"{rows} rows that it should have cannot be read")


def _lists(metadata: Mapping[str, Any]) -> list[PublicList]:
    return list(lists_of(metadata["domain"]).values())


def _filled(folder: Path, metadata: Mapping[str, Any], listed: PublicList) -> PublicList:
    """The list with its values, which may stand in the items' table alone."""
    if listed.values is not None:
        return listed
    path, values = folder / "items.parquet", list[Any]()
    for block in parquet.read(path, [listed.name], listed.length):
        if np.ma.is_masked(block[listed.name]):
            raise damaged(path, "an item is missing (NULL)")
        values += block[listed.name].tolist()
    facts = metadata["domain"]["items"]
    if "discovered" in facts:
        sound = values == sorted(set(values))
    else:
        sound = _hash(values) == facts["sha256"]
    if not sound:
        raise damaged(path, "its items are not those that were released")
    return replace(listed, values=values)


def _hash(values: list[Any]) -> str:
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


@dataclass(frozen=True)
class _Law:
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
    def of(cls, table: Mapping[str, Any]) -> _Law:
        noise, least = table["noise"], table.get("cut")
        if table["publishing"] == DISCOVERED:
            least = min(table["threshold"], 2**63 - 1)  # counts are held within 64 bits
        law = DiscreteLaplace(Fraction(noise["scale"]))
        width = law.half_width(Fraction(noise["interval_level"]))
        signed = table.get("sides", "two") == "two" and table["publishing"] != DISCOVERED
        return cls(noise["std"], min(width, 2**62), Fraction(noise["unit"]), least, signed)


def _faults(cells: Cells, block: Block, law: _Law) -> Iterator[str]:
    """What is wrong with the values of some rows."""
    # Nodes of padding only have no first and last value: their codes say so.
    ends = {name for name in cells.columns if name.endswith(("_first", "_last"))}
    for name, column in block.items():
        if name not in ends and np.ma.is_masked(column):
            yield f"its column {name!r} has a row without a value (NULL)"
    count = block["count"]
    if not np.isfinite(count.astype(np.float64)).all():
        yield "a count is not a finite number"
        return
    if not (block["noise_std"] == law.std).all():
        yield "the standard deviation beside a count is not that of the noise"
    units = count if law.unit == 1 else np.rint(count / float(law.unit))
    for name, shift in (("count", 0), ("low", -law.reach), ("high", law.reach)):
        if not _is_count(block[name], units, shift, law.unit):
            yield f"a count and its noise interval do not belong together ({name!r})"
    weights = np.abs(units.astype(np.float64)) if law.signed else units
    # Floats know the larger counts to within a rounding only.
    if law.least is not None and (weights < law.least * (1 - _ROUNDING)).any():
        yield "it has a count that is too small to have been published"


def _is_count(found: NDArray[Any], units: NDArray[Any], shift: int, unit: Fraction) -> bool:
    """Whether a column is ``units + shift``, held in 64 bits, as a count."""
    if unit == 1:
        ends = np.iinfo(np.int64)
        within = np.clip(units, ends.min - min(shift, 0), ends.max - max(shift, 0))
        return bool((found == within + shift).all())
    wanted = (units + shift) * float(unit)
    # Beyond this a float does not know every unit.
    far = np.abs(units) + abs(shift) > _EVERY_UNIT
    close = np.abs(found - wanted) <= _ROUNDING * np.abs(wanted)
    return bool(np.where(far, close, found == wanted).all())
