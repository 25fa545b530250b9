"""Spark as an engine: the same expressions as on DuckDB, compiled for a cluster.

Only the DataFrame interface is used, so Spark Connect works. Everything is a function of the
records and the key, so a part that the cluster loses and computes again is the same. Only the
non-zero cells of a table come to the driver.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.core.records import UTC
from crowdtally.errors import CrowdtallyError
from crowdtally.records import matching
from crowdtally.records.columns import SourceColumn
from crowdtally.records.engine import NO_TYPES, Kept, Types
from crowdtally.records.locate import Located
from crowdtally.records.spark import expressions, sources
from crowdtally.records.spark.session import Joined
from crowdtally.records.spark.sources import duckdb_name, ibis_type, kinds, refuse_same_names
from crowdtally.records.spark.sql import compiled, translated, translated_query

_ZONE = "spark.sql.session.timeZone"
_LARGEST_BROADCAST = 2_000_000
"""Rows up to which a public list is sent to every executor; for longer ones each record travels."""


class SparkEngine:
    """A session of our own on some Spark; leave it after use."""

    def __init__(self, joined: Joined) -> None:
        self._joined = joined
        self._session = joined.session
        self._prefix = f"crowdtally_{secrets.token_hex(4)}_"
        self._global: list[str] = []
        self._kept: dict[str, Any] = {}
        self._zone = UTC

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *_: object) -> None:
        # After a lost connection nothing is left to clean, and the first failure is the one to say.
        with suppress(Exception):
            for frame in self._kept.values():
                frame.unpersist()
            for name in self._global:
                self._session.catalog.dropGlobalTempView(name)
        with suppress(Exception):
            self._joined.leave()

    def in_zone(self, zone: str) -> None:
        self._zone = zone
        try:
            self._session.conf.set(_ZONE, zone)
            # Some Sparks say so at once, others when a time is turned into a day.
            self._session.sql("SELECT hour(timestamp_seconds(0)) AS hour").toArrow()
        except Exception as error:  # Java's, in many wrappings
            raise CrowdtallyError(
                f"Spark's Java does not know the time zone {zone}: update Java's zones, or leave "
                "--engine out. Nothing was charged."
            ) from error

    @contextmanager
    def _opening_in_utc(self) -> Iterator[None]:
        """A view keeps the zone in which it is defined, and ids must be the same in every zone."""
        self._session.conf.set(_ZONE, UTC)
        try:
            yield
        finally:
            self._session.conf.set(_ZONE, self._zone)

    def open(
        self, located: Located, name: str, keys: Iterable[str] = (), types: Types = NO_TYPES
    ) -> dict[str, SourceColumn]:
        wanted = frozenset(keys)
        with translated(f"opening {located.label or 'the records'}"), self._opening_in_utc():
            if located.kind == "spark-frame":
                adopted = self._adopt(located.held, name)
                frame, columns = sources.viewed(adopted, wanted, types, declared=False)
            else:
                frame, columns = sources.opened(self._joined, located, wanted, types, self._zone)
            refuse_same_names(columns, located.label or "the table")
            self._view(name, frame)
        return columns

    def _adopt(self, frame: Any, name: str) -> Any:
        """A DataFrame of another session, whose settings it keeps, in ours."""
        sources.refuse_unrepeatable(frame)
        shared = self._prefix + name
        frame.createGlobalTempView(shared)
        self._global.append(shared)
        return self._session.table(f"global_temp.{shared}")

    def define(self, name: str, query: str, of: str = "the records") -> None:
        with translated(f"reading {of}"):
            sql = translated_query(query, self._name, self._type_of)
            self._view(name, self._session.sql(sql))

    def schema(self, name: str) -> dict[str, str]:
        return {column: duckdb_name(kind) for column, kind in self._kinds(name).items()}

    def table(self, name: str) -> ibis.Table:
        types = {column: ibis_type(kind) for column, kind in self._kinds(name).items()}
        return ibis.table(types, name=self._name(name))

    def load_axis(self, name: str, axis: Axis) -> ibis.Table:
        return self.load(name, {"value": axis.values, "code": np.arange(len(axis))})

    def place_in(self, value: ibis.Value, axis: Axis) -> None:
        """A list is sent to every executor, and joined there."""

    def load(self, name: str, columns: Mapping[str, NDArray[Any]]) -> ibis.Table:
        import pyarrow

        with translated("sending a list"):
            frame = self._session.createDataFrame(
                pyarrow.table({column: pyarrow.array(values) for column, values in columns.items()})
            )
            if all(len(values) <= _LARGEST_BROADCAST for values in columns.values()):
                frame = frame.hint("broadcast")
            self._view(name, frame)
        return self.table(name)

    def check_row_wise(self, sql: str, what: str, clause: str) -> None:
        expressions.check(sql, what)

    def hash(self, key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
        return matching.spark_hash(key, columns)

    def least(self, table: ibis.Table, limit: int) -> Kept:
        """Each user's ``limit`` smallest priorities, as ``engine.least`` defines them.

        Numbered from 1 and cut by ``<=``, which Spark recognises: it keeps only so many of each
        user before the records travel. So rows cannot be counted on the way.
        """
        names = [name for name in ("user", "priority", "cell") if name in table.columns]
        columns, order = ", ".join(names), ", ".join(names[1:])
        known = " AND ".join(f"{name} IS NOT NULL" for name in names)
        numbered = (
            f"SELECT {columns}, row_number() OVER (PARTITION BY user ORDER BY {order}) AS position "
            f"FROM ({compiled(table)}) WHERE {known}"
        )
        name = f"least_{secrets.token_hex(4)}"
        with translated("bounding the records"):
            kept = f"SELECT {columns} FROM ({numbered}) WHERE position <= {limit}"
            self._view(name, self._session.sql(kept))
        return Kept(ibis.table(table.select(*names).schema(), name=self._name(name)))

    def arrays(self, expression: ibis.Table) -> dict[str, NDArray[np.int64]]:
        table = self._fetched(expression)
        whole = {name: table.column(name).fill_null(0) for name in table.column_names}
        return {name: column.to_numpy().astype(np.int64) for name, column in whole.items()}

    def columns(self, expression: ibis.Table) -> dict[str, NDArray[Any]]:
        table = self._fetched(expression)
        return {name: table.column(name).to_numpy() for name in table.column_names}

    def _fetched(self, expression: ibis.Table) -> Any:
        """The result as an Arrow table: all that leaves the cluster comes through here."""
        with translated("counting the records"):
            return self._session.sql(compiled(expression)).toArrow()

    def materialise(self, expression: ibis.Table, name: str) -> ibis.Table:
        """Compute once, into memory and disk; a lost part is computed again, and is the same."""
        with translated("bounding the records"):
            if name in self._kept:
                self._kept[name].unpersist()
            self._kept[name] = self._session.sql(compiled(expression)).persist()
            self._view(name, self._kept[name])
        return ibis.table(expression.schema(), name=self._name(name))

    def parts(self) -> int:
        """The work is never cut: Spark spills to disk."""
        return 1

    def _name(self, name: str) -> str:
        return self._prefix + name

    def _view(self, name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(self._name(name))

    def _kinds(self, name: str) -> dict[str, str]:
        with translated("reading a schema"):
            return kinds(self._session.table(self._name(name)))

    def _type_of(self, expression: str, clause: str) -> str:
        return kinds(self._session.sql(f"SELECT {expression} AS value {clause}"))["value"]
