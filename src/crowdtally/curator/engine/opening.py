"""Opening each kind of source in DuckDB."""

from __future__ import annotations

import csv
import glob
import gzip
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.curator.engine.columns import quoted
from crowdtally.curator.engine.sources import Located
from crowdtally.errors import CrowdtallyError, InputError

_DELIMITERS = ",\t;|"
_ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, *)?)*\)")


def table_function(located: Located, folder: Path) -> str:
    """SQL that reads the source; a source outside DuckDB is first spooled into ``folder``."""
    if located.kind == "csv":
        return _csv(located.paths)
    if located.kind == "parquet":
        return _parquet(located.paths)
    return _parquet([str(_spool(located, folder))])


def require_one_schema(connection: duckdb.DuckDBPyConnection, located: Located) -> None:
    """Refuse Parquet files that give one column two types.

    DuckDB would take the first file's types for all, so that whose records lie in the first file
    would decide how everybody's ids are read.
    """
    if located.kind != "parquet" or len(located.paths) < 2:
        return
    known: dict[str, str] = {}
    for path in located.paths:
        for column, kind, *_ in connection.execute(f"DESCRIBE FROM {_parquet([path])}").fetchall():
            if known.setdefault(column, kind) != kind:
                raise InputError(
                    f"column {column!r} is {kind} in {path!r} and {known[column]} in a file before "
                    "it: write all of them with one schema."
                )


def frame(held: Any) -> Any:
    """A frame in a form that DuckDB registers."""
    return held.collect() if type(held).__name__ == "LazyFrame" else held


def attach(connection: duckdb.DuckDBPyConnection, located: Located, name: str) -> None:
    """Attach a DuckDB file read-only and define the view ``name`` over its table."""
    database = f"file_of_{name}"
    path = _text(located.paths[0])
    connection.execute(f"ATTACH {path} AS {quoted(database)} (READ_ONLY)")
    table = ".".join(quoted(part) for part in str(located.table).split("."))
    try:
        connection.execute(
            f"CREATE VIEW {quoted(name)} AS SELECT * FROM {quoted(database)}.{table}"
        )
    except duckdb.CatalogException:
        known = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ? UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE database_name = ? AND NOT internal",
            [database, database],
        ).fetchall()
        names = ", ".join(str(row[0]) for row in known) or "none"
        raise InputError(
            f"{located.paths[0]!r} has no table {located.table!r}. There are: {names}."
        ) from None


def plain(schema: Mapping[str, str]) -> str:
    """SQL for the columns of a table, as values that mean the same whatever other rows hold.

    An ENUM's numbers and order come from the values of all rows: it becomes text. A collation
    makes different texts equal, so that one record would match several values of a list: it goes.
    """
    return ", ".join(_plain(quoted(name), kind) for name, kind in schema.items())


def _plain(column: str, kind: str) -> str:
    """One column.

    >>> _plain("k", "ENUM('it''s', 'b')[]"), _plain("k", "BIGINT")
    ('CAST(k AS VARCHAR[]) AS k', 'k')
    """
    if kind == "VARCHAR":
        return f'{column} COLLATE "C" AS {column}'
    replaced = _ENUM.sub("VARCHAR", kind)
    return column if replaced == kind else f"CAST({column} AS {replaced}) AS {column}"


def _parquet(paths: Iterable[str]) -> str:
    # Values in the names of folders are text: a type guessed from all of them would let one
    # user's change the hash of everyone's.
    return f"read_parquet([{_files(paths)}], hive_types_autocast = false)"


def _files(paths: Iterable[str]) -> str:
    """Files by their names: DuckDB would take ``day[1].csv`` for a pattern, and read ``day1.csv``.

    >>> _files(["day[1].csv"])
    "'day[[]1].csv'"
    """
    return ", ".join(_text(glob.escape(path)) for path in paths)


def _csv(paths: tuple[str, ...]) -> str:
    """All columns as text, by the header: nothing is guessed from the records."""
    delimiter, columns = common_header(paths)
    declared = ", ".join(f"{_text(column)}: 'VARCHAR'" for column in columns)
    return (
        f"read_csv([{_files(paths)}], columns = {{{declared}}}, auto_detect = false, "
        f"header = true, delim = {_text(delimiter)}, quote = '\"', escape = '\"', "
        "strict_mode = true, nullstr = '', hive_types_autocast = false)"
    )


def common_header(paths: tuple[str, ...]) -> tuple[str, list[str]]:
    """The delimiter and the column names of CSV files, which must have them in common."""
    headers = {path: _header(path) for path in paths}
    delimiter, columns = headers[paths[0]]
    for path, (_, other) in headers.items():
        if other != columns:
            raise InputError(f"{path!r} has another header than {paths[0]!r}: make them equal.")
    return delimiter, columns


def _header(path: str) -> tuple[str, list[str]]:
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            line = file.readline(1 << 20)
    except (OSError, UnicodeDecodeError, EOFError):
        raise InputError(f"{path!r} cannot be read as text in UTF-8: convert it.") from None
    return header_of(line, path)


def header_of(line: str, path: str) -> tuple[str, list[str]]:
    """The delimiter and the column names that a first line gives."""
    delimiter = max(_DELIMITERS, key=line.count)
    columns = next(csv.reader([line], delimiter=delimiter), [])
    if not columns or "" in columns or len(set(columns)) != len(columns):
        raise InputError(
            f"{path!r} needs a first line with a distinct, non-empty name for each column."
        )
    return delimiter, columns


def _spool(located: Located, folder: Path) -> Path:
    """Stream a relation, an Ibis table or a database's table into a Parquet file of our own."""
    path = folder / f"spool-{len(list(folder.iterdir()))}.parquet"
    if located.kind == "relation":
        located.held.write_parquet(str(path))  # type: ignore[attr-defined]
        return path
    try:
        import ibis

        if located.kind == "url":
            backend = ibis.connect(located.held)
            try:
                _copy(backend.table(located.table), path)
            finally:
                backend.disconnect()
        else:
            _copy(located.held, path)
    except ImportError as error:
        raise CrowdtallyError(
            "reading this database needs a package that is not installed: "
            "pip install pyarrow pandas 'ibis-framework[postgres]' (or [sqlite], [mysql], …)."
        ) from error
    except CrowdtallyError:
        raise
    except Exception as error:  # drivers raise classes of their own
        raise InputError(
            f"{located.label or 'the table'} cannot be read ({type(error).__name__}): check the "
            "address, the credentials and the table's name."
        ) from error
    return path


def _copy(table: Any, path: Path) -> None:
    import ibis

    backend = table.get_backend()
    if backend.name == "duckdb":
        backend.con.sql(ibis.to_sql(table)).write_parquet(str(path))
        return
    import pyarrow.parquet as parquet

    schema = table.schema().to_pyarrow()
    with parquet.ParquetWriter(path, schema) as writer:
        for batch in table.to_pyarrow_batches():
            writer.write_batch(batch.cast(schema))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
