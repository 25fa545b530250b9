"""SQL for columns by how their types are known: canonical texts, ids, listed values, weights."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from crowdtally.core.domain import Axis, Kind, plain_integer
from crowdtally.core.registry import quoted
from crowdtally.errors import InputError, did_you_mean

# How a column's type is known, and a reading of its values that does not depend on it.
#
# A stored schema (Parquet, a database's table) is a public fact. A frame's or view's type is not:
# it was inferred from its rows, so one user's value can change it for everybody (``guest`` makes a
# column of integers text; a missing value makes pandas turn integers into floats). So a column of
# inferred type *is* its canonical text, in which 7, 7.0 and '7' are one value: ids, keys, listed
# values and expressions all read that text. Only a type that the curator declares makes numbers and
# times of it, value by value: see ``types.typed``. The source's own value stands beside it, under a
# name that no expression can reach.
#
# In a column of *guessed* type one row can make floats of all integers; those of 2^53 and beyond
# are then inexact. They are always left out: leaving them out only when that happened would let
# one user's value decide about everybody's records.

Knowledge = Literal["declared", "inferred", "guessed"]
"""How a type is known: from a stored schema; from the rows; from the rows, and through floats."""

EXACT = 2**53  # from here on different integers are one float
_UP_TO_64_BITS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
}  # fmt: skip
_INTEGERS = _UP_TO_64_BITS | {"HUGEINT", "UBIGINT", "UHUGEINT"}
_FLOATS = ("DOUBLE", "FLOAT")
_PLAIN = ("BOOLEAN", "DATE", "TIME", "TIMESTAMP", "UUID", "DECIMAL", "BLOB")
_TEXT_KINDS = {"VARCHAR", "UUID", "BOOLEAN", "DATE"}


@dataclass(frozen=True)
class SourceColumn:
    """What is known of a source's column before a row is read."""

    type: str
    """DuckDB's name of the type; VARCHAR where it was inferred, if the values have a text."""
    declared: bool = True
    """Whether a stored schema or the curator declares the type."""
    own: str | None = None
    """The type of the source's own values, where they stand beside the column: see ``own_of``."""


def text_of(key: str) -> str:
    """The column beside a join key that holds its canonical text; no expression can name it."""
    return f"{key}\u001ftext"


def own_of(column: str) -> str:
    """The column beside a canonical text with the source's own value; no expression can name it."""
    return f"{column}\u001fown"


def as_text(value: str, sql_type: str) -> str:
    return value if sql_type == "VARCHAR" else f"CAST({value} AS VARCHAR)"


def canonical_text(value: str, sql_type: str, knowledge: Knowledge) -> str | None:
    """SQL for a value as text that depends on the value, not on its column's type.

    None for lists, maps and other types whose values can neither identify nor be listed.

    >>> canonical_text("x", "BIGINT", "inferred")
    'CAST(x AS VARCHAR)'
    """
    if sql_type in _INTEGERS:
        text = f"CAST({value} AS VARCHAR)"
        within = f"{value} BETWEEN {1 - EXACT} AND {EXACT - 1}"
        return f"CASE WHEN {within} THEN {text} END" if knowledge == "guessed" else text
    if sql_type in _FLOATS:
        # A missing value makes pandas widen the floats of all rows, so all are read as wide ones.
        return _float_text(value if sql_type == "DOUBLE" else f"CAST({value} AS DOUBLE)")
    if sql_type == "VARCHAR":
        return _without_long_numbers(value) if knowledge == "guessed" else value
    return _plain_text(value, sql_type) if sql_type.startswith(_PLAIN) else None


def _plain_text(value: str, sql_type: str) -> str:
    if sql_type == "TIMESTAMP WITH TIME ZONE":
        # DuckDB writes an instant in local time; one instant must have one text in every zone.
        return f"CAST({value} AT TIME ZONE 'UTC' AS VARCHAR) || '+00'"
    text = f"CAST({value} AS VARCHAR)"
    if sql_type.startswith("TIMESTAMP"):
        # One time of day in a column turns all its dates into times at midnight.
        return f"regexp_replace({text}, ' 00:00:00$', '')"
    if sql_type.startswith("DECIMAL") and not sql_type.endswith(",0)"):
        return f"rtrim(rtrim({text}, '0'), '.')"  # the scale too may come from another row
    return text


def identifying(text: str) -> str:
    """SQL for a canonical text as an id: null where it is a number with a fraction.

    Ids that are numbers are whole: 1.5 is what is left of another id. The text decides, so that a
    ``guest`` among floats, which makes the column text, changes nothing. Also null: a spelling such
    as 1e+17, of a float that may have been several integers.
    """
    number, small = f"TRY_CAST({text} AS DOUBLE)", f"lower({text})"
    marks = f"replace(replace(replace({small}, '.', ''), 'e+', ''), 'e-', '') <> {small}"
    spelled = f"translate({small}, '0123456789.e+-', '') = '' AND {marks}"
    whole = f"{number} = floor({number}) AND {number} BETWEEN {1 - EXACT} AND {EXACT - 1}"
    return f"CASE WHEN {spelled} AND NOT ({whole}) THEN NULL ELSE {text} END"


