"""Public features of items from a file: an item column, and columns of features.

Nothing of the records is read here, and a file of theirs is refused: which features an item has,
and which exist, must not depend on anybody.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import MOST, OTHER, PARTS, Axis, Features
from crowdtally.core.registry import quoted
from crowdtally.core.row_files import file_and_column
from crowdtally.errors import InputError, UsageError
from crowdtally.records import columns
from crowdtally.records.columns import SourceColumn
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import Located, Sources, locate

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
    """Its name."""
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
