"""Sources by their addresses: files, globs, databases, Python objects. Nothing of them is read."""

from __future__ import annotations

import glob
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from crowdtally.core.records import Join, Origin, Records, without_secrets
from crowdtally.errors import InputError, UsageError, closest, did_you_mean
from crowdtally.records.copying import is_stream
from crowdtally.records.names import POSTGRES, check_postgres, one_name, plain_name, postgres_name
from crowdtally.records.names import tables_of as duckdb_tables_of

Kind = Literal[
    "parquet", "csv", "duckdb", "sqlite", "postgres", "frame", "stream", "relation", "ibis",
    "spark-table", "spark-frame",
]  # fmt: skip

_SPARK_TABLE = "spark:"
_SPARK_FILES = re.compile(r"(file|hdfs|viewfs|s3|s3a|s3n|gs|abfss?|wasbs?|adl|dbfs|oss)://")

_ENDINGS: dict[str, Kind] = {
    ".parquet": "parquet", ".pq": "parquet",
    ".csv": "csv", ".tsv": "csv", ".csv.gz": "csv", ".tsv.gz": "csv",
    ".duckdb": "duckdb", ".ddb": "duckdb",
    ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite",
}  # fmt: skip
_STREAMS = {
    ("deltalake", "DeltaTable"): " Of a Delta table that is "
    "table.to_pyarrow_dataset().scanner().to_reader().",
    ("pyiceberg", "Table"): " Of an Iceberg table that is table.scan().to_arrow_batch_reader().",
}
_READABLE = (
    "Crowdtally reads .parquet and .csv files (also .tsv, .gz and globs such as 'data/*.parquet'), "
    "file.duckdb#table, file.sqlite#table and postgresql://HOST/DATABASE#table; on Spark also "
    "addresses of files such as s3a://… and spark:CATALOG.SCHEMA.TABLE."
)


@dataclass(frozen=True)
class Located:
    """A source that exists."""

    kind: Kind
    label: str | None
    """Its resolved name, without secrets; None for records held in memory."""
    paths: tuple[str, ...] = ()
    table: str | None = None
    held: object = None
    """The frame, relation or Ibis table, or the URL with its secrets."""

    @property
    def origin(self) -> Origin:
        """What the rows are read from: it overlaps for two sources that share rows."""
        if self.label is None:
            return Origin(held=self.held)
        if self.table is not None:
            return Origin(frozenset({self.label}))  # one table of the file
        full = (path if "://" in path else str(Path(path).resolve()) for path in self.paths)
        return Origin(frozenset(map(one_name, full)))

    @property
    def needs_spark(self) -> bool:
        return self.kind.startswith("spark-") or any("://" in path for path in self.paths)


def locate(source: object) -> Located:
    """Find the source that a path, glob, URL#table or Python object names."""
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    if not isinstance(source, str):
        return _locate_object(source)
    if source.startswith(_SPARK_TABLE) and not source.startswith("spark://"):
        return _locate_spark_table(source)
    if _SPARK_FILES.match(source):
        return _locate_spark_files(source)
    name, hash_sign, table = source.rpartition("#")
    if "://" in (name or source):
        return _locate_url(name, table) if hash_sign else _locate_bare_url(source)
    if _ending(name) in ("duckdb", "sqlite"):
        return _locate_database(name, table)
    return _locate_files(source)


def _locate_bare_url(url: str) -> Located:
    if url.startswith(("sqlite://", "duckdb://")):
        return _locate_url(url, "")  # says which tables there are
    if url.startswith(("http://", "https://")):
        raise UsageError(
            f"files are not read over the web: received {without_secrets(url)!r}; download it "
            "and give its path."
        )
    raise UsageError(
        f"a database URL must name its table: received {without_secrets(url)!r}; type URL#table."
    )


