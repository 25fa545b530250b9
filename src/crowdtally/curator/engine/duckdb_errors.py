"""DuckDB's errors as ours, without the values that its messages quote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from crowdtally.curator.engine.engine import MemoryFullError
from crowdtally.errors import CrowdtallyError, InputError, UsageError


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """DuckDB's errors as ours, without the values that its messages quote."""
    try:
        yield
    except duckdb.Error as error:
        raise _translate(error, doing) from error


def _translate(error: duckdb.Error, doing: str) -> CrowdtallyError:
    text = str(error)
    ragged = re.search(r"CSV Error on Line: (\d+)", text)
    if ragged:
        expected = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        detail = (
            f"has {expected[2]} fields where the header has {expected[1]}"
            if expected
            else "is not well-formed CSV (quotes or encoding)"
        )
        return InputError(f"while {doing}: line {ragged[1]}{_file(text)} {detail}: mend the file.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return MemoryFullError(
            f"while {doing}: the engine ran out of memory; free memory or use a larger machine."
        )
    if "No space left" in text:
        return CrowdtallyError(f"while {doing}: the disk is full; free space and run again.")
    if isinstance(error, duckdb.CatalogException):
        missing = re.search(r"(Function|Type) with name \"?(\w+)\"? does not exist", text)
        what = f"the {missing[1].lower()} {missing[2]}" if missing else "a function, type or table"
        return UsageError(f"while {doing}: {what} does not exist; check its spelling.")
    if isinstance(error, duckdb.BinderException):
        return InputError(
            f"while {doing}: an expression does not fit the types of its columns; add a cast, such "
            "as CAST(column AS INTEGER)."
        )
    damage = duckdb.IOException, duckdb.InvalidInputException, duckdb.SerializationException
    # What DuckDB's Parquet reader throws at broken pages and footers has no class of its own.
    if isinstance(error, damage) or type(error) is duckdb.Error:
        return InputError(
            f"while {doing}: a file is damaged, cut off or not of the kind its name says; "
            "make it again or restore a good copy."
        )
    return CrowdtallyError(
        f"while {doing}: the engine stopped ({type(error).__name__}); --debug shows its own words."
    )


def _file(text: str) -> str:
    """Which of several files DuckDB speaks of: its own words, unless a record imitates them."""
    named = re.findall(r"^ *file *= *(.+)$", text, flags=re.MULTILINE)
    return f" of {named[-1]!r}" if named and Path(named[-1]).is_file() else ""
