"""Columns, lists, features, contexts."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import MOST, OTHER, PARTS, Axis, Features
from crowdtally.core.numbers import whole_number
from crowdtally.core.records import UTC, Join, Quantity, Records, SamePerson
from crowdtally.core.registry import quoted
from crowdtally.core.row_files import file_and_column
from crowdtally.curator.bounding.rules import LARGEST_LIMIT, Selected
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.table_specs import LARGEST_DENSE_AUTO
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.records import columns
from crowdtally.records.columns import SourceColumn
from crowdtally.records.duckdb import DuckDBEngine, translated
from crowdtally.records.expressions.functions import check_zone
from crowdtally.records.expressions.parse import WHERE, of_context, of_item, row_expression
from crowdtally.records.locate import Located, Sources, locate
from crowdtally.records.matching import refuse_own_list
from crowdtally.records.types import TYPES

# Declaring records: where they are and which column plays which role. Nothing is read.

Columns: TypeAlias = str | Iterable[str]
Defined: TypeAlias = str | Mapping[str, str]
"""A column, or a name and its expression."""
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
    _check_expressions(named, name, expression, where)
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


def _check_expressions(
    contexts: Mapping[str, str | None], item: str | None, expression: str | None, where: str | None
) -> None:
    """Refuse what is not computed from one record alone, before any list is read."""
    for name, text in contexts.items():
        if text is not None:
            row_expression(text, of_context(name))
    if expression is not None:
        row_expression(expression, of_item(item))
    if where is not None:
        row_expression(where, WHERE)


def _kind(given: object) -> str:
    """What a message calls something of a wrong type: its value may be a frame of records."""
    return "an empty name" if isinstance(given, str) and not given else f"a {type(given).__name__}"


def _column(given: object, option: str, wanted: str = "the name of a column") -> str:
    if not isinstance(given, str) or not given:
        raise UsageError(f"{option} is {wanted}: received {_kind(given)}.")
    return given


def _columns(given: object, option: str) -> tuple[str, ...]:
    """A column, or a list of them; what is iterable but no list of names is not one."""
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
    """From a source, or from ``(source, column)``."""
    match given:
        case None | SamePerson():
            return given
        case (source, str() | None as person):
            return SamePerson(source, person)
    return SamePerson(given, None)


def _types(given: object) -> dict[str, str]:
    """Types by column, each typed out.

    ``df.dtypes`` is refused: what a frame says of its columns follows from its rows, so that one
    user's value would again decide how everybody's are read.
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

    Args:
        source: what ``locate`` takes.
        name: the axis the list is for.
        column: where it stands; by default the column called ``name``, else the only one.
        apart_from: the records that the list is for, whose own values it must not be.
    """
    located = locate(source)
    if apart_from is not None:
        others = Sources(apart_from) if isinstance(apart_from, Records) else apart_from
        refuse_own_list(name, located.origin, others)
    label = located.label or "the list"
    with DuckDBEngine() as engine:
        schema = engine.open(located, "list")
        column = column or _default_column(schema, name, label)
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
            values = engine.column("typed", "value")
    if values is None:
        raise InputError(f"the list in {label} ({column}) contains a null: remove it.")
    if located.kind == "csv":
        return Axis.plainest(name, values.tolist(), origin=located.origin)
    return Axis(name, values, origin=located.origin)


def _default_column(schema: Collection[str], name: str, label: str) -> str:
    if name in schema:
        return name
    if len(schema) == 1:
        return next(iter(schema))
    raise UsageError(
        f"{label} has several columns and none called {name!r}: say which holds the list, as "
        f"FILE:COLUMN. There are: {', '.join(schema)}."
    )


# Public features of items from a file: an item column, and columns of features.
#
# Nothing of the records is read here, and a file of theirs is refused: which features an item
# has, and which exist, must not depend on anybody.

_LARGEST = 2**26
"""The most items × features: half a gigabyte of shares."""


def read_features(given: str | os.PathLike[str], items: Axis, sources: Sources) -> Features:
    """The features of every item of the list.

    Args:
        given: ``FILE`` or ``FILE:ITEM_COLUMN``; without a column the one that is called as the
            items are, else the first. Every other column is a group of features. Several rows of
            an item give it equal shares of each of its features; without any it is "other".
        items: the public list. Items of the file that are not in it are ignored.
        sources: the records, whose own tables features must not come from.
    """
    file, named = file_and_column(os.fspath(given))
    located = locate(file)
    _refuse_own(located, sources)
    label = located.label or file
    with DuckDBEngine() as engine:
        schema = engine.open(located, "features")
        item = _item_column(schema, named, items.name, label)
        groups = [column for column in schema if column != item]
        _check_columns(schema, item, groups, label)
        places = {str(value): place for place, value in enumerate(items.values.tolist())}
        found = [_group(engine, item, column, places) for column in groups]
    if not any(group.values for group in found):
        raise InputError(
            f"none of the {len(items):,} items is in column {item!r} of {label} with a feature: "
            f"say which column holds the items, as --features '{file}:COLUMN', and spell them "
            "as the list does."
        )
    _check_size(found, len(items), label)
    return _made(found, len(items))


@dataclass(frozen=True)
class _Group:
    """One column of features."""

    column: str
    values: tuple[str, ...]
    """The features that a listed item has, sorted."""
    of: Mapping[int, Sequence[int]]
    """By the place of an item, which of them it has, ascending."""


def _refuse_own(located: Located, sources: Sources) -> None:
    for table in sources.about_users:
        if located.origin.overlaps(table.origin):
            whose = "the records'" if table is sources.records else "the users'"
            raise UsageError(
                f"--features is {whose} own table ({table.label or 'held in memory'}), so it would "
                "tell what somebody has. Give features that are known without the records, such as "
                "a catalogue of the items."
            )


def _item_column(
    schema: Mapping[str, SourceColumn], named: str | None, item: str, label: str
) -> str:
    if named is not None:
        columns.require(named, schema, "the items of --features", label)
        return named
    return item if item in schema else next(iter(schema))


def _check_columns(
    schema: Mapping[str, SourceColumn], item: str, groups: Sequence[str], label: str
) -> None:
    if not groups:
        raise InputError(
            f"{label} has no column beside the items' ({item!r}): --features needs one or more "
            "columns of features, such as a genre."
        )
    for column in (item, *groups):
        _, sql_type = columns.own(column, schema[column])
        if columns.kind_of(sql_type) is None:
            raise InputError(
                f"column {column!r} of {label} has type {sql_type}: items and features "
                "are text or integers. Cut other numbers into classes, or leave the column out."
            )


def _group(engine: DuckDBEngine, item: str, column: str, places: Mapping[str, int]) -> _Group:
    """The features of one column, of the items that are listed."""
    rows = engine.arrow(
        f"SELECT DISTINCT CAST({quoted(item)} AS VARCHAR) AS item, "
        f"CAST({quoted(column)} AS VARCHAR) AS value FROM features "
        f"WHERE {quoted(item)} IS NOT NULL AND {quoted(column)} IS NOT NULL"
    )
    pairs = zip(rows["item"].to_pylist(), rows["value"].to_pylist(), strict=True)
    known = sorted((places[name], value) for name, value in pairs if name in places)
    values = tuple(sorted({value for _, value in known}))
    numbers = {value: number for number, value in enumerate(values)}
    of: dict[int, list[int]] = {}
    for place, value in known:
        of.setdefault(place, []).append(numbers[value])
    return _Group(column, values, {place: sorted(found) for place, found in of.items()})


def _check_size(found: Sequence[_Group], items: int, label: str) -> None:
    number = sum(len(group.values) + 1 for group in found)
    if number > MOST or number * items > _LARGEST:
        widest = max(found, key=lambda group: len(group.values))
        raise InputError(
            f"{label} has {number:,} features of {items:,} items ({len(widest.values):,} in column "
            f"{widest.column!r}): at most {MOST:,}, and {_LARGEST:,} items times features, are "
            "used. Give a file with fewer columns, or with classes of them."
        )


def _made(found: Sequence[_Group], items: int) -> Features:
    names: list[str] = []
    groups: list[int] = []
    blocks: list[NDArray[np.int64]] = []
    for number, group in enumerate(found):
        values, shares = _shares(group, items)
        names += [f"{group.column}={value}" for value in values]
        groups += [number] * len(values)
        blocks.append(shares)
    shares = np.concatenate(blocks, axis=1)
    told = (tuple(group.column for group in found), tuple(names), tuple(groups))
    digest = hashlib.sha256(json.dumps(told).encode())
    digest.update(np.ascontiguousarray(shares, dtype="<i8").tobytes())
    return Features(*told, shares, digest.hexdigest())


def _shares(group: _Group, items: int) -> tuple[list[str], NDArray[np.int64]]:
    """The group's features, "other" among them where an item has none, and all shares."""
    values = list(group.values)
    if OTHER not in values and len(group.of) < items:
        values.append(OTHER)
    shares = np.zeros((items, len(values)), dtype=np.int64)
    for place in range(items):
        has = group.of.get(place) or [values.index(OTHER)]
        equal, more = divmod(PARTS, len(has))
        shares[place, has] = equal
        shares[place, has[:more]] += 1  # so that they add up to all parts
    return values, shares


