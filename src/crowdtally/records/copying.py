"""Frames and streams, read exactly; blocks of rows, read ahead."""

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
    """The same blocks in order, each fetched by another thread while the last one is used.

    What ``blocks`` raises is raised here, and it is closed with this generator.

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
    """One transaction for all blocks; otherwise each would go through a log and be flushed."""
    into.begin()
    try:
        yield
    except BaseException:
        into.rollback()
        raise
    into.commit()


# A stream of Arrow batches (``__arrow_c_stream__``) may give its rows only once, and counting reads
# them several times: they are copied once. The copy lives as long as the reader, so that a plan and
# two releases of one reader see the same rows.

TABLE = "rows"  # the table of the copy
_READER = "reader.duckdb"
_ONE_PASS = ("__next__", "read_next_batch", "read_next")
_kept: dict[int, tempfile.TemporaryDirectory[str] | None] = {}


def is_stream(held: object) -> bool:
    return hasattr(type(held), "__arrow_c_stream__")


def stored(held: Any, folder: Path, name: str) -> Path:
    """A DuckDB file with the stream's rows, in ``folder``; of a reader, one that outlives it."""
    if not any(hasattr(held, sign) for sign in _ONE_PASS) or not _can_be_watched(held):
        path = folder / f"{name}.duckdb"
        _copy(held, path)
        return path
    if id(held) not in _kept:
        _keep(held)
    private = _kept[id(held)]
    if private is None:
        raise InputError(
            f"the {_called(held)} failed when it was read before, and some of its rows are gone: "
            "make it anew."
        )
    return Path(private.name) / _READER


def _keep(held: Any) -> None:
    """Copy a reader's rows; if it fails, remember only that it did."""
    private = tempfile.TemporaryDirectory(prefix="crowdtally-")
    _kept[id(held)] = None
    weakref.finalize(held, _forget, id(held))
    try:
        _copy(held, Path(private.name) / _READER)
    except BaseException:
        private.cleanup()
        raise
    _kept[id(held)] = private


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
    # By way of pyarrow, which knows more types, where it is installed.
    through_pyarrow = find_spec("pyarrow") is not None
    try:
        if through_pyarrow:
            import pyarrow

            batches = pyarrow.RecordBatchReader.from_stream(held)
        else:
            batches = held.__arrow_c_stream__()
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
        advice = " More types are read with pyarrow: pip install 'crowdtally[frames]'."
        raise InputError(
            f"the {_called(held)} cannot be read to its end ({type(error).__name__}): what feeds "
            "it failed, or a column has a type that cannot be read. Cast such a column to text or "
            f"to 64-bit integers, or leave it out.{'' if through_pyarrow else advice}"
        ) from error


def _called(held: object) -> str:
    return f"{type(held).__module__.partition('.')[0]} {type(held).__name__}"


def ready(held: Any) -> tuple[Any, Knowledge | Mapping[str, Knowledge]]:
    """The frame as DuckDB registers it, and how its types are known: inferred at best."""
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
    """Refuse names that differ in case alone: an expression would read the wrong column."""
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
    """Whether the column holds Python objects, whose type DuckDB would guess from a sample."""
    dtype = getattr(series.dtype, "categories", series).dtype
    return bool(dtype == np.dtype(object))


def as_text(series: Any) -> Any:
    """A column of Python objects as text, in which 7, 7.0 and '7' are one value."""
    return series.astype(object).map(_text, na_action="ignore")


def _text(value: object) -> str | None:
    """One object as text; None for a float that may have been another integer, or is no number.

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


# Each object's text is the canonical text (``columns.py``) that a column of its kind would have.


def _moment_text(moment: Any) -> str:
    """A date and time; an instant in UTC, to the microsecond.

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
    """A time of day.

    >>> _clock(time(10, 0, 0, 500_000))
    '10:00:00.5'
    """
    fraction = f"{at.microsecond:06}{nanoseconds:03}".rstrip("0")
    return f"{at:%H:%M:%S}" + (f".{fraction}" if fraction else "")


def _decimal_text(number: Decimal) -> str | None:
    """A decimal without trailing zeros: in a column other rows may decide the scale.

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
    r"""Printable ASCII, and other bytes by their numbers.

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
"""Objects whose own text is not the canonical one."""


def _float_text(number: float) -> str | None:
    if not isfinite(number) or (number.is_integer() and abs(number) >= EXACT):
        return None
    return str(int(number)) if number.is_integer() else str(number)