def _float_text(value: str) -> str:
    """A float as text, a whole one as its integer; null where it is not exact or no number."""
    whole = (
        f"CASE WHEN abs({value}) < {EXACT} THEN CAST(TRY_CAST({value} AS BIGINT) AS VARCHAR) END"
    )
    # DuckDB's NaN equals itself and exceeds everything: like an infinity it is not below 2^53.
    return f"CASE WHEN {value} = floor({value}) THEN {whole} ELSE CAST({value} AS VARCHAR) END"


def _without_long_numbers(value: str) -> str:
    """Text; null where it spells an integer that floats do not hold exactly."""
    long = f"regexp_full_match({value}, '-?[1-9][0-9]{{15,}}')"
    beyond = f"abs(TRY_CAST({value} AS DOUBLE)) >= {EXACT}"
    return f"CASE WHEN {long} AND {beyond} THEN NULL ELSE {value} END"


def require(name: str, schema: Collection[str], role: str, source: str) -> None:
    if name not in schema:
        raise InputError(f"{source} has no column {name!r} ({role}). {did_you_mean(name, schema)}")


def kind_of(sql_type: str) -> Kind | None:
    """Whether a column of this type is matched as text or as integers, if at all."""
    if sql_type in _INTEGERS:
        return "integer"
    # An ENUM's numbers depend on which values the whole file holds, so only its text is used.
    return "text" if sql_type in _TEXT_KINDS or sql_type.startswith("ENUM") else None


def same_key(first: str, second: str) -> bool:
    """Whether keys of two types are equal only where they are one value.

    Other types an engine converts, and several keys of one may equal a single key of the other
    ('2020-01-01' and '2020-1-1' are one DATE): a record would find several partners.

    >>> same_key("INTEGER", "BIGINT"), same_key("VARCHAR", "DATE"), same_key("DATE", "DATE")
    (True, False, True)
    """
    exact = _INTEGERS - {"UHUGEINT"}  # DuckDB compares HUGEINT with UHUGEINT as floats
    return first == second or {first, second} <= exact


def text_and_integer(first: str, second: str) -> bool:
    """Whether one of two types is text and the other an integer.

    >>> text_and_integer("VARCHAR", "BIGINT"), text_and_integer("VARCHAR", "DATE")
    (True, False)
    """
    return "VARCHAR" in (first, second) and not {first, second}.isdisjoint(_INTEGERS)


def own(name: str, column: SourceColumn) -> tuple[str, str]:
    """SQL for the values that the source itself holds, and their type, which other rows may decide.

    For public lists, for weights, and to know a missing value from one without a text.
    """
    return (quoted(name), column.type) if column.own is None else (quoted(own_of(name)), column.own)


def identity(name: str, column: SourceColumn, role: str) -> str:
    """SQL for an id column in a form whose equality and hash depend on this row alone."""
    value, sql_type = quoted(name), column.type
    kind = kind_of(sql_type)
    if kind is None and not sql_type.startswith(("DECIMAL", "TIMESTAMP", "BLOB", "TIME")):
        raise InputError(
            f"column {name!r} ({role}) has type {shown(sql_type)}, which cannot identify: "
            "use text or integers (a float that came from missing values can be cast back)."
        )
    if kind == "text":
        text = as_text(value, sql_type)
        return text if column.declared else identifying(text)
    # Narrow and wide columns hash a negative id differently: one width for all that fit it.
    return f"CAST({value} AS BIGINT)" if sql_type in _UP_TO_64_BITS else value


def identity_text(name: str, column: SourceColumn, role: str) -> str:
    """SQL for an id column as its canonical text, in which 7 and '7' are one value.

    Only types whose text is the same on every engine, and different for different values: a time's
    text depends on the zone.
    """
    value, sql_type = quoted(name), column.type
    whole_decimal = sql_type.startswith("DECIMAL") and sql_type.endswith(",0)")
    if kind_of(sql_type) is None and not whole_decimal:
        raise InputError(
            f"column {name!r} ({role}) has type {shown(sql_type)}, which cannot be part of an id "
            "of several columns, or be looked up in --same-person: use text, integers or dates."
        )
    text = as_text(value, sql_type)
    return text if column.declared else identifying(text)


