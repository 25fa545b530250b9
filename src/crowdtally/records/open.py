"""Each kind of source within DuckDB's reach, and about how large it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection as Connection

from crowdtally.core.registry import quoted
from crowdtally.errors import InputError, UsageError
from crowdtally.records import copying, csv, postgres, sqlite
from crowdtally.records import names as duckdb_tables
from crowdtally.records.columns import Knowledge
from crowdtally.records.locate import Located
from crowdtally.records.names import meant, no_such_table, spelled

_ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, *)?)*\)")
_NO_TYPE = '"NULL"'
# DuckDB computes next to nothing of nanoseconds with a zone, which pandas and Polars write.
_FREED = {_NO_TYPE: "VARCHAR", "TIMESTAMPTZ_NS": "TIMESTAMP WITH TIME ZONE"}
# A column of times in a file can store numbers that are no time. DuckDB stops at them, even in TRY.
_FIRST, _LAST = "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54"
_TIMES = {
    "TIMESTAMP": (_FIRST, _LAST), "TIMESTAMP_S": (_FIRST, _LAST), "TIMESTAMP_MS": (_FIRST, _LAST),
    "TIME": ("00:00:00", "24:00:00"), "TIME_NS": ("00:00:00", "24:00:00"),
}  # fmt: skip
# The operators that read rows with a stored schema; other readers guess one from the rows.
_STORED = set("SEQ_SCAN TABLE_SCAN PARQUET_SCAN READ_PARQUET ARROW_SCAN PYTHON_ARROW_SCAN".split())
_NO_ROWS = {"EMPTY_RESULT", "DUMMY_SCAN", "COLUMN_DATA_SCAN", "CHUNK_SCAN"}


@dataclass(frozen=True)
class Opened:
    """A source within DuckDB's reach."""

    rows: str
    """What to write after FROM."""
    knowledge: Knowledge | Mapping[str, Knowledge] = "declared"
    """How the columns' types are known: all of them, or each."""
    keep: object = None
    """An object that must live as long as the rows are read."""

    def of(self, column: str) -> Knowledge:
        return self.knowledge if isinstance(self.knowledge, str) else self.knowledge[column]


def opened(
    connection: Connection, located: Located, name: str, folder: Path, *, rows: bool = True
) -> Opened:
    """Bring a source within reach; one outside DuckDB is first copied into ``folder``.

    Without ``rows`` only columns are copied, and only the headers of CSV files are read.
    """
    if located.kind == "csv":
        return Opened(csv.rows_of(located.paths, checked=rows))
    if located.kind == "parquet":
        _require_one_schema(connection, located)
        return Opened(_parquet(located.paths))
    if located.kind == "duckdb":
        return _attached(connection, located, name)
    if located.kind == "frame":
        return _registered(connection, located.held, f"{name}_held")
    if located.kind == "stream":
        path, database = copying.stored(located.held, folder, name), quoted(f"stream_of_{name}")
        connection.execute(f"ATTACH {csv.text(str(path))} AS {database} (READ_ONLY)")
        return Opened(f"{database}.{copying.TABLE}", "inferred")
    return _copied(connection, located, name, folder, rows)


def all_plain(schema: Mapping[str, str]) -> bool:
    """Whether no column of a file needs :func:`bare`."""
    return all(freed_type(kind) == kind and kind not in _TIMES for kind in schema.values())


def bare(column: str, kind: str) -> tuple[str, str]:
    """SQL for one column, and its type, without anything that other rows decide.

    An ENUM, whose numbers and order come from the values of all rows, becomes text; so does a
    column of nulls alone, which has no type. A collation makes different texts equal, so that one
    record would match several values of a list: it is removed. Instants are read to the
    microsecond; a stored number that is no time, and an infinite time, are null.

    >>> bare("k", "ENUM('it''s', 'b')[]")
    ('CAST("k" AS VARCHAR[])', 'VARCHAR[]')
    """
    name, freed = quoted(column), freed_type(kind)
    if kind == "VARCHAR":
        return f'{name} COLLATE "C"', kind
    if kind in _TIMES:
        first, last = (f"CAST('{time}' AS {kind})" for time in _TIMES[kind])
        return f"CASE WHEN {name} BETWEEN {first} AND {last} THEN {name} END", kind
    return (name, kind) if freed == kind else (f"CAST({name} AS {freed})", freed)


def freed_type(kind: str) -> str:
    """The type, with text in place of an ENUM or of no type."""
    return _FREED.get(kind) or _ENUM.sub("VARCHAR", kind)


def _registered(connection: Connection, frame: Any, name: str) -> Opened:
    held, knowledge = copying.ready(frame)
    try:
        connection.register(name, held)
        connection.execute(f"DESCRIBE FROM {quoted(name)}")
    except (duckdb.Error, NotImplementedError) as error:
        raise InputError(
            "a column of the frame has a type that cannot be read: cast it to text or to 64-bit "
            "integers, or leave it out."
        ) from error
    return Opened(quoted(name), knowledge, held)


def _require_one_schema(connection: Connection, located: Located) -> None:
    """Refuse Parquet files that give one column two types.

    DuckDB would take the first file's types for all: the users whose records are in that file would
    decide how everybody's ids are read.
    """
    if len(located.paths) < 2:
        return
    known: dict[str, str] = {}
    for path in located.paths:
        for column, kind, *_ in connection.execute(f"DESCRIBE FROM {_parquet([path])}").fetchall():
            if known.setdefault(column, kind) != kind:
                raise InputError(
                    f"column {column!r} is {kind} in {path!r} and {known[column]} in a file before "
                    "it: write all of them with one schema."
                )


