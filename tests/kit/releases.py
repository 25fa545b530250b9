"""Releases made from counts, without records: many small ones, quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdtally.curator.form import Form
from crowdtally.curator.steps.forming import publish_table
from crowdtally.noise.draws import SystemDraws
from crowdtally.published import NoisyTable, Published
from crowdtally.reader.release import Release
from crowdtally.values.counts import Counts
from crowdtally.values.domain import Axis
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.layout import grid

DRAWS = SystemDraws()


def axes_of(lists: Mapping[str, Sequence[object]]) -> list[Axis]:
    return [Axis.of(name, values) for name, values in lists.items()]


def counts_of(axes: Sequence[Axis], table: np.ndarray, bound: int = 1) -> Counts:
    """The counts of a whole table, as an array with one dimension for each axis."""
    flat = np.asarray(table, dtype=np.int64).ravel()
    cells = np.flatnonzero(flat)
    return Counts(grid(axes), cells, flat[cells], "users", bound)


def write(path: Path, table: NoisyTable) -> None:
    """A table as production writes it, but without opening a database for each file."""
    (block,) = table.blocks()
    columns = {
        name: pa.array(np.asarray(column), mask=np.ma.getmaskarray(column))
        for name, column in block.items()
    }
    pq.write_table(pa.table(columns), path)


def release_of(
    folder: Path, axes: Sequence[Axis], counts: Counts, form: Form, epsilon: str
) -> Release:
    """A release of one table of attributes."""
    table = publish_table("cells", counts, form, Epsilon.of(epsilon), DRAWS)
    write(folder / "cells.parquet", table)
    attributes = [{"name": a.name, "kind": a.kind, "values": a.values.tolist()} for a in axes]
    facts = {
        "tables": [table.description()],
        "domain": {"attributes": attributes},
        "counted": "users",
    }
    return Release(Published(folder, facts))
