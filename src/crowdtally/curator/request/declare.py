"""Declaring records (where they are, which column plays which role), and reading lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.core.numbers import whole_number
from crowdtally.core.records import UTC, Join, Quantity, Records, SamePerson
from crowdtally.curator.bounding.rules import LARGEST_LIMIT
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.records import columns
from crowdtally.records.columns import SourceColumn
from crowdtally.records.duckdb import DuckDBEngine, translated
from crowdtally.records.expressions.functions import check_zone
from crowdtally.records.expressions.parse import WHERE, of_context, of_item, row_expression
from crowdtally.records.locate import Sources, locate
from crowdtally.records.matching import refuse_own_list
from crowdtally.records.types import TYPES

Columns: TypeAlias = str | Iterable[str]
Defined: TypeAlias = str | Mapping[str, str]
_LARGEST_QUANTITY = 2**31
_TYPES_ARE = (
    "types are a dict from a column to the name of a type, typed out, such as {'age': 'int64'}; "
    "not df.dtypes, which the records decide"
)


def declare(
    source: object,
    *,
    user: Columns | None = None,
    item: Defined | None = None,
    contexts: Mapping[str, str | None] | Iterable[str] = (),
    record_id: str | None = None,
    joins: Iterable[Any] = (),
    attributes: Columns = (),
    user_per_row: bool = False,
    weight: str | None = None,
    where: str | None = None,
    timezone: str | None = None,
    same_person: object = None,
    quantity: str | None = None,
    max_quantity: int | None = None,
    types: Mapping[str, str] | None = None,
    bounded_to: int | None = None,
    cells_once: bool = False,
) -> Records:
    """The declaration that ``ct.read`` and the command line make."""
    _check_whose(user, user_per_row=user_per_row, bounded_to=bounded_to, cells_once=cells_once)
    for option, column in (
        ("--record-id", record_id), ("--weight", weight), ("--quantity", quantity),
    ):  # fmt: skip
        if column is not None:
            _column(column, option)
    named = _named(contexts)
    name, expression = _defined(item)
    for called, text in named.items():  # refused before any list is read
        if text is not None:
            row_expression(text, of_context(called))
    if expression is not None:
        row_expression(expression, of_item(name))
    if where is not None:
        row_expression(where, WHERE)
    return Records(
        source,
        _users(user),
        name,
        named,
        record_id,
        _joins(joins),
        _columns(attributes, "--attributes"),
        weight,
        expression,
        where,
        UTC if timezone is None else check_zone(timezone),
        _same_person(same_person),
        _quantity(quantity, max_quantity),
        _types(types),
        bounded_to=bounded_to,
        cells_once=cells_once,
    )


def _check_whose(
    user: object, *, user_per_row: object, bounded_to: object, cells_once: object
) -> None:
    """Refuse what says in two ways, or not at all, whose a row is."""
    for name, flag in (("user_per_row", user_per_row), ("cells_once", cells_once)):
        if not isinstance(flag, bool):
            raise UsageError(f"{name} is True or False: received a {type(flag).__name__}.")
    if bounded_to is not None:
        whole_number(bounded_to, "--bounded-to", 1, LARGEST_LIMIT)
    if (user is not None) + bool(user_per_row) + (bounded_to is not None and user is None) != 1:
        raise UsageError(
            "say whose records these are: --user COLUMN; or --user-per-row where each row is one "
            "person; or --bounded-to L where nothing says whose a row is, and nobody has more than "
            "L of them. One of the three."
        )


def _kind(given: object) -> str:
    """What a message calls something of a wrong type: its value may be a frame of records."""
    return "an empty name" if isinstance(given, str) and not given else f"a {type(given).__name__}"


def _column(given: object, option: str, wanted: str = "the name of a column") -> str:
    if not isinstance(given, str) or not given:
        raise UsageError(f"{option} is {wanted}: received {_kind(given)}.")
    return given


def _columns(given: object, option: str) -> tuple[str, ...]:
    """A column, or a list of them; a frame or a mapping is no list of names."""
    if isinstance(given, str):
        return (_column(given, option),)
    is_frame = hasattr(given, "columns")  # which goes through its columns' names
    if is_frame or not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        raise UsageError(f"{option} is a column, or several in a list: received {_kind(given)}.")
    return tuple(_column(name, option, "a column, or several in a list") for name in given)


def _users(given: Columns | None) -> str | tuple[str, ...] | None:
    if given is None:
        return None
    columns = _columns(given, "--user")
    if not columns:
        raise UsageError("--user is a column, or several in a list: received an empty list.")
    if len(set(columns)) != len(columns):
        raise UsageError("--user names a column twice: name each once.")
    if len(columns) > 1 and any("," in name for name in columns):
        raise UsageError(
            "a column whose name has a comma cannot be one of several of --user: the release names "
            "them with commas between them. Rename it."
        )
    return columns if len(columns) > 1 else columns[0]


def _defined(given: Defined | None) -> tuple[str | None, str | None]:
    if given is None or isinstance(given, str):
        return given if given is None else _column(given, "--item"), None
    if not isinstance(given, Mapping) or len(given) != 1:
        raise UsageError(
            "an item is a column, or one name and its expression, such as "
            f"{{'genre': \"split_part(genres, '|', 1)\"}}: received a {type(given).__name__}."
        )
    ((name, expression),) = given.items()
    return _column(name, "--item"), expression


def _named(contexts: object) -> dict[str, str | None]:
    if isinstance(contexts, Mapping):
        return {_column(name, "--context"): how for name, how in contexts.items()}
    if isinstance(contexts, bytes) or not isinstance(contexts, Iterable):
        raise UsageError(
            f"contexts are names of columns, or {{name: expression}}: received {_kind(contexts)}."
        )
    return dict.fromkeys(_columns(contexts, "--context"))


def _joins(given: object) -> tuple[Join, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(
            "joins are a list of pairs, such as [('users.parquet', 'user_id')]: received "
            f"{_kind(given)}."
        )
    return tuple(map(_join, given))


def _join(given: object) -> Join:
    """From ``(source, key)`` or ``(source, (key, the table's key))``."""
    match given:
        case Join():
            return given
        case (source, str(key)):
            return Join(source, key, key)
        case (source, (str(key), str(partner_key))):
            return Join(source, key, partner_key)
    raise UsageError(
        "joins are pairs of a source and its key column, such as [('users.parquet', 'user_id')], "
        "or of a source and both key columns, such as [('films.csv', ('item_id', 'film'))]: "
        f"received a {type(given).__name__} instead of a pair."
    )


def _same_person(given: object) -> SamePerson | None:
    match given:
        case None | SamePerson():
            return given
        case (source, str() | None as person):
            return SamePerson(source, person)
    return SamePerson(given, None)


def _types(given: object) -> dict[str, str]:
    """Types by column, each typed out.

    ``df.dtypes`` is refused: it follows from the rows, so that one user's value would decide how
    everybody's are read.
    """
    if given is None:
        return {}
    if type(given) is not dict:
        raise UsageError(f"{_TYPES_ARE}: received a {type(given).__name__}.")
    for column, kind in given.items():
        _column(column, "a column of --type")
        if type(kind) is not str:
            raise UsageError(f"{_TYPES_ARE}: received a {type(kind).__name__} for {column!r}.")
        if kind not in TYPES:
            raise UsageError(
                f"no type is called {kind!r} (column {column!r}). {did_you_mean(kind, TYPES)}"
            )
    return dict(given)


def _quantity(column: str | None, most: int | None) -> Quantity | None:
    if (column is None) != (most is None):
        raise UsageError(
            "--quantity and --max-quantity go together: the column that says how often a record "
            "counts, and the public bound C of it."
        )
    if column is None:
        return None
    return Quantity(column, whole_number(most, "--max-quantity", 1, _LARGEST_QUANTITY))


def read_list(
    source: object,
    name: str,
    column: str | None = None,
    *,
    apart_from: Records | Sources | None = None,
) -> Axis:
    """The public list in one column of a file or frame, in the file's order.

    ``name`` is the axis, and the default column. ``apart_from`` are the records that the list is
    for, whose own values it must not be.
    """
    located = locate(source)
    if apart_from is not None:
        others = Sources(apart_from) if isinstance(apart_from, Records) else apart_from
        refuse_own_list(name, located.origin, others)
    label = located.label or "the list"
    with DuckDBEngine() as engine:
        schema = engine.open(located, "list")
        column = column or _default_column(schema, name, label)
        values = _values(engine, schema, column, label)
    if values is None:
        raise InputError(f"the list in {label} ({column}) contains a null: remove it.")
    if located.kind == "csv":
        return Axis.plainest(name, values.tolist(), origin=located.origin)
    return Axis(name, values, origin=located.origin)


def _values(
    engine: DuckDBEngine, schema: Mapping[str, SourceColumn], column: str, label: str
) -> NDArray[Any] | None:
    columns.require(column, schema, "the list", label)
    value, sql_type = columns.own(column, schema[column])
    kind = columns.kind_of(sql_type)
    if kind is None:
        raise InputError(
            f"column {column!r} of {label} has type {sql_type}: a list of values "
            "must be text or integers."
        )
    target = "VARCHAR" if kind == "text" else "BIGINT"
    engine.define("typed", f"SELECT CAST({value} AS {target}) AS value FROM list")
    with translated(f"reading {label}"):
        return engine.column("typed", "value")


def _default_column(schema: Collection[str], name: str, label: str) -> str:
    if name in schema:
        return name
    if len(schema) == 1:
        return next(iter(schema))
    raise UsageError(
        f"{label} has several columns and none called {name!r}: say which holds the list, as "
        f"FILE:COLUMN. There are: {', '.join(schema)}."
    )
