"""Spark's errors as ours: what to do, in one line, without the values that its messages quote."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from crowdtally.errors import CrowdtallyError, InputError, UsageError

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
    """Run something on Spark; raise its failures as ours."""
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
    """What to say of an error of Spark's; its own words are shown by --debug alone."""
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
    """Spark's client warns of what is none of a curator's business, such as pandas' version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _silenced() -> Iterator[None]:
    """Spark's client logs each error with the values it quotes: ours say it without them."""
    loggers = [
        logging.getLogger(n) for n in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was
