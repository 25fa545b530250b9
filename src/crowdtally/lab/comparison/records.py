"""The records of a comparison, read once: the rows, their true counts, and a digest of both.

Sources may be frames, streams or databases that change: all processes count the same rows, from one
file in a private temporary folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import What
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.core.registry import quoted
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import dropped_in
from crowdtally.curator.request.request import Subject, make_request
from crowdtally.curator.summaries.threshold import Filter
from crowdtally.errors import UsageError
from crowdtally.lab.rehearse import true_counts
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped, Rows, places
from crowdtally.records.prepare import Prepared, prepare

_ROWS = "records.parquet"
_TRUTH = "truth.npz"
_COLUMNS = ("user", "cell", "id", "quantity")


@dataclass(frozen=True)
class Held:
    folder: Path
    """A private folder, which goes with the comparison."""
    records: Records
    """A declaration of the rows that were read."""
    domain: Domain
    what: What
    tables: Mapping[str, int]
    """How many cells each table has, by its name."""
    largest: int
    """M: the most records of one user, or cells where users are counted."""
    dropped: Dropped
    known_by: Mapping[str, Any]
    """Numbers of records and users, and digests of the rows and of the truth."""

    def prepared(self, engine: DuckDBEngine) -> Prepared:
        """The rows, as the questions of a release count them."""
        path = str(self.folder / _ROWS).replace("'", "''")
        engine.define("prepared", f"SELECT * FROM read_parquet('{path}')")
        rows = engine.table("prepared")
        return Prepared(rows, self.domain, rows, {})

    def truth(self) -> dict[str, NDArray[np.int64]]:
        with np.load(self.folder / _TRUTH) as arrays:
            return {name: arrays[name] for name in self.tables}


def hold(subject: Subject, folder: Path, engine: DuckDBEngine) -> Held:
    """Read the records once, and find the truth."""
    records, what = subject.records, subject.method.what
    domain = _compared(subject)
    tables = make_request(
        records, domain, epsilon=1, count=what, method=SRA(1), summary=Filter(cut=1),
        sources=subject.sources,
    ).bounded  # fmt: skip
    prepared = prepare(engine, records, domain, subject.sources)
    dropped = dropped_in(engine, prepared.rows)
    rows = folder / _ROWS
    engine.store(_with_ids(prepared.rows, records), rows)
    truth = true_counts(engine, prepared, what, tables)
    np.savez(folder / _TRUTH, **truth)  # type: ignore[arg-type]  # names of tables
    # The rows are joined, matched and selected already.
    declared = replace(records, source=str(rows), joins=(), same_person=None, where=None)
    return Held(
        folder, declared, domain, what, {table.name: table.cells.size for table in tables},
        _largest(rows, what), dropped, {**_known_by(rows), "truth": _digest(truth)},
    )  # fmt: skip


def _compared(subject: Subject) -> Domain:
    """The lists, or a refusal of what has no methods, or no truth, to compare."""
    method, domain = subject.method, subject.domain
    if domain is None or method.discover:
        raise UsageError(
            "a comparison needs the public list of each column, because what is discovered differs "
            "from run to run: give --items FILE and --values."
        )
    if method.pairs:
        raise UsageError("a comparison counts items and items in context: remove --pairs.")
    if subject.records.user is None:
        raise UsageError(
            "with --user-per-row or --bounded-to there is nothing to bound, so there are no "
            "methods to compare: give --user COL."
        )
    return domain


def _with_ids(rows: Rows, records: Records) -> Rows:
    """The rows that count, each with an id among those of its user.

    Without a record id it is the place in the order of the user's cells: the number that a rule
    would compute in each run.
    """
    inside = rows.filter(rows.user.notnull(), rows.cell.notnull())
    if "id" not in rows.columns:
        order = inside.cell
        if records.quantity is not None:
            order = inside.cell * records.quantity.most + inside.quantity
        inside = inside.mutate(id=places(inside.user, order))
    return inside.select(*(name for name in _COLUMNS if name in inside.columns))


def _known_by(path: Path) -> dict[str, Any]:
    """Numbers of records and users, and a sum of hashes, which does not depend on the rows' order.

    The hash is DuckDB's own, as is the one that draws samples: both may change with its version,
    which is a setting of the comparison. A cryptographic one takes a minute for 10^8 records.
    """
    (names,) = _one(path, "SELECT list(column_name) FROM (DESCRIBE FROM read_parquet(?))")
    columns = ", ".join(map(quoted, names))
    digest = f"coalesce(sum(CAST(hash(hash({columns})) AS HUGEINT)), 0)"
    number, users, total = _one(
        path, f'SELECT count(*), count(DISTINCT "user"), {digest} FROM read_parquet(?)'
    )
    return {"records": number, "users": users, "digest": f"{int(total) % 2**64:016x}"}


def _largest(path: Path, what: What) -> int:
    """The most records, or different cells, of one user; 0 without users."""
    counted = "count(*)" if what == "records" else "count(DISTINCT cell)"
    each = f'SELECT {counted} AS had FROM read_parquet(?) GROUP BY "user"'
    (largest,) = _one(path, f"SELECT coalesce(max(had), 0) FROM ({each})")
    return int(largest)


def _one(path: Path, query: str) -> tuple[Any, ...]:
    with duckdb.connect(":memory:") as connection:
        (row,) = connection.execute(query, [str(path)]).fetchall()
    return tuple(row)


def _digest(truth: Mapping[str, NDArray[np.int64]]) -> str:
    """A digest of the true counts: only they show a quantity beyond its bound."""
    digest = hashlib.sha256()
    for name, counts in truth.items():
        digest.update(f"{name} {len(counts)}\n".encode())
        digest.update(np.ascontiguousarray(counts, dtype="<i8").tobytes())
    return digest.hexdigest()
