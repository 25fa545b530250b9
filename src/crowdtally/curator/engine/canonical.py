"""How a column's type is known, and a reading of its values that does not depend on it.

A stored schema (Parquet, a database's table) is a public fact. A frame's or view's type is not: it
was inferred from its rows, so that one user's value can change it for everybody. ``guest`` among
integers makes a column text; a missing value makes pandas turn integers into floats. So a column
whose type was inferred *is* its canonical text, in which 7, 7.0 and '7' are one value: ids, keys,
listed values and expressions all read that text. Only a type that the curator declares makes
numbers and times of it, value by value: see ``typed``. The source's own value stands beside it,
under a name that no expression can reach.

In a column whose type was *guessed*, integers pass through floats as soon as another row wants it:
by then those of 2^53 and beyond are not the records' own any more. They are left out always:
leaving them out only then would let one user's value decide about everybody's records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Knowledge = Literal["declared", "inferred", "guessed"]
"""How a type is known: from a stored schema; from the rows; from the rows, and through floats."""

EXACT = 2**53
"""From here on different integers are one float."""
_INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}  # fmt: skip
_FLOATS = ("DOUBLE", "FLOAT")
_PLAIN = ("BOOLEAN", "DATE", "TIME", "TIMESTAMP", "UUID", "DECIMAL", "BLOB")


@dataclass(frozen=True)
class SourceColumn:
    """A column of a source, as far as it is known before a row is read."""

    type: str
    """Its type, by DuckDB's name; VARCHAR where it was inferred, if its values have a text."""
    declared: bool = True
    """Whether a stored schema or the curator declares the type."""
    own: str | None = None
    """The type of the source's own values, where they stand beside the column: see ``own_of``."""


def text_of(key: str) -> str:
    """The column beside a join key that holds its canonical text."""
    return f"{key}\u001ftext"


def own_of(column: str) -> str:
    """The column beside a canonical text that holds the source's own value.

    Both names are such that nobody gives them to a column, and expressions cannot read them.
    """
    return f"{column}\u001fown"


def canonical_text(value: str, sql_type: str, knowledge: Knowledge) -> str | None:
    """SQL for a value as text that depends on the value, not on its column's type.

    None where no value of the type can identify or be listed (a list, a map).

    >>> canonical_text("x", "BIGINT", "inferred")
    'CAST(x AS VARCHAR)'
    """
    if sql_type in _INTEGERS:
        text = f"CAST({value} AS VARCHAR)"
        within = f"{value} BETWEEN {1 - EXACT} AND {EXACT - 1}"
        return f"CASE WHEN {within} THEN {text} END" if knowledge == "guessed" else text
    if sql_type in _FLOATS:
        # A missing value makes pandas widen the floats of all others: as wide ones they are read.
        return _float_text(value if sql_type == "DOUBLE" else f"CAST({value} AS DOUBLE)")
    if sql_type == "VARCHAR":
        return _without_long_numbers(value) if knowledge == "guessed" else value
    if sql_type == "TIMESTAMP WITH TIME ZONE":
        # The text of an instant in a zone says its local time: of an instant it must be one text.
        return f"CAST({value} AT TIME ZONE 'UTC' AS VARCHAR) || '+00'"
    text = f"CAST({value} AS VARCHAR)"
    if sql_type.startswith("TIMESTAMP"):
        # Among times dates are times too, at midnight: one time of day makes times of all dates.
        return f"regexp_replace({text}, ' 00:00:00$', '')"
    if sql_type.startswith("DECIMAL") and not sql_type.endswith(",0)"):
        return f"rtrim(rtrim({text}, '0'), '.')"  # the scale too may come from another row
    return text if sql_type.startswith(_PLAIN) else None


def identifying(text: str) -> str:
    """SQL for a canonical text that tells who or which: null where it is a number with a fraction.

    Nobody is called 1.5: ids that are numbers are whole, and 1.5 is what is left of another one. By
    its text, so that a ``guest`` among floats, which makes text of the column, changes nothing.
    Also null: a spelling such as 1e+17, of a float that may have been several integers.
    """
    number, small = f"TRY_CAST({text} AS DOUBLE)", f"lower({text})"
    marks = f"replace(replace(replace({small}, '.', ''), 'e+', ''), 'e-', '') <> {small}"
    spelled = f"translate({small}, '0123456789.e+-', '') = '' AND {marks}"
    whole = f"{number} = floor({number}) AND {number} BETWEEN {1 - EXACT} AND {EXACT - 1}"
    return f"CASE WHEN {spelled} AND NOT ({whole}) THEN NULL ELSE {text} END"


def _float_text(value: str) -> str:
    """A whole number as that integer; what is not a number, or not exact, is null."""
    whole = (
        f"CASE WHEN abs({value}) < {EXACT} THEN CAST(TRY_CAST({value} AS BIGINT) AS VARCHAR) END"
    )
    # DuckDB's NaN equals itself and exceeds everything: like an infinity it is not below 2^53.
    return f"CASE WHEN {value} = floor({value}) THEN {whole} ELSE CAST({value} AS VARCHAR) END"


def _without_long_numbers(value: str) -> str:
    """Text, but null where it is an integer's plain spelling that floats do not hold exactly."""
    long = f"regexp_full_match({value}, '-?[1-9][0-9]{{15,}}')"
    beyond = f"abs(TRY_CAST({value} AS DOUBLE)) >= {EXACT}"
    return f"CASE WHEN {long} AND {beyond} THEN NULL ELSE {value} END"