def _parquet(paths: Iterable[str]) -> str:
    # Values in the names of folders stay text: if their type were guessed from all of them, one
    # user's value would change everybody's hashes.
    return f"read_parquet([{csv.files(paths)}], hive_types_autocast = false)"


def _attached(connection: Connection, located: Located, name: str) -> Opened:
    """A table or view of a DuckDB file, attached read-only."""
    database, path = f"file_of_{name}", csv.text(located.paths[0])
    connection.execute(f"ATTACH {path} AS {quoted(database)} (READ_ONLY)")
    tables = duckdb_tables.known(connection, database)
    entry = meant(str(located.table), tables, duckdb_tables.SCHEMA)
    if entry is None:
        names = spelled((table[:2] for table in tables), duckdb_tables.SCHEMA)
        raise no_such_table(repr(located.paths[0]), str(located.table), names)
    schema, table, how = entry
    rows = ".".join(quoted(part) for part in (database, schema, table))
    guessed = how == "inferred" and not _stored(connection.sql(f"FROM {rows}"))
    return Opened(rows, "guessed" if guessed else how)


def _stored(relation: duckdb.DuckDBPyRelation) -> bool:
    """Whether all that a relation reads has a stored schema; that of a CSV file is guessed."""
    (row,) = relation.query("asked", "EXPLAIN (FORMAT json) FROM asked").fetchall()
    return set(_leaves(json.loads(row[1]))) <= _STORED | _NO_ROWS


def _leaves(nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for node in nodes:
        if node.get("children"):
            yield from _leaves(node["children"])
        else:
            yield str(node["name"]).strip()


def _copied(
    connection: Connection, located: Located, name: str, folder: Path, filled: bool
) -> Opened:
    """A relation, an Ibis table or a database's table, copied into a database of our own."""
    database = quoted(f"copy_of_{name}")
    # In memory; DuckDB spills what does not fit to the engine's temporary folder.
    connection.execute(f"ATTACH ':memory:' AS {database}")
    rows, spool = f"{database}.rows", folder / f"{name}.spool"
    table = str(located.table)
    if located.kind == "sqlite":
        sqlite.copy_table(located.paths[0], table, connection, rows, rows=filled)
        return Opened(rows)
    if located.kind == "postgres":
        url, label = str(located.held), str(located.label)
        postgres.copy_table(url, label, table, connection, rows, spool, rows=filled)
        return Opened(rows)
    if located.kind == "relation":
        return _from_relation(connection, located.held, rows, spool)
    return _from_ibis(connection, located.held, rows, spool)


def _from_relation(connection: Connection, relation: Any, rows: str, spool: Path) -> Opened:
    """Through a file: a relation belongs to another connection."""
    relation.write_parquet(str(spool))
    connection.execute(f"CREATE TABLE {rows} AS FROM {_parquet([str(spool)])}")
    spool.unlink()
    return Opened(rows, "inferred" if _stored(relation) else "guessed")


def _from_ibis(connection: Connection, table: Any, rows: str, spool: Path) -> Opened:
    import ibis

    backend = table.get_backend()
    if backend.name == "duckdb":
        return _from_relation(connection, backend.con.sql(ibis.to_sql(table)), rows, spool)
    query = str(ibis.to_sql(table))
    if backend.name == "sqlite":
        kinds = {column: sqlite.declared_type(str(kind)) for column, kind in table.schema().items()}
        sqlite.copy_query(backend.con, query, kinds, connection, rows)
    elif backend.name == "postgres":
        postgres.copy_query(backend.con, query, connection, rows, spool)
    else:
        raise UsageError(
            f"an Ibis table on {backend.name} is not read: no reading of it is known to be exact. "
            "Write it to a Parquet file, and give that."
        )
    return Opened(rows, "inferred")


# About how large the records are, without reading them. No outcome depends on it: where it is too
# small, the work is done again in more parts.

_BYTES_PER_ROW = 48  # measured upper bound of what min(x, n) holds per record it may keep
_BYTES_PER_FIELD = 4  # of a CSV file, delimiter included: fewer than most have
_PACKED = 8  # gzip rarely makes a CSV file smaller than this part of it
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def rows_of(connection: Connection, located: Located, source: Opened, columns: int) -> int:
    """About how many rows a source has: from footers and catalogues, or from a file's bytes."""
    if located.kind == "csv":
        return sum(map(_unpacked, located.paths)) // (_BYTES_PER_FIELD * max(columns, 1))
    if located.kind == "duckdb" and source.knowledge != "declared":
        return 0  # a view may be any query: to count its rows would be to run it
    # Parquet's footers, a frame's length or a table's catalogue: no row is read.
    ((rows,),) = connection.execute(f"SELECT count(*) FROM {source.rows}").fetchall()
    return int(rows)


def _unpacked(path: str) -> int:
    return Path(path).stat().st_size * (_PACKED if path.lower().endswith(".gz") else 1)


def parts(rows: int, memory: int) -> int:
    """Into how many parts rows are cut to be bounded within ``memory`` bytes.

    Only the heaps of ``min(x, n)`` cannot spill to disk.

    >>> parts(10**6, 2**30), parts(10**9, 2**30)
    (1, 90)
    """
    return 1 + rows * _BYTES_PER_ROW // max(memory // 2, 1)


def in_bytes(text: str) -> int:
    """A size as DuckDB writes it, in bytes.

    >>> in_bytes("1.5 KiB")
    1536
    """
    number, unit = text.split()
    return int(float(number) * _UNITS[unit])
