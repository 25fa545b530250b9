"""Frames held in memory, in a form that DuckDB takes, and how their columns' types are known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import numpy as np

from crowdtally.curator.engine.canonical import EXACT, Knowledge


def ready(held: Any) -> tuple[Any, Knowledge | Mapping[str, Knowledge]]:
    """The frame as DuckDB registers it, and how its types are known: from its rows, at best."""
    if type(held).__module__.partition(".")[0] != "pandas":
        return (held.collect() if type(held).__name__ == "LazyFrame" else held), "inferred"
    loose = {column: as_text(held[column]) for column in held.columns if _is_loose(held[column])}
    return held.assign(**loose) if loose else held, {
        str(column): _known(held[column]) for column in held.columns
    }


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
    return _time_text(value) if isinstance(value, datetime) else str(value)


def _time_text(time: Any) -> str:
    """As a column of times is read: see ``canonical``; an instant to the microsecond.

    >>> _time_text(datetime(2024, 2, 29, 10, 0, 0, 500_000, UTC))
    '2024-02-29 10:00:00.5+00'
    """
    instant = time.tzinfo is not None
    local = (time.astimezone(UTC) if instant else time).replace(tzinfo=None)
    nanoseconds = 0 if instant else getattr(local, "nanosecond", 0)
    fraction = f"{local.microsecond:06}{nanoseconds:03}".rstrip("0")
    whole = f"{local:%H:%M:%S}" + (f".{fraction}" if fraction else "")
    return f"{local.year:04}-{local.month:02}-{local.day:02} {whole}{'+00' if instant else ''}"


def _float_text(number: float) -> str | None:
    """As a column of floats is read: see ``canonical``."""
    if not isfinite(number) or (number.is_integer() and abs(number) >= EXACT):
        return None
    return str(int(number)) if number.is_integer() else str(number)
