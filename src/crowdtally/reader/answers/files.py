"""Answers as files (CSV, JSON, Parquet, XLSX), and as Arrow, pandas and Polars frames."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Protocol
from unicodedata import normalize

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.files import new_file, refuse_taken
from crowdtally.core.registry import quoted
from crowdtally.errors import UsageError
from crowdtally.reader.answers.columns import Column


class Writable(Protocol):
    """An answer that can become a file."""

    @property
    def columns(self) -> tuple[Column, ...]: ...
    def to_dicts(self) -> list[dict[str, Any]]: ...
    def to_json(self) -> str: ...
    def to_csv(self) -> str: ...


SUFFIXES: Mapping[str, Callable[[Writable, Path], object]] = {
    # The mark of "utf-8-sig" tells a spreadsheet that the bytes are UTF-8.
    ".csv": lambda answer, path: path.write_bytes(answer.to_csv().encode("utf-8-sig")),
    ".json": lambda answer, path: path.write_bytes(f"{answer.to_json()}\n".encode()),
    ".parquet": lambda answer, path: write_parquet(answer.columns, answer.to_dicts(), path),
    ".xlsx": lambda answer, path: path.write_bytes(workbook(answer.columns, answer.to_dicts())),
}
"""How an answer is written, by the file's suffix."""


