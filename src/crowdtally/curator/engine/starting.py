"""Which engine a release runs on, and how it is started."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.sources import Located
from crowdtally.errors import UsageError

_SPARK = re.compile(r"spark|(spark|sc|k8s)://.+|yarn|local(-cluster)?(\[.*\])?")
_NAMES = (
    "duckdb, spark (the running session, or else this machine), spark://HOST:PORT, sc://HOST:PORT, "
    "yarn, k8s://…, local[N] or local-cluster[N,CORES,MB]"
)


def starter(
    engine: str | None, settings: Mapping[str, str], sources: Iterable[Located]
) -> Callable[[], Engine]:
    """What starts the engine: the one asked for, or that of a Spark DataFrame, or DuckDB.

    Nothing is started yet; what is returned raises, in bounded time, where it cannot be.
    """
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
        from crowdtally.curator.engine.spark.engine import SparkEngine
        from crowdtally.curator.engine.spark.session import join_frame

        return SparkEngine(join_frame(frames[0]))

    return start


def _spark(master: str | None, settings: Mapping[str, str]) -> Callable[[], Engine]:
    from crowdtally.curator.engine.spark.session import check_settings

    check_settings(settings)

    def start() -> Engine:
        from crowdtally.curator.engine.spark.engine import SparkEngine
        from crowdtally.curator.engine.spark.session import join

        return SparkEngine(join(master, settings))

    return start