# What may be said about contexts: which are a property of the user, and features of items.


def check_contexts(asked: Asked) -> None:
    """Refuse declarations about contexts that do not fit them, or that nothing would use."""
    rule = asked.rule
    if not isinstance(rule, Auto | Selected):
        return
    contexts = list(asked.records.contexts) if asked.records.item is not None else []
    _check_per_user(rule.per_user, contexts)
    if isinstance(rule, Selected):
        return
    if rule.aim == "recommend" and not contexts:
        raise UsageError(
            "--for recommend is for what to show in each context, and there are no contexts: add "
            "--context NAME, or remove --for recommend."
        )
    if asked.options["features"] is not None:
        _check_features(rule, contexts)
    size = asked.domain.contexts_size if asked.domain is not None else 1
    if size > LARGEST_DENSE_AUTO:
        raise UsageError(
            f"the contexts have {size:,} combinations, and a total is released of each: at most "
            f"{LARGEST_DENSE_AUTO:,}. Shorten the lists, use fewer contexts, or name a method, "
            "such as --bounding sra --publishing filter-priority --size S."
        )


def with_features(asked: Asked, sources: Sources) -> Asked:
    """With the features that were asked for, read from their file."""
    given, rule = asked.options["features"], asked.rule
    if given is None or not isinstance(rule, Auto) or asked.domain is None:
        return asked
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"--features is the path of a file: received a {type(given).__name__}.")
    features = read_features(given, asked.domain.items, sources)
    return replace(asked, rule=replace(rule, features=features))