def matchable(value: str, sql_type: str, kind: Kind, name: str) -> str:
    """SQL for a value as a public list's kind; null, so outside the list, where it has none.

    The list alone decides the kind, because the kind is published. Text is an integer only in its
    plain spelling: '07' and '7' are two texts, and may be two items.
    """
    held = kind_of(sql_type)
    if held is None:
        raise InputError(
            f"{name!r} has type {shown(sql_type)}, which cannot be matched with a list of "
            "values: store it as text or integers, or turn a context into them, for example "
            '--context "NAME=CAST(floor(COLUMN) AS INTEGER)".'
        )
    if kind == "text":
        return as_text(value, sql_type)
    if held == "integer":
        # A 128-bit id outside 64 bits cannot be in a list: null, hence outside the domain.
        return value if sql_type == "BIGINT" else f"TRY_CAST({value} AS BIGINT)"
    if sql_type != "VARCHAR" and not sql_type.startswith("ENUM"):
        raise InputError(
            f"the list of values for {name!r} is integer, but the records hold {shown(sql_type)}: "
            "give the list as text."
        )
    number = f"TRY_CAST({value} AS BIGINT)"
    return f"CASE WHEN CAST({number} AS VARCHAR) = {value} THEN {number} END"


def refuse_hopeless(axis: Axis, column: SourceColumn) -> None:
    """Refuse a list of text, none of it an integer, for a column that is declared as integer."""
    if not column.declared or kind_of(column.type) != "integer" or axis.kind == "integer":
        return
    if all(plain_integer(text) is None for text in axis.values.tolist()):
        raise InputError(
            f"the list of values for {axis.name!r} is text, but the records hold integer "
            f"({shown(column.type)}): give the list as integers."
        )


def discovered(name: str, column: SourceColumn) -> str:
    """SQL for values without a public list, in their declared type or as text."""
    value, sql_type = quoted(name), column.type
    kind = kind_of(sql_type)
    if kind is None:
        raise InputError(
            f"column {name!r} has type {shown(sql_type)}: what is discovered must be text or "
            "integers. Store it so, or compute them, for example --context "
            '"NAME=CAST(floor(COLUMN) AS INTEGER)".'
        )
    return matchable(value, sql_type, kind, name)


def quantity(name: str, column: SourceColumn) -> str:
    """SQL for how often a record counts; null where it is no whole number.

    Where the type was inferred, the canonical text is read: one user's quantity can turn a frame's
    whole column into floats or text, and 7, 7.0 and '7' must stay one quantity.
    """
    value, sql_type = quoted(name), column.type
    if sql_type in _FLOATS:
        return _whole_float(value)
    if sql_type == "VARCHAR" or sql_type.startswith("DECIMAL"):
        # Where numbers were floats once, as in a CSV file that pandas wrote, 2 is spelled 2.0.
        return _digits(f"regexp_replace(trim({as_text(value, sql_type)}), '[.]0+$', '')")
    return whole_number(name, column, role="the quantity", of="at least 1")


def whole_number(
    name: str, column: SourceColumn, role: str = "the weight", of: str = "persons"
) -> str:
    """SQL for a weight (how many persons a row stands for) or another whole number.

    A number beyond 64 bits is cut, here and by a later step. If its row were dropped instead, one
    more person would take all of its persons away. The source's own value is read, because a number
    of 2^53 and beyond may have no text.
    """
    value, sql_type = own(name, column)
    if sql_type == "VARCHAR":
        return _digits(value)
    if sql_type in _FLOATS and column.own is not None:
        return _whole_float(value)
    if kind_of(sql_type) != "integer":
        raise InputError(
            f"{role} {name!r} has type {shown(sql_type)}: it must be a whole number of {of}."
        )
    number = f"TRY_CAST({value} AS BIGINT)"
    if sql_type in _UP_TO_64_BITS:
        return number
    # Not LEAST(), which passes over a null: a missing weight would be the largest.
    return f"CASE WHEN {value} > {2**62} THEN {2**62} ELSE {number} END"


def _whole_float(value: str) -> str:
    """A whole float as an integer, cut where floats have no exact integers; else null."""
    # NaN exceeds everything, and an infinity is no whole number. From 2^53 on every float is one;
    # Spark's floor() is an integer, which has none so large.
    whole = f"({value} = floor({value}) OR {value} >= {2.0**53}) AND {value} BETWEEN 0 AND 1e300"
    return f"CASE WHEN {whole} THEN CAST(LEAST({value}, {2.0**52}) AS BIGINT) END"


def _digits(value: str) -> str:
    """Digits with spaces around them as an integer, cut where it is too long; else null."""
    bare = f"trim({value})"
    digits = f"{bare} <> '' AND translate({bare}, '0123456789', '') = ''"
    significant = f"ltrim({bare}, '0')"
    number = f"TRY_CAST('0' || {significant} AS BIGINT)"
    return (
        f"CASE WHEN {digits} THEN "
        f"CASE WHEN length({significant}) > 18 THEN {2**62} ELSE {number} END END"
    )


def shown(sql_type: str) -> str:
    """The type as a message may show it: an ENUM lists values, which may be the records' own.

    >>> shown("ENUM('ana', 'bo')"), shown("BIGINT")
    ('ENUM', 'BIGINT')
    """
    return re.sub(r"ENUM *\(.*\)", "ENUM", sql_type, flags=re.DOTALL)
