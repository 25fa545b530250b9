"""Ibis expressions, and queries in DuckDB's SQL, as Spark's SQL; Spark's errors as ours."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import sqlglot
from ibis.backends.sql.compilers.base import SQLGlotCompiler
from ibis.backends.sql.compilers.pyspark import PySparkCompiler
from sqlglot import exp

from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.records.spark.expressions import to_spark


class _Compiler(PySparkCompiler):  # type: ignore[misc]  # Ibis has no types
    """Ibis's compiler for Spark, exact on whole numbers."""

    __slots__ = ()

    def visit_FloorDivide(self, op: Any, *, left: Any, right: Any) -> Any:
        """Ibis divides as floats and rounds down, which goes wrong beyond 2^53."""
        if not (op.left.dtype.is_integer() and op.right.dtype.is_integer()):
            return super().visit_FloorDivide(op, left=left, right=right)
        whole = exp.paren(exp.Sub(this=left, expression=self.f.anon.pmod(left, right)))
        return exp.paren(exp.IntDiv(this=whole, expression=exp.paren(right)))

    def visit_IntegerRange(self, op: Any, *, start: Any, stop: Any, step: Any) -> Any:
        """From ``start`` to below ``stop`` by ones; Ibis's own builds the sequence five times."""
        first, end = (self.cast(value, dt.int64) for value in (start, stop))
        numbers = self.f.anon.sequence(first, exp.Sub(this=end, expression=exp.convert(1)))
        return self.if_(end > first, numbers, self.f.array())

    def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:
        """A small number is an INT to Spark, whatever type it was given here."""
        if dtype.is_int64():
            return self.cast(exp.convert(int(value)), dtype)
        if dtype.is_floating():
            return None
        return super().visit_NonNullLiteral(op, value=value, dtype=dtype)

    def visit_BitXor(self, op: Any, *, arg: Any, where: Any) -> Any:
        """Spark has it, which Ibis does not know."""
        return self.agg.bit_xor(arg, where=where)

    def visit_Field(self, op: Any, *, rel: Any, name: Any) -> Any:
        """NaN is a number here; Ibis's Spark option, unset without a connection, says otherwise."""
        return SQLGlotCompiler.visit_Field(self, op, rel=rel, name=name)


_compiler = _Compiler()


def compiled(expression: ibis.Table) -> str:
    return str(_compiler.to_sqlglot(expression).sql(dialect="spark"))


def translated_query(
    query: str, view_of: Callable[[str], str], type_of: Callable[[str, str], str]
) -> str:
    """A view's query from DuckDB's SQL to Spark's: columns, FROM with joins, perhaps WHERE.

    ``view_of`` gives Spark's name of one of our views; ``type_of`` the Spark type of an expression
    over a FROM clause, both in Spark's SQL.
    """
    tree: Any = sqlglot.parse_one(query, read="duckdb")
    for table in list(tree.find_all(exp.Table)):
        table.set("this", exp.to_identifier(view_of(table.name), quoted=True))
    for column in tree.find_all(exp.Column):
        if column.table:
            column.set("table", exp.to_identifier(view_of(column.table), quoted=True))
    origin = next(tree.args[name] for name in ("from", "from_") if tree.args.get(name))
    parts = [origin, *(tree.args.get("joins") or [])]
    clause = " ".join(part.sql(dialect="spark").strip() for part in parts)

    def kind(node: Any) -> str:
        return type_of(node.sql(dialect="spark"), clause)

    columns = [
        exp.alias_(to_spark(column.unalias(), kind), column.alias_or_name, quoted=True)
        for column in tree.expressions
    ]
    selected = f"SELECT {', '.join(column.sql(dialect='spark') for column in columns)} {clause}"
    where = tree.args.get("where")
    if where is None:
        return selected
    return f"{selected} WHERE {to_spark(where.this, kind).sql(dialect='spark')}"


