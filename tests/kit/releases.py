"""Releases made from counts, without records: many small ones, quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdtally.core import files
from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.request.options import ReleaseOptions, completed
from crowdtally.curator.request.table_specs import formed
from crowdtally.format import NoisyTable, Published
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
_TYPES = {"O": pa.string(), "i": pa.int64(), "f": pa.float64()}


def axes_of(lists: Mapping[str, Sequence[object]]) -> list[Axis]:
    return [Axis.of(name, values) for name, values in lists.items()]


def named_form(form: ReleaseOptions) -> ReleaseOptions:
    """The form as a request would complete it that names its method: ``auto`` decides nothing."""
    named: ReleaseOptions = {"transform": "none", "publishing": "dense"}
    return completed({**named, **form})


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
    form: ReleaseOptions,
    epsilon: str,
    *,
    bound: int = 1,
    unit: Fraction = Fraction(1),
) -> Release:
    """A release of items, the first axis, and perhaps in contexts, of which nobody has any."""
    made, options = [], named_form(form)
    for name, cells in (("items", grid(axes[:1])), ("edges", grid(axes))):
        asked = formed(name, cells, Epsilon.of(epsilon), options, bound=bound, unit=unit)
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
    return Release(Published(folder, facts))


def release_of(
    folder: Path, axes: Sequence[Axis], counts: Counts, form: ReleaseOptions, epsilon: str
) -> Release:
    """A release of one table of attributes."""
    bound = counts.l1_bound
    asked = formed("cells", grid(axes), Epsilon.of(epsilon), named_form(form), bound=bound)
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
    return Release(Published(folder, facts))


# ---- Releases made from counts, for comparing: of items, and perhaps of items in contexts --------


def release_of_changed(
    folder: Path,
    lists: Mapping[str, Sequence[object]],
    table: np.ndarray,
    *,
    form: ReleaseOptions | None = None,
    epsilon: str = "1",
    bound: int = 1,
    dataset: str | None = None,
    **given: Any,
) -> Release:
    """A release of these counts: (items) or (items, contexts), each user bounded by ``bound``.

    ``given`` replaces what ``release.json`` says: ``counted``, ``guarantee``, ``method``.
    """
    folder.mkdir()
    axes, options = axes_of(lists), named_form(form or {})
    tables = {"items": (axes[:1], table.reshape(len(axes[0]), -1).sum(axis=1))}
    if len(axes) > 1:
        tables["edges"] = (axes, table)
    made = []
    for name, (own, counts) in tables.items():
        asked = formed(name, grid(own), Epsilon.of(epsilon), options, bound=bound)
        made.append(asked.publish(counts_of(own, counts, bound), DRAWS))
    listed = [
        {"name": a.name, "kind": a.kind, "size": len(a), "values": a.values.tolist()} for a in axes
    ]
    bounds = {one.name: {"bound": bound, "scaling": "1"} for one in made}
    facts: dict[str, Any] = {
        "id": folder.name,
        "created": "2026-01-01T00:00:00+00:00",
        "tables": [write(folder / f"{one.name}.parquet", one) for one in made],
        "domain": {"items": listed[0], "contexts": listed[1:]},
        "counted": given.pop("counted", "records"),
        "guarantee": GUARANTEE | {"epsilon": epsilon} | given.pop("guarantee", {}),
        "records": RECORDS,
        "method": METHOD | {"bounds": bounds} | given.pop("method", {}),
        "charged": {"dataset": dataset},
    }
    return Release(Published(folder, facts | given))
