"""Releases made from counts, without records: many small ones, quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

import crowdtally as ct
from crowdtally.core import files
from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.layout import Layout, grid
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.request.table_specs import formed
from crowdtally.curator.table import Table
from crowdtally.curator.transforms.base import Untransformed
from crowdtally.errors import InputError
from crowdtally.format import SCHEMA, NoisyTable, Published
from crowdtally.format.entries import TableFacts
from crowdtally.format.manifest import Manifest
from crowdtally.format.parse import shaped
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.release import Release

# ---- Releases made from counts, without records: many small ones, quickly ------------------------


DRAWS = SystemDraws()
GUARANTEE = {
    "words": "", "delta": "0", "unit": {"kind": "user", "column": "user"}, "neighbours": "",
}  # fmt: skip
METHOD = {
    "bounding": "sra", "chosen_by": None, "largest_candidate": None, "popularity_records": None,
    "cap": None, "record_id": None,
}  # fmt: skip
"""What a release says of itself where no records are: users of so many records each."""
RECORDS = {
    "user": ["user"], "same_person": False, "item": None, "item_expression": None, "contexts": {},
    "where": None, "timezone": "UTC",
}  # fmt: skip
CHARGED = {
    "entry": "1", "dataset": None, "epsilon": "1", "delta": "0", "spent_before": "0",
    "spent_after": "1", "limit": None,
}  # fmt: skip
_HASH = "0" * 64
_REST = {
    "schema": SCHEMA, "id": "0" * 32, "created": "2026-01-01T00:00:00+00:00", "split": {},
    "charged": CHARGED, "versions": {}, "datapackage": {"sha256": _HASH}, "sha256": _HASH,
}  # fmt: skip
_TYPES = {"O": pa.string(), "i": pa.int64(), "f": pa.float64()}


def axes_of(lists: Mapping[str, Sequence[object]]) -> list[Axis]:
    return [Axis.of(name, values) for name, values in lists.items()]


Form = Mapping[str, Any]
"""A summary, a transform, or both."""


def opened(folder: Path, facts: Mapping[str, Any]) -> Release:
    """A release that says this, and nothing in particular where this says nothing."""
    return Release(Published(folder, _REST | facts))


def in_form(
    name: str, cells: Layout, price: Price, form: Form, *, bound: int, unit: Fraction = Fraction(1)
) -> Table:
    """A table as it would be published."""
    transform, summary = form.get("transform", Untransformed()), form.get("summary", ct.Dense())
    return formed(name, cells, price, transform, summary, bound=bound, unit=unit)


def counts_of(axes: Sequence[Axis], table: np.ndarray, bound: int = 1) -> Counts:
    """The counts of a whole table, as an array with one dimension for each axis."""
    flat = np.asarray(table, dtype=np.int64).ravel()
    cells = np.flatnonzero(flat)
    return Counts(grid(axes).size, cells, flat[cells], bound)


def write(path: Path, table: NoisyTable) -> dict[str, object]:
    """A table as production writes it, but without opening a database for each file; its entry."""
    (block,) = table.blocks()
    columns = {
        name: pa.array(np.asarray(column), _TYPES[column.dtype.kind], np.ma.getmaskarray(column))
        for name, column in block.items()
    }
    pq.write_table(pa.table(columns), path)
    checked = {"rows": len(table.values), "sha256": files.digest(path)}
    return table.description() | checked


def empty_items(
    folder: Path,
    axes: Sequence[Axis],
    form: Form,
    epsilon: str,
    *,
    bound: int = 1,
    unit: Fraction = Fraction(1),
) -> Release:
    """A release of items, the first axis, and perhaps in contexts, of which nobody has any."""
    made = []
    for name, cells in (("items", grid(axes[:1])), ("edges", grid(axes))):
        asked = in_form(name, cells, Epsilon.of(epsilon), form, bound=bound, unit=unit)
        nobody = Counts(cells.size, np.zeros(0, np.int64), np.zeros(0, np.int64), bound, unit)
        made.append(asked.publish(nobody, DRAWS))
        if len(axes) == 1:
            break
    listed = [
        {"name": a.name, "kind": a.kind, "size": len(a), "values": a.values.tolist()} for a in axes
    ]
    bounds = {table.name: {"bound": bound, "scaling": "1"} for table in made}
    facts = {
        "tables": [write(folder / f"{table.name}.parquet", table) for table in made],
        "domain": {"items": listed[0], "contexts": listed[1:]},
        "counted": "records",
        "guarantee": GUARANTEE | {"epsilon": epsilon},
        "records": RECORDS,
        "method": METHOD | {"bounds": bounds},
    }
    return opened(folder, facts)


def release_of(
    folder: Path, axes: Sequence[Axis], counts: Counts, form: Form, epsilon: str
) -> Release:
    """A release of one table of attributes."""
    bound = counts.l1_bound
    asked = in_form("cells", grid(axes), Epsilon.of(epsilon), form, bound=bound)
    table = asked.publish(counts, DRAWS)
    written = write(folder / "cells.parquet", table)
    attributes = [
        {"name": a.name, "kind": a.kind, "size": len(a), "values": a.values.tolist()} for a in axes
    ]
    facts = {
        "tables": [written],
        "domain": {"attributes": attributes},
        "counted": "users",
        "guarantee": GUARANTEE | {"epsilon": epsilon},
        "records": RECORDS,
        "method": METHOD | {"bounds": {"cells": {"bound": bound, "scaling": "1"}}},
    }
    return opened(folder, facts)


# ---- Releases made from counts, for comparing: of items, and perhaps of items in contexts --------


def release_of_changed(
    folder: Path,
    lists: Mapping[str, Sequence[object]],
    table: np.ndarray,
    *,
    form: Form | None = None,
    epsilon: str = "1",
    bound: int = 1,
    dataset: str | None = None,
    **given: Any,
) -> Release:
    """A release of these counts: (items) or (items, contexts), each user bounded by ``bound``.

    ``given`` replaces what ``release.json`` says: ``counted``, ``guarantee``, ``method``.
    """
    folder.mkdir()
    axes = axes_of(lists)
    tables = {"items": (axes[:1], table.reshape(len(axes[0]), -1).sum(axis=1))}
    if len(axes) > 1:
        tables["edges"] = (axes, table)
    made = []
    for name, (own, counts) in tables.items():
        asked = in_form(name, grid(own), Epsilon.of(epsilon), form or {}, bound=bound)
        made.append(asked.publish(counts_of(own, counts, bound), DRAWS))
    listed = [
        {"name": a.name, "kind": a.kind, "size": len(a), "values": a.values.tolist()} for a in axes
    ]
    bounds = {one.name: {"bound": bound, "scaling": "1"} for one in made}
    facts: dict[str, Any] = {
        "id": folder.name,
        "tables": [write(folder / f"{one.name}.parquet", one) for one in made],
        "domain": {"items": listed[0], "contexts": listed[1:]},
        "counted": given.pop("counted", "records"),
        "guarantee": GUARANTEE | {"epsilon": epsilon} | given.pop("guarantee", {}),
        "records": RECORDS,
        "method": METHOD | {"bounds": bounds} | given.pop("method", {}),
        "charged": CHARGED | {"dataset": dataset},
    }
    return opened(folder, facts | given)


# ---- An ordinary release whose tables were drawn by other means ----------------------------------


def redrawn(ordinary: Release, tables: Sequence[NoisyTable]) -> Manifest:
    """What an ordinary release says, about these tables."""
    unwritten = {"rows": 0, "sha256": _HASH}
    entries = [shaped(one.description() | unwritten, TableFacts, InputError) for one in tables]
    return replace(ordinary._published.manifest, tables=tuple(entries))
