"""Column types: which can be a user, which can be matched with a public list."""

from __future__ import annotations

import re
from collections.abc import Mapping

from crowdtally.errors import InputError, did_you_mean
from crowdtally.values.domain import Axis, Kind

_UP_TO_64_BITS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER",
}  # fmt: skip
_INTEGERS = _UP_TO_64_BITS | {"HUGEINT", "UBIGINT", "UHUGEINT"}
_AS_TEXT = {"VARCHAR", "UUID", "BOOLEAN", "DATE"}


def require(name: str, schema: Mapping[str, str], role: str, source: str) -> None:
    """Raise unless the column exists; say which do."""
    if name not in schema:
        raise InputError(f"{source} has no column {name!r} ({role}). {did_you_mean(name, schema)}")


def kind_of(sql_type: str) -> Kind | None:
    """Whether a column of this type is matched as text or as integers, if at all."""
    if sql_type in _INTEGERS:
        return "integer"
    # An ENUM's numbers depend on which values the whole file holds, so only its text is used.
    return "text" if sql_type in _AS_TEXT or sql_type.startswith("ENUM") else None


def same_key(first: str, second: str) -> bool:
    """Whether two types have one equality, so that keys that differ in one differ in the other.

    Between other types an engine converts, and several keys of one may equal a single key of the
    other ('2020-01-01' and '2020-1-1' are one DATE): a record would find several partners.

    >>> same_key("INTEGER", "BIGINT"), same_key("VARCHAR", "DATE"), same_key("DATE", "DATE")
    (True, False, True)
    """
    exact = _INTEGERS - {"UHUGEINT"}  # DuckDB compares HUGEINT with UHUGEINT as floats
    return first == second or {first, second} <= exact


def identity(column: str, sql_type: str, role: str) -> str:
    """SQL for an id column in a form whose equality and hash depend on this row alone."""
    kind = kind_of(sql_type)
    if kind is None and not sql_type.startswith(("DECIMAL", "TIMESTAMP", "BLOB", "TIME")):
        raise InputError(
            f"column {column!r} ({role}) has type {shown(sql_type)}, which cannot identify: "
            "use text or integers (a float that came from missing values can be cast back)."
        )
    if kind == "text":
        return f"CAST({quoted(column)} AS VARCHAR)"
    # Narrow and wide columns hash a negative id differently: one width for all that fit it.
    return f"CAST({quoted(column)} AS BIGINT)" if sql_type in _UP_TO_64_BITS else quoted(column)


def matchable(expression: str, sql_type: str, axis: Axis, source_typed: bool) -> tuple[str, Axis]:
    """SQL for a column, and the public list in the column's type, so that they can be joined."""
    kind = kind_of(sql_type)
    if kind is None:
        raise InputError(
            f"{axis.name!r} has type {shown(sql_type)}, which cannot be matched with a list of "
            "values: store it as text or integers, or turn a context into them, for example "
            '--context "NAME=CAST(floor(COLUMN) AS INTEGER)".'
        )
    loose = not (axis.typed and source_typed)
    converted = axis if kind == axis.kind else axis.as_kind(kind) if loose else None
    if converted is None:
        raise InputError(
            f"the list of values for {axis.name!r} is {axis.kind}, but the records hold {kind} "
            f"({shown(sql_type)}): give the list as {kind}."
        )
    return comparable(expression, sql_type, kind), converted


def comparable(expression: str, sql_type: str, kind: Kind | None) -> str:
    """SQL for a column as text or as 64-bit integers."""
    if kind is None:
        raise InputError(
            f"the item column has type {shown(sql_type)}: items must be text or integers. "
            "Store them so."
        )
    target = "VARCHAR" if kind == "text" else "BIGINT"
    # A 128-bit id outside 64 bits cannot be in a list: null, hence outside the domain.
    return expression if sql_type == target else f"TRY_CAST({expression} AS {target})"


def whole_number(column: str, sql_type: str) -> str:
    """SQL for a weight: how many persons a row stands for."""
    if kind_of(sql_type) != "integer" and sql_type != "VARCHAR":
        raise InputError(
            f"the weight {column!r} has type {sql_type}: it must be a whole number of persons."
        )
    # Beyond 64 bits there is no cast: such a row stands for more persons than there are, and is cut
    # by a later step. Dropped, it would take them all away for one person more.
    value = quoted(column)
    if sql_type == "VARCHAR":
        digits = f"{value} <> '' AND translate({value}, '0123456789', '') = ''"
        beyond = f"CASE WHEN {digits} THEN {2**62} END"
        return f"COALESCE(TRY_CAST({value} AS BIGINT), {beyond})"
    wide = sql_type not in _UP_TO_64_BITS
    return f"TRY_CAST({f'LEAST({value}, {2**62})' if wide else value} AS BIGINT)"


def quoted(name: str) -> str:
    """The name as an SQL identifier.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def shown(sql_type: str) -> str:
    """The type as a message may show it: an ENUM lists values, which may be the records' own.

    >>> shown("ENUM('ana', 'bo')"), shown("BIGINT")
    ('ENUM', 'BIGINT')
    """
    return re.sub(r"ENUM *\(.*\)", "ENUM", sql_type, flags=re.DOTALL)
