"""Releases through the library: of frames and tables in memory, on both engines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import crowdtally as ct
from same import inputs, seams
from same.stage import Scene, Stage
from same.texts import folder_text, json_text

_ROLES: dict[str, Any] = {"user": "who", "item": "place", "contexts": ["day"]}


def _pandas(_: Stage) -> Any:
    import pandas as pd

    return pd.DataFrame(inputs.columns())


def _polars(_: Stage) -> Any:
    import polars as pl

    return pl.from_arrow(inputs.arrow())


def _relation(_: Stage) -> Any:
    import duckdb

    return duckdb.from_arrow(inputs.arrow())


def _ibis(stage: Stage) -> Any:
    import ibis

    path = inputs.SOURCES["duckdb-file"](stage).partition("#")[0]
    return ibis.duckdb.connect(path, read_only=True).table("visits")


class _Stream:
    """An object that offers Arrow batches and nothing else."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._held.__arrow_c_stream__(requested_schema)


def _spark(_: Stage) -> Any:
    names = ", ".join(
        f"{name} {'string' if isinstance(inputs.rows()[0][place], str) else 'bigint'}"
        for place, name in enumerate(inputs.NAMES)
    )
    return seams.spark().createDataFrame(list(inputs.rows()), names)


_HELD: dict[str, Callable[[Stage], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": lambda _: inputs.arrow(),
    "relation": _relation,
    "ibis": _ibis,
    "stream": lambda _: _Stream(inputs.arrow()),
    "spark-frame": _spark,
}


class _Told(logging.Handler):
    """What the library says beside its answers."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.lines.append(record.getMessage())


def _play(source: str, stage: Stage) -> None:
    told, logger = _Told(), logging.getLogger("crowdtally")
    logger.addHandler(told)
    try:
        _released(source, stage, told)
    finally:
        logger.removeHandler(told)


def _released(source: str, stage: Stage, told: _Told) -> None:
    held = _HELD[source](stage)
    domain = ct.Domain(inputs.PLACES, {"day": inputs.DAYS}, item="place")
    records = ct.read(held, **_ROLES)
    stage.seed("release")
    release = ct.release(
        records, domain, epsilon="3/2", method=ct.SRA(4), output="out",
        ledger="ledger.sqlite", dataset="town", new_dataset=True, purpose="a test",
    )  # fmt: skip
    export = json_text(ct.Ledger.open("ledger.sqlite").export())
    stage.note("release", *told.lines, folder_text(stage.folder / "out"), export)
    stage.note("answers", *map(str, _answers(release)))
    plan = ct.plan(records, domain, epsilon="1/3", method=ct.SRA(4), guess_users=90, query_cells=5)
    stage.note("plan", str(plan))
    if source != "stream":  # which can be read once
        stage.note("inspection", str(ct.inspect(records, domain)))


def _refused(ask: Callable[[], object]) -> str:
    """The words in which the library says no."""
    try:
        return f"answered {ask()}"
    except ct.CrowdtallyError as error:
        return f"{type(error).__name__}: {error}"


def _answers(release: ct.Release) -> Iterator[object]:
    yield release
    yield release._repr_html_()
    yield release.top(4)
    yield release.top(4, raw=True, day="Mon")
    yield release.top(3)._repr_html_()
    yield release.recommend(3, day="Tue", by="special")
    yield release.sum("place <= 'p3'")
    yield release.point(place="p1", day="Mon")
    yield release.prefix("place", "p4", day="Tue")
    yield release.range("place", "p2", "p5")
    yield release.table("items").fetchall()
    yield (release.table("edges").columns, release.table("edges").types)
    yield release.describe()
    yield _refused(lambda: ct.changes(release, release))
    yield _refused(lambda: release.top(0))
    yield _refused(lambda: release.sum("plce = 1"))
    yield release.with_labels({place: place.upper() for place in inputs.PLACES}).top(3)


def scenes() -> Iterator[Scene]:
    """A scene for each kind of object."""
    for source in _HELD:
        engine = "spark" if source == "spark-frame" else "duckdb"
        name = f"release sra laplace dense none {source} {engine}: library"
        needs = "spark" if engine == "spark" else ""
        yield Scene(name, partial(_play, source), source == "pandas", needs)
