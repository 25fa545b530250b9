"""Streams of Arrow batches (``__arrow_c_stream__``), copied once into a file of our own.

A stream may give its rows a single time, and counting passes over them several times. What a reader
gave is kept for as long as the reader lives, so that a plan and two releases of one reader see the
same rows.
"""

from __future__ import annotations

import tempfile
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.errors import InputError

TABLE = "rows"
"""The table of the copy."""
_ONE_PASS = ("__next__", "read_next_batch", "read_next")
_kept: dict[int, tempfile.TemporaryDirectory[str] | None] = {}


def is_stream(held: object) -> bool:
    """Whether an object offers Arrow batches."""
    return hasattr(type(held), "__arrow_c_stream__")


def stored(held: Any, folder: Path, name: str) -> Path:
    """A DuckDB file with the stream's rows: in ``folder``, or one that outlives it for a reader."""
    if not any(hasattr(held, sign) for sign in _ONE_PASS) or not _can_be_watched(held):
        _copy(held, folder / f"{name}.duckdb")
        return folder / f"{name}.duckdb"
    if id(held) not in _kept:
        _keep(held)
    private = _kept[id(held)]
    if private is None:
        raise InputError(
            f"the {_called(held)} failed when it was read before, and some of its rows are gone: "
            "make it anew."
        )
    return _copy_in(private)


def _keep(held: Any) -> None:
    """Copy what a reader gives once; nothing is kept of one that fails, but that it did."""
    private = tempfile.TemporaryDirectory(prefix="crowdtally-")
    _kept[id(held)] = None
    weakref.finalize(held, _forget, id(held))
    try:
        _copy(held, _copy_in(private))
    except BaseException:
        private.cleanup()
        raise
    _kept[id(held)] = private


def _copy_in(folder: tempfile.TemporaryDirectory[str]) -> Path:
    return Path(folder.name) / "reader.duckdb"


def _forget(number: int) -> None:
    private = _kept.pop(number)
    if private is not None:
        private.cleanup()


def _can_be_watched(held: object) -> bool:
    try:
        weakref.ref(held)
    except TypeError:
        return False
    return True


def _copy(held: Any, path: Path) -> None:
    try:
        batches = _batches(held)
    except Exception as error:  # whatever the object's own code raises, a value in its words
        raise InputError(
            f"the {_called(held)} offers Arrow batches and then refuses them "
            f"({type(error).__name__}). A reader gives its rows once: if it was read or closed "
            "before, make it anew."
        ) from error
    settings = {"autoinstall_known_extensions": "false"}
    try:
        with duckdb.connect(str(path), config=settings) as connection:
            connection.register("incoming", batches)
            connection.execute(f"CREATE TABLE {TABLE} AS FROM incoming")
    except (duckdb.Error, NotImplementedError) as error:
        raise InputError(
            f"the {_called(held)} cannot be read to its end ({type(error).__name__}): what feeds "
            "it failed, or a column has a type that cannot be read. Cast such a column to text or "
            f"to 64-bit integers, or leave it out.{_advice()}"
        ) from error


def _batches(held: Any) -> Any:
    """What DuckDB takes: by way of pyarrow, which knows more types, where it is installed."""
    if find_spec("pyarrow") is None:
        return held.__arrow_c_stream__()
    import pyarrow

    return pyarrow.RecordBatchReader.from_stream(held)


def _advice() -> str:
    if find_spec("pyarrow") is not None:
        return ""
    return " More types are read with pyarrow: pip install 'crowdtally[frames]'."


def _called(held: object) -> str:
    return f"{type(held).__module__.partition('.')[0]} {type(held).__name__}"
