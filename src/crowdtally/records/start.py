"""Choose and start an engine; look at the sources' columns alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.errors import UsageError
from crowdtally.records import open
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Engine
from crowdtally.records.locate import Located
from crowdtally.records.open import Opened

_SPARK = re.compile(r"spark|(spark|sc|k8s)://.+|yarn|local(-cluster)?(\[.*\])?")
_NAMES = (
    "duckdb, spark (the running session, or else this machine), spark://HOST:PORT, sc://HOST:PORT, "
    "yarn, k8s://…, local[N] or local-cluster[N,CORES,MB]"
)


def starter(
    engine: str | None, settings: Mapping[str, str], sources: Iterable[Located]
) -> Callable[[], Engine]:
    """A function that starts the engine, or raises in bounded time if that fails."""
    located = list(sources)
    frames = [source.held for source in located if source.kind == "spark-frame"]
    _check_kinds(engine, settings)
    if engine is not None and engine != "duckdb" and not _SPARK.fullmatch(engine):
        raise UsageError(f"there is no engine {engine!r}: type one of {_NAMES}.")
    if engine == "duckdb" or (engine is None and not frames):
        _check_duckdb(settings, located)
        return DuckDBEngine
    if frames:
        return _beside(frames, engine, settings)
    return _spark(None if engine == "spark" else engine, settings)


def _check_kinds(engine: object, settings: object) -> None:
    if engine is not None and not isinstance(engine, str):
        kind = type(engine).__name__
        raise UsageError(f"there is no engine of type {kind}: type one of {_NAMES}.")
    if not isinstance(settings, Mapping):
        raise UsageError(
            "engine settings are names and values, --engine-setting KEY=VALUE: received a "
            f"{type(settings).__name__}."
        )


def _check_duckdb(settings: Mapping[str, str], located: Iterable[Located]) -> None:
    if settings:
        raise UsageError("engine settings are Spark's: give --engine spark with them.")
    for source in located:
        if source.needs_spark:
            name = source.label or "a Spark DataFrame"
            raise UsageError(f"{name} is read by Spark: give --engine spark, or its master.")


def _beside(
    frames: list[object], engine: str | None, settings: Mapping[str, str]
) -> Callable[[], Engine]:
    if engine not in (None, "spark") or settings:
        raise UsageError(
            "a Spark DataFrame is counted where it lives: give neither engine nor settings."
        )
    if len({id(frame.sparkSession) for frame in frames}) > 1:  # type: ignore[attr-defined]
        raise UsageError("the Spark DataFrames belong to different sessions: make them in one.")

    def start() -> Engine:
        from crowdtally.records.spark.engine import SparkEngine
        from crowdtally.records.spark.session import join_frame

        return SparkEngine(join_frame(frames[0]))

    return start


def _spark(master: str | None, settings: Mapping[str, str]) -> Callable[[], Engine]:
    from crowdtally.records.spark.session import check_settings

    check_settings(settings)

    def start() -> Engine:
        from crowdtally.records.spark.engine import SparkEngine
        from crowdtally.records.spark.session import join

        return SparkEngine(join(master, settings))

    return start


# An engine over the sources' columns without their rows: it checks a declaration by the code and
# messages of a release, and reads no record, only Parquet's footers, a CSV file's first line, a
# database's catalogue, and the types of what Python holds.


def without_rows() -> DuckDBEngine:
    return DuckDBEngine(_columns_of)


def _columns_of(
    connection: duckdb.DuckDBPyConnection, located: Located, name: str, folder: Path
) -> Opened:
    held = _emptied(located) if located.held is not None else None
    kind = "frame" if located.kind == "stream" else located.kind
    bare = located if held is None else replace(located, kind=kind, held=held)
    opened = open.opened(connection, bare, name, folder, rows=False)
    return replace(opened, rows=f"(SELECT * FROM {opened.rows} LIMIT 0)")


def can_look(located: Located) -> bool:
    """Whether looking at the columns starts nothing and uses nothing up.

    Spark would have to be started; a pipe, and perhaps a stream, can be read only once.
    """
    if located.needs_spark or not all(Path(path).is_file() for path in located.paths):
        return False
    return located.kind not in ("frame", "stream") or _emptied(located) is not None


def _emptied(located: Located) -> Any:
    """A Python object without its rows; None where emptying it might change the object."""
    held: Any = located.held
    if located.kind in ("relation", "ibis"):
        return held.limit(0)
    if located.kind not in ("frame", "stream"):
        return held  # an address
    module = type(held).__module__.partition(".")[0]
    if located.kind == "stream":
        return held.schema.empty_table() if module == "pyarrow" else None
    if module == "pyarrow" and type(held).__name__ == "Table":
        return held.slice(0, 0)
    if module == "pandas":
        # DuckDB would guess a type by the first of Python's objects; a release reads them as text.
        loose = [name for name in held.columns if held[name].dtype == object]
        return held.head(0).astype(dict.fromkeys(loose, "string"))
    return held.head(0) if module == "polars" else None
