"""The records of a comparison, read once: what is counted, its truth, and what they are known by.

Sources may be frames, streams or databases that change: all processes count the same rows, from one
file in a private temporary folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.counting.reading import dropped_in
from crowdtally.curator.engine.census import Dropped
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import Prepared, prepare
from crowdtally.curator.engine.relations import Rows, places
from crowdtally.curator.request.request import Subject
from crowdtally.curator.request.tables import counted_cells
from crowdtally.errors import UsageError
from crowdtally.lab.truth import largest_contribution, true_counts
from crowdtally.values.counts import What
from crowdtally.values.domain import Domain
from crowdtally.values.layout import Layout
from crowdtally.values.records import Records
from crowdtally.values.sql import quoted

MOST_CELLS = 50_000_000
"""Cells of the largest table: the truth and every estimate are held whole."""
_ROWS = "records.parquet"
_TRUTH = "truth.npz"
_COLUMNS = ("user", "cell", "id", "quantity")


@dataclass(frozen=True)
class Held:
    """The records, within reach of every process."""

    folder: Path
    """A private folder, which goes with the comparison."""
    records: Records
    """The declaration, of which the rows are the outcome."""
    domain: Domain
    """The public lists."""
    what: What
    """Whether records or distinct users are counted."""
    tables: Mapping[str, Layout]
    """The cells of each table, by its name."""
    largest: int
    """M: the most that one user contributes."""
    dropped: Dropped
    """The rows that are not counted."""
    known_by: Mapping[str, Any]
    """Numbers of records and users, and a digest of both."""

    def prepared(self, engine: DuckDBEngine) -> Prepared:
        """The rows, as a release's steps count them."""
        path = str(self.folder / _ROWS).replace("'", "''")
        engine.define("prepared", f"SELECT * FROM read_parquet('{path}')")
        rows = engine.table("prepared")
        return Prepared(rows, self.domain, rows)

    def truth(self) -> dict[str, NDArray[np.int64]]:
        """The exact counts of every table."""
        with np.load(self.folder / _TRUTH) as arrays:
            return {name: arrays[name] for name in self.tables}


def hold(subject: Subject, folder: Path, engine: DuckDBEngine) -> Held:
    """Read the records once, and find the truth."""
    records, what = subject.records, subject.method.what
    domain, tables = _compared(subject)
    prepared = prepare(engine, records, domain, subject.sources)
    dropped = dropped_in(engine, prepared.rows)
    engine.store(_told_apart(prepared.rows, records), folder / _ROWS)
    # What was joined, matched and selected is done: the rows are what it came to.
    declared = replace(records, source=str(folder / _ROWS), joins=(), same_person=None, where=None)
    held = Held(folder, declared, domain, what, tables, 0, dropped, _known_by(folder / _ROWS))
    rows = held.prepared(engine)
    np.savez(folder / _TRUTH, **true_counts(engine, rows, what, tables))
    return replace(held, largest=largest_contribution(engine, rows, what))


def _compared(subject: Subject) -> tuple[Domain, dict[str, Layout]]:
    """The lists and the tables, or a refusal of what has no truth to compare with."""
    method, domain = subject.method, subject.domain
    if domain is None or method.discover:
        raise UsageError(
            "a comparison needs the public list of items, --items FILE: which items are discovered "
            "differs from run to run. Remove --discover-items."
        )
    if method.pairs:
        raise UsageError("a comparison counts items and items in context: remove --pairs.")
    if subject.records.user is None:
        raise UsageError(
            "with --user-per-row there is nothing to bound, so there are no methods to compare: "
            "give --user COL."
        )
    if domain.size > MOST_CELLS:
        raise UsageError(
            f"the largest table would have {domain.size} cells, and a comparison, which holds the "
            f"truth of every cell, has at most {MOST_CELLS}: shorten the lists or use fewer "
            "contexts."
        )
    return domain, {name: cells for (name, _), cells in counted_cells(domain, pairs=False).items()}


def _told_apart(rows: Rows, records: Records) -> Rows:
    """The rows that count, each told apart once and for all from the others of its user.

    Without a record id a rule tells a user's records apart by their places in the order of their
    cells: the same numbers, found once instead of in each run.
    """
    inside = rows.filter(rows.user.notnull(), rows.cell.notnull())
    if "id" not in rows.columns:
        told = inside.cell
        if records.quantity is not None:
            told = inside.cell * records.quantity.most + inside.quantity
        inside = inside.mutate(id=places(inside.user, told))
    return inside.select(*(name for name in _COLUMNS if name in inside.columns))


def _known_by(path: Path) -> dict[str, Any]:
    """What the rows are known by, in whatever order they lie: a sum of their hashes."""
    with duckdb.connect(":memory:") as connection:
        rows = connection.read_parquet(str(path))
        texts = ", ".join(f"coalesce(CAST({quoted(name)} AS VARCHAR), '')" for name in rows.columns)
        digest = f"sum(CAST(md5_number_lower(concat_ws(chr(31), {texts})) AS HUGEINT))"
        found = rows.aggregate(f"count(*), count(DISTINCT user), coalesce({digest}, 0)").fetchone()
    number, users, total = found or (0, 0, 0)
    return {"records": number, "users": users, "digest": f"{int(total) % 2**64:016x}"}
