"""Answers as an XLSX workbook: numbers as numbers, text as text, never a formula or a link."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from crowdtally.errors import UsageError
from crowdtally.reader.answers.columns import Column

MOST_ROWS = 1_048_575
"""Rows that a sheet has beside its header."""
LONGEST = 32_767
"""Letters that a cell holds, in UTF-16 units; longer text is cut and ends in an ellipsis."""
_EXACT = 1 << 53
"""Whole numbers up to here are exact in a sheet, whose numbers are floats."""
_SAFE = {
    "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False,
}  # fmt: skip


def workbook(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The rows as a workbook of one sheet, ``answer``."""
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