def quoted(name: str) -> str:
    """The name as a Spark identifier.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


_MEMORY = re.compile(
    r"OutOfMemoryError|UNABLE_TO_ACQUIRE_MEMORY|Java heap space|exited with code (52|137)|"
    r"GC overhead limit|Container killed.*memory|memory limits|SIGKILL|CANNOT_ACQUIRE_MEMORY"
)
_FAULTS: tuple[tuple[str, type[CrowdtallyError], str], ...] = (
    (
        "MALFORMED_RECORD|MALFORMED_CSV|malformed CSV|TextParsingException",
        InputError,
        "a line of a CSV file has more or fewer fields than its header, a quote that is not closed "
        "on it, or text that is not UTF-8: mend the file, or store it as Parquet.",
    ),
    (
        "[Ee]xecutor memory|[Ss]ystem memory|EXECUTOR_MEMORY|Asked to launch cluster with",
        CrowdtallyError,
        "Spark was given too little memory to start: raise it with --engine-setting "
        "spark.executor.memory=2g, or give local-cluster workers 1024 MB or more.",
    ),
    (
        "PATH_NOT_FOUND|FileNotFoundException|FILE_NOT_EXIST|does not exist",
        InputError,
        "a file is not where the executors look for it: put it where every machine of the cluster "
        "reads it under the same name.",
    ),
    (
        "TABLE_OR_VIEW_NOT_FOUND|SCHEMA_NOT_FOUND|CATALOG_NOT_FOUND|REQUIRES_SINGLE_PART_NAMESPACE",
        InputError,
        "Spark's catalogue has no such table: type spark:CATALOG.SCHEMA.TABLE as "
        "`SHOW TABLES` names it.",
    ),
    (
        "CANNOT_MERGE_SCHEMAS|Failed merging schema|CONVERT_TYPE|SchemaColumnConvertNotSupported",
        InputError,
        "the files do not have the same columns and types: make them equal.",
    ),
    (
        "CANNOT_READ_FILE|is not a Parquet file|FAILED_READ_FILE|CANNOT_READ_FOOTER|"
        "UNABLE_TO_INFER_SCHEMA|ParquetDecoding|Corrupt|EOFException|not in gzip format",
        InputError,
        "a file is damaged, cut off or not of the kind its name says.",
    ),
    (
        "PARQUET_TYPE|Illegal Parquet type|Parquet type not",
        InputError,
        "a column has a type that Spark does not read from Parquet, such as times in nanoseconds: "
        "write them in microseconds, or use --engine duckdb.",
    ),
    (
        "COLUMN_ALREADY_EXISTS",
        InputError,
        "it has columns whose names differ in case alone, which Spark cannot tell apart: rename "
        "one of them.",
    ),
    ("No space left", CrowdtallyError, "a disk is full; free space and run again."),
    (
        "UNRESOLVED_COLUMN|UNRESOLVED_ROUTINE|DATATYPE_MISMATCH|AMBIGUOUS_REFERENCE",
        InputError,
        "a column or function does not exist, or cannot be used with that type.",
    ),
    (
        "maxResultSize",
        CrowdtallyError,
        "more non-zero cells than the driver takes: raise --engine-setting "
        "spark.driver.maxResultSize.",
    ),
    (
        "stopped SparkContext|SparkContext was shut down|UNAVAILABLE|SESSION_CLOSED|"
        "INVALID_HANDLE|Connection refused|Py4JNetworkError|Answer from Java side is empty",
        CrowdtallyError,
        "the connection to Spark was lost: check that its master or server still runs.",
    ),
)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with _silenced(), without_warnings():
            yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise translation(error, doing) from error
    except Exception as error:  # gRPC's, and what pyspark raises of Python's own
        if isinstance(error, CrowdtallyError) or type(error).__module__.startswith("crowdtally"):
            raise
        if "grpc" in type(error).__module__:
            raise translation(error, doing) from error
        raise


def translation(error: BaseException, doing: str) -> CrowdtallyError:
    """Our words for an error of Spark's: its own may quote values, and only --debug shows them."""
    text = str(error)
    if _MEMORY.search(text):
        return CrowdtallyError(
            f"while {doing}: an executor ran out of memory: give each more, as with "
            "--engine-setting spark.executor.memory=4g, or more partitions, as with "
            "--engine-setting spark.sql.shuffle.partitions=2000."
        )
    for pattern, kind, words in _FAULTS:
        if re.search(pattern, text):
            return kind(f"while {doing}: {words}")
    if "ParseException" in type(error).__name__:
        return UsageError(f"while {doing}: an expression is not one that Spark can parse.")
    return CrowdtallyError(
        f"while {doing}: Spark stopped ({type(error).__name__}); --debug shows its own words."
    )


@contextmanager
def without_warnings() -> Iterator[None]:
    """Spark's client warns of things that no curator needs to know, such as pandas' version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _silenced() -> Iterator[None]:
    """Spark's client logs each error with the values it quotes; ours name no values."""
    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was