def checked_target(path: str | os.PathLike[str]) -> Path:
    """The file to write to, as far as that shows beforehand: a known suffix, and a new name."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{str(target)!r} does not say how to write the answer: end it in one of "
            f"{', '.join(SUFFIXES)}."
        )
    refuse_taken(target)
    return target


def written(answer: Writable, path: str | os.PathLike[str]) -> Path:
    target = checked_target(path)
    with new_file(target) as part:
        SUFFIXES[target.suffix.lower()](answer, part)
    return target


# Answers as CSV (RFC 4180), in which a spreadsheet finds nothing to run.

_RUN = frozenset("=+-@\t\r\n|%")
"""Letters with which a spreadsheet, or an import into one, may begin to run a text; also in full
width or small, which some take for the same."""
_CELLS = re.compile(r"(?<=[;\t\r\n])")
"""Where a new cell begins for a program with other separators: it does not know the quotes
of a cell that is not its own."""
_APART = frozenset('",;')
"""What tells cells apart, or might in a reader that guesses."""


def csv_text(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and a line for each row; what is missing is empty."""
    lines = [[_quoted(column.name) for column in columns]]
    lines += [[_cell(row[column.name]) for column in columns] for row in rows]
    return "".join(f"{','.join(line)}\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(as_text(value)) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    """In quotes where it needs them; a carriage return does too, which csv.writer may forget."""
    if text and text.isprintable() and text == text.strip() and not set(text) & _APART:
        return text
    return '"' + text.replace('"', '""') + '"'


def as_text(text: str) -> str:
    """A text that stays text in a spreadsheet: one that could be run begins with an apostrophe.

    >>> as_text("=1+1"), as_text("＝1"), as_text("  @A1"), as_text("Fargo"), as_text("7-Up")
    ("'=1+1", "'＝1", "'  @A1", 'Fargo', '7-Up')

    So does what follows a semicolon, a tab or the end of a line within it: where these tell cells
    apart, a cell begins there.

    >>> as_text("a;=1+1;b")
    "a;'=1+1;b"

    One that begins with apostrophes before such a letter gets one more, so that taking one off
    gives every such text back.

    >>> as_text("'=1+1"), as_text("'tis")
    ("''=1+1", "'tis")
    """
    first, *others = _CELLS.split(text)
    guarded = [f"'{first}" if _first_letter(first, "\t\r\n") in _RUN else first]
    guarded += [f"'{part}" if _first_letter(part) in _RUN else part for part in others]
    return "".join(guarded)


def _first_letter(text: str, also: str = "") -> str:
    """The first letter in its usual form, without apostrophes, blanks and what has no width.

    Blanks in ``also`` are letters here.
    """
    for letter in text:
        if letter in also or (letter.isprintable() and letter not in "' "):
            return normalize("NFKC", letter)
    return ""


# Answers as Arrow, pandas and Polars frames, and as Parquet.

_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN"}
_ARRAYS: dict[str, Any] = {"integer": np.int64, "float": np.float64, "boolean": np.bool_}

Rows = Sequence[Mapping[str, Any]]


def relation(columns: Sequence[Column], rows: Rows) -> Any:
    """The rows as a DuckDB relation, which has a database of its own: Arrow streams stay open."""
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    declared = ", ".join(f"{quoted(one.name)} {_TYPES[one.kind]}" for one in columns)
    connection.execute(f"CREATE TABLE answer ({declared})")
    if rows:
        arrays = {f"c{n}": _array(column, rows) for n, column in enumerate(columns)}
        connection.register("given", arrays)
        connection.execute("INSERT INTO answer FROM given")
        connection.unregister("given")
    return connection.sql("FROM answer")


def _array(column: Column, rows: Rows) -> NDArray[Any]:
    values = [row[column.name] for row in rows]
    if column.kind == "text":
        return np.array([None if one is None else str(one) for one in values], dtype=object)
    missing = [one is None for one in values]
    try:
        filled = np.array([0 if one is None else one for one in values], _ARRAYS[column.kind])
    except OverflowError:
        raise UsageError(
            f"{column.name!r} has a whole number that does not fit 64 bits, which Arrow, Parquet "
            "and frames have: take .to_dicts(), JSON, CSV or XLSX."
        ) from None
    return np.ma.masked_array(filled, mask=missing)


def pandas_frame(columns: Sequence[Column], rows: Rows) -> Any:
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise UsageError('pandas is not installed: pip install "pandas>=2.2".') from None
    return relation(columns, rows).df()


def polars_frame(columns: Sequence[Column], rows: Rows) -> Any:
    try:
        import polars
    except ImportError:
        raise UsageError('Polars is not installed: pip install "polars>=1.5".') from None
    numbers = {"integer": polars.Int64, "float": polars.Float64}
    types = {"text": polars.String, "boolean": polars.Boolean, **numbers}
    given = {one.name: _array(one, rows).tolist() for one in columns}
    return polars.DataFrame(given, schema={one.name: types[one.kind] for one in columns})


def write_parquet(columns: Sequence[Column], rows: Rows, path: str | os.PathLike[str]) -> None:
    """Write the rows as a Parquet file; an OSError if the disk is full or cannot be written."""
    target = str(Path(path)).replace("'", "''")
    made = relation(columns, rows)
    try:
        made.query("answer", f"COPY answer TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.IOException as error:
        code = errno.ENOSPC if "No space left" in str(error) else errno.EIO
        raise OSError(code, os.strerror(code)) from error


# Answers as an XLSX workbook: numbers as numbers, text as text, never a formula or a link.

MOST_ROWS = 1_048_575
"""Rows that a sheet has beside its header."""
LONGEST = 32_767
"""Letters that a cell holds, in UTF-16 units; longer text is cut and ends in an ellipsis."""
_EXACT = 1 << 53
"""Whole numbers up to here are exact in a sheet, whose numbers are floats."""
_SAFE = {f"strings_to_{kind}": False for kind in ("formulas", "urls", "numbers")}


def workbook(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> bytes:
    try:
        import xlsxwriter
    except ImportError:
        raise UsageError(
            'XLSX needs one more package: pip install "crowdtally[xlsx]"; or write .csv.'
        ) from None
    if len(rows) > MOST_ROWS:
        raise UsageError(
            f"a sheet holds {MOST_ROWS:,} rows, and the answer has {len(rows):,}: write .parquet "
            "or .csv, or ask for fewer."
        )
    made = io.BytesIO()
    with xlsxwriter.Workbook(made, {**_SAFE, "in_memory": True}) as book:
        sheet, bold = book.add_worksheet("answer"), book.add_format({"bold": True})
        sheet.freeze_panes(1, 0)
        for place, column in enumerate(columns):
            sheet.write_string(0, place, column.name, bold)
            for number, row in enumerate(rows, start=1):
                _write(sheet, number, place, row[column.name])
    return made.getvalue()


def _write(sheet: Any, row: int, place: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, place, value)
    elif isinstance(value, str):
        sheet.write_string(row, place, cut(value))
    elif isfinite(value) and abs(value) <= _EXACT:
        sheet.write_number(row, place, value)
    else:
        sheet.write_string(row, place, str(value))


def cut(text: str) -> str:
    """A text that a cell can hold.

    >>> cut("Fargo"), len(cut("x" * 40_000)), cut("x" * 40_000)[-2:]
    ('Fargo', 32767, 'x…')
    """
    if len(text.encode("utf-16-le")) <= 2 * LONGEST:
        return text
    return text.encode("utf-16-le")[: 2 * (LONGEST - 1)].decode("utf-16-le", "ignore") + "…"