def _check_per_user(named: tuple[str, ...], contexts: list[str]) -> None:
    if not named:
        return
    if not contexts:
        raise UsageError(
            "--context-per-user names contexts that are a property of the user, and there are no "
            "contexts: add --context NAME, or remove --context-per-user."
        )
    for name in named:
        if name not in contexts:
            raise UsageError(
                f"--context-per-user names {name!r}, which is no context. "
                f"{did_you_mean(name, contexts)}"
            )
    others = [name for name in contexts if name not in named]
    if others:
        raise UsageError(
            f"contexts are counted together, and {others[0]!r} is not in --context-per-user: a "
            "user may then be in several of their combinations, so that none is a property of "
            f"hers. Name all of them, --context-per-user '{','.join(contexts)}', if each has one "
            "value per user; else remove --context-per-user, or make a release for each."
        )


def _check_features(rule: Auto, contexts: list[str]) -> None:
    if not contexts:
        raise UsageError(
            "--features helps to tell what users of each context like, and there are no contexts: "
            "add --context NAME --context-per-user NAME, or remove --features."
        )
    if not rule.per_user:
        raise UsageError(
            "--features is used where contexts are a property of the user: add --context-per-user "
            f"'{','.join(contexts)}' if each user has one value, or remove --features."
        )
    if rule.aim == "top":
        raise UsageError(
            "--for top spends nothing on what users of each context like: remove --features, or "
            "use --for recommend or --for counts."
        )
