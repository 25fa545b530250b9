"""Frames and streams copied in blocks."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, time
from decimal import Decimal
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np

from crowdtally.errors import InputError
from crowdtally.records.columns import EXACT, Knowledge

Block = TypeVar("Block")


def ahead(blocks: Generator[Block, None, None]) -> Generator[Block, None, None]:
    """The same blocks in order, each fetched in another thread while the one before is used.

    What ``blocks`` raises is raised here, and it is closed when this generator is.

    >>> list(ahead(block for block in "abc"))
    ['a', 'b', 'c']
    """
    with closing(blocks), ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = thread.submit(next, blocks, None)
            yield block


@contextmanager
def at_once(into: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """One transaction for all blocks: else each is first written to a log, and flushed."""
    into.begin()
    try:
        yield
    except BaseException:
        into.rollback()
        raise
    into.commit()


# Streams of Arrow batches (``__arrow_c_stream__``), copied once into a file of our own.
#
# A stream may give its rows a single time, and counting passes over them several times. What a
# reader gave is kept for as long as the reader lives, so that a plan and two releases of one
# reader see the same rows.

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


def ready(held: Any) -> tuple[Any, Knowledge | Mapping[str, Knowledge]]:
    """The frame as DuckDB registers it, and how its types are known: from its rows, at best."""
    if type(held).__module__.partition(".")[0] != "pandas":
        whole = held.collect() if type(held).__name__ == "LazyFrame" else held
        _refuse_same_names(getattr(whole, "column_names", getattr(whole, "columns", ())))
        return whole, "inferred"
    _refuse_same_names(held.columns)
    loose = {column: as_text(held[column]) for column in held.columns if _is_loose(held[column])}
    return held.assign(**loose) if loose else held, {
        str(column): _known(held[column]) for column in held.columns
    }


def _refuse_same_names(columns: Iterable[object]) -> None:
    """Refuse names that an engine takes for one: an expression would read another column."""
    seen: dict[str, str] = {}
    for column in map(str, columns):
        if column.lower() in seen:
            raise InputError(
                f"the frame has columns {seen[column.lower()]!r} and {column!r}, which are one "
                "name to an engine, because it ignores capitals: rename one of them."
            )
        seen[column.lower()] = column


def _known(series: Any) -> Knowledge:
    """Only pandas's nullable types keep their integers when a value is missing."""
    import pandas

    return "inferred" if getattr(series.dtype, "na_value", None) is pandas.NA else "guessed"


def _is_loose(series: Any) -> bool:
    """Whether the column holds Python objects: DuckDB would guess a type from a sample of them."""
    dtype = getattr(series.dtype, "categories", series).dtype
    return bool(dtype == np.dtype(object))


def as_text(series: Any) -> Any:
    """A column of Python objects as text, in which 7, 7.0 and '7' are one value."""
    return series.astype(object).map(_text, na_action="ignore")


def _text(value: object) -> str | None:
    """One object as text; None for a float that no integer, or more than one, may have become.

    >>> [_text(value) for value in (7, 7.0, np.int64(7), "07", True, 1.5, 2.0**53)]
    ['7', '7', '7', '07', 'true', '1.5', None]
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(value).lower()  # as an engine writes a column of truth values
    if isinstance(value, float | np.floating):
        return _float_text(float(value))
    for kind, text in _TEXTS.items():
        if isinstance(value, kind):
            return text(value)
    return str(value)


def _moment_text(moment: Any) -> str:
    """As a column of times is read: see ``canonical``; an instant to the microsecond.

    >>> _moment_text(datetime(2024, 2, 29, 10, 0, 0, 500_000, UTC))
    '2024-02-29 10:00:00.5+00'
    >>> _moment_text(datetime(2024, 2, 29))
    '2024-02-29'
    """
    instant = moment.tzinfo is not None
    local = (moment.astimezone(UTC) if instant else moment).replace(tzinfo=None)
    nanoseconds = 0 if instant else getattr(local, "nanosecond", 0)
    whole = _clock(local, nanoseconds) + ("+00" if instant else "")
    day = f"{local.year:04}-{local.month:02}-{local.day:02}"
    return day if whole == "00:00:00" else f"{day} {whole}"


def _clock(at: Any, nanoseconds: int = 0) -> str:
    """A time of day, as a column of such is read.

    >>> _clock(time(10, 0, 0, 500_000))
    '10:00:00.5'
    """
    fraction = f"{at.microsecond:06}{nanoseconds:03}".rstrip("0")
    return f"{at:%H:%M:%S}" + (f".{fraction}" if fraction else "")


def _decimal_text(number: Decimal) -> str | None:
    """As a column of decimals is read, whose scale other rows may decide.

    >>> [_decimal_text(Decimal(text)) for text in ("7.00", "-0.50", "1E+3", "-0.0", "NaN")]
    ['7', '-0.5', '1000', '0', None]
    """
    if not number.is_finite():
        return None
    if abs(number.adjusted()) > _MOST_DIGITS:  # in no column of decimals
        return str(number)
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if number else "0"


def _bytes_text(value: bytes) -> str:
    r"""As an engine writes bytes: ASCII that can be printed, and the others by their numbers.

    >>> _bytes_text(b"it's\xff")
    'it\\x27s\\xFF'
    """
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"\\x{byte:02X}" for byte in value)


_MOST_DIGITS = 76
_PLAIN = frozenset(map(chr, range(32, 127))) - frozenset("\"'\\")
_TEXTS: dict[type, Callable[[Any], str | None]] = {
    datetime: _moment_text,
    time: _clock,
    Decimal: _decimal_text,
    bytes: _bytes_text,
}
"""Objects whose own text is not the one that a column of them has."""


def _float_text(number: float) -> str | None:
    """As a column of floats is read: see ``canonical``."""
    if not isfinite(number) or (number.is_integer() and abs(number) >= EXACT):
        return None
    return str(int(number)) if number.is_integer() else str(number)