def _locate_object(source: object) -> Located:
    module = type(source).__module__.partition(".")[0]
    name = type(source).__name__
    if module in ("duckdb", "_duckdb") and name == "DuckDBPyRelation":
        return Located("relation", None, held=source)
    if module == "ibis" and name == "Table":
        return Located("ibis", None, held=source)
    if (module, name) in {
        ("pandas", "DataFrame"), ("polars", "DataFrame"), ("polars", "LazyFrame"),
        ("pyarrow", "Table"),
    }:  # fmt: skip
        return Located("frame", None, held=source)
    if (module, name) == ("pyspark", "DataFrame"):
        return Located("spark-frame", None, held=source)
    if is_stream(source):
        return Located("stream", None, held=source)
    raise UsageError(
        f"records cannot be read from a {module}.{name}: pass a path, a pandas, Polars or Spark "
        "DataFrame, a pyarrow Table, a DuckDB relation, an Ibis table or anything that offers "
        f"Arrow batches (__arrow_c_stream__).{_STREAMS.get((module, name), '')}"
    )


def _locate_spark_table(source: str) -> Located:
    table = source.removeprefix(_SPARK_TABLE)
    if not table.strip():
        raise UsageError("no table after 'spark:': type spark:CATALOG.SCHEMA.TABLE.")
    return Located("spark-table", source, table=table)


def _locate_spark_files(address: str) -> Located:
    """Files that the cluster sees; this machine may not, so nothing is looked up here."""
    kind = _ending(address)
    if kind not in ("parquet", "csv"):
        raise InputError(f"{without_secrets(address)!r} does not end in .parquet or .csv: type a "
                         "pattern such as s3a://bucket/events/*.parquet.")  # fmt: skip
    return Located(kind, one_name(without_secrets(address)), (address,))


def _locate_url(url: str, table: str) -> Located:
    typed = url.partition("://")[0]  # what follows may not be an address: see check_postgres
    scheme, _, _ = typed.lower().partition("+")
    if not table.strip() and scheme not in ("duckdb", "sqlite"):
        raise UsageError(f"no table after '#' in {without_secrets(url)!r}: type URL#table.")
    if scheme == "duckdb":
        return _locate_table("duckdb", url.removeprefix("duckdb://"), table)
    if scheme == "sqlite":
        return _locate_table("sqlite", url.removeprefix(f"{typed}://"), table)
    if scheme in POSTGRES:
        plain = f"{scheme}{url.removeprefix(typed)}"
        check_postgres(plain, table)
        return Located("postgres", postgres_name(plain, table), table=table, held=plain)
    raise UsageError(
        f"{scheme} databases are not read, only DuckDB, SQLite and PostgreSQL: received "
        f"{without_secrets(url)!r}. Write the table to a Parquet or CSV file, and give that."
    )


def _locate_database(path: str, table: str) -> Located:
    """A table of a database file, whose kind its ending or else its content decides."""
    duckdb = _ending(path) == "duckdb" or _holds_duckdb(path)
    return _locate_table("duckdb" if duckdb else "sqlite", path, table)


def _holds_duckdb(path: str) -> bool:
    """Whether the content is a DuckDB database: files of both kinds may end in .db."""
    with suppress(OSError), Path(path).open("rb") as file:
        return file.read(12)[8:] == b"DUCK"
    return False


def _locate_table(kind: Literal["duckdb", "sqlite"], path: str, table: str) -> Located:
    """A table of a file that exists: for a mistyped name SQLite would create an empty file."""
    path = re.sub("^/+", "/", path)  # several slashes mean one
    if not Path(path).exists():
        raise InputError(_missing(path))
    if not Path(path).is_file():
        raise InputError(f"{path!r} is a folder, not a database: type its file, as FILE#TABLE.")
    if not table.strip():
        raise _needs_table(kind, path)
    name = plain_name(table, "main")
    scheme = "sqlite://" if kind == "sqlite" else ""
    return Located(kind, f"{scheme}{Path(path).resolve()}#{name}", (path,), table)


def _needs_table(kind: Literal["duckdb", "sqlite"], path: str) -> UsageError:
    from crowdtally.records import sqlite

    names = duckdb_tables_of(path) if kind == "duckdb" else sqlite.tables_of(path)
    return UsageError(
        f"a database needs its table: type {path}#{names[0] if len(names) == 1 else 'TABLE'}. "
        f"{did_you_mean('', names)}"
    )


def _missing(path: str) -> str:
    """The message about a file that is not there, with the one that was probably meant."""
    folder = Path(path).parent
    if path.startswith("/") and Path(path[1:]).is_file():
        return f"no such file: {path!r}. For one in this folder type {path[1:]!r}, without a slash."
    if not folder.is_dir():
        return f"no such file: {path!r}. There is no folder {str(folder)!r}: check the path."
    readable = {file.stem: file for file in folder.iterdir() if _ending(file.name) == _ending(path)}
    near = closest(Path(path).stem, readable)
    if near is not None:
        return f"no such file: {path!r}. Did you mean {str(readable[near])!r}?"
    return f"no such file: {path!r}. Check the path; relative ones start at {str(Path.cwd())!r}."


def _locate_files(pattern: str) -> Located:
    paths = _expand(pattern)
    kinds = {_ending(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"{pattern!r} matches files of several kinds: use a narrower pattern.")
    kind = kinds.pop()
    if kind is None:
        raise InputError(f"{pattern!r} is not of a kind that can be read. {_READABLE}")
    if kind in ("duckdb", "sqlite"):
        _locate_database(paths[0], "")  # says which tables there are
    for path in paths:
        if not os.access(path, os.R_OK):
            raise InputError(f"{path!r} cannot be read: permission denied. Check its mode.")
    return Located(kind, str(Path(pattern).resolve()), tuple(paths))


def _expand(pattern: str) -> list[str]:
    if not pattern.strip():
        raise UsageError(f"a file's name is empty: received {pattern!r}. {_READABLE}")
    if Path(pattern).is_dir():
        raise InputError(
            f"{pattern!r} is a folder: type a pattern such as '{pattern.rstrip('/')}/*.parquet'."
        )
    if Path(pattern).exists():
        return [pattern]
    # The order must not depend on the file system, so that a release can be explained.
    paths = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())
    if not paths:
        if not glob.has_magic(pattern) and _ending(pattern) is not None:
            raise InputError(_missing(pattern))
        what = "no file matches" if glob.has_magic(pattern) else "no such file:"
        raise InputError(f"{what} {pattern!r}. {_READABLE}")
    return paths


def _ending(path: str) -> Kind | None:
    lowered = path.lower()
    return next((kind for end, kind in _ENDINGS.items() if lowered.endswith(end)), None)


@dataclass(frozen=True)
class LookUp:
    table: Located
    declared: Join


@dataclass(frozen=True)
class Sources:
    """The declared sources, each located when it is first asked for, or refused."""

    declared: Records

    @cached_property
    def records(self) -> Located:
        return locate(self.declared.source)

    @cached_property
    def joins(self) -> tuple[LookUp, ...]:
        return tuple(LookUp(locate(join.source), join) for join in self.declared.joins)

    @cached_property
    def same_person(self) -> Located | None:
        declared = self.declared.same_person
        return None if declared is None else locate(declared.source)

    @property
    def about_users(self) -> tuple[Located, ...]:
        """The sources whose values depend on users: the records, and what is joined on the user."""
        users = self.declared.user_columns
        joined = [look_up.table for look_up in self.joins if look_up.declared.key in users]
        return (self.records, *joined, *([self.same_person] if self.same_person else []))

    @property
    def every(self) -> tuple[Located, ...]:
        joined = [look_up.table for look_up in self.joins]
        return (self.records, *joined, *([self.same_person] if self.same_person else []))
