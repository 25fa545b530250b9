"""A public catalogue of items as a file: rows of an item, its label and perhaps its category."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crowdtally.core.row_files import RowFile, file_and_column, opened
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.reader.answers.columns import LABELS, Labels, some_items

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}(\.0*)?")


def read_labels(
    source: str | os.PathLike[str], item: str, kind: str, items: Iterable[Any]
) -> Labels:
    """Read the labels of a release's items from ``FILE[:LABEL[,CATEGORY]]``.

    The catalogue's column of items has the name ``item``, else it is the first. Items that only the
    catalogue has are skipped.

    Raises:
        UsageError: there is no such column, or it is not clear which is meant.
        InputError: the file cannot be read, misses items, or has one twice.
    """
    file, named = file_and_column(os.fspath(source))
    with opened(Path(file)) as catalogue:
        columns = _columns(catalogue, file, item, named)
        rows = catalogue.rows([catalogue.columns.index(name) for name in columns])
        wanted = list(items)
        key_of = _whole if kind == "integer" else lambda key: key
        labels, last = _found(rows, set(wanted), key_of, file)
    read = Labels(labels, last if len(columns) > 2 else None, repr(file))
    read.refuse_missing(wanted)
    return read


def _found(
    rows: Iterable[Sequence[str | None]],
    wanted: set[Any],
    key_of: Callable[[str | None], Any],
    file: str,
) -> tuple[Mapping[Any, str | None], Mapping[Any, str | None]]:
    """Label and last column of each wanted item; refuse an item that comes twice."""
    labels, last, again = dict[Any, str | None](), dict[Any, str | None](), dict[Any, None]()
    for row in rows:
        item = key_of(row[0])
        if item in labels:
            again[item] = None
        elif item in wanted:
            labels[item], last[item] = row[1] or None, row[-1] or None
    if again:
        raise InputError(
            f"{file!r} has {some_items(list(again))} more than once: keep one row for each item."
        )
    return labels, last


def _whole(key: str | None) -> int | None:
    """The whole number that a key states, or None."""
    if key is None or not _WHOLE.fullmatch(key.strip()):
        return None
    return int(key.strip().partition(".")[0])


def _columns(catalogue: RowFile, file: str, item: str, named: str | None) -> list[str]:
    """The columns of the item, of its label and perhaps of its category."""
    there = catalogue.columns
    if not there:
        raise InputError(f"{file!r} has no columns: the first line names them.")
    key = item if item in there else there[0]
    chosen = [key, *(_typed(named, file, there) if named else _by_default(key, file, there))]
    for name in chosen:
        if there.count(name) > 1:
            raise InputError(f"{file!r} has two columns {name!r}: rename one.")
    return chosen


def _typed(named: str, file: str, there: Sequence[str]) -> Iterator[str]:
    """The columns that were named, ``LABEL`` or ``LABEL,CATEGORY``; a name with a comma wins."""
    names = [named] if named in there else [name.strip() for name in named.split(",")]
    if len(names) > len(LABELS):
        raise UsageError(
            f"labels are FILE:LABEL or FILE:LABEL,CATEGORY: received {len(names)} columns, "
            f"{named!r}."
        )
    for name in names:
        if name not in there:
            raise UsageError(f"{file!r} has no column {name!r}. {did_you_mean(name, there)}")
        yield name


def _by_default(key: str, file: str, there: Sequence[str]) -> list[str]:
    """The columns called label and category, else the only one beside the item."""
    others = [name for name in there if name != key]
    label, category = LABELS
    if label in others:
        return [label, category] if category in others else [label]
    if len(others) == 1:
        return others
    if not others:
        raise InputError(f"{file!r} has no column beside {key!r}: a label needs one.")
    shown = did_you_mean(label, others)
    raise UsageError(
        f"{file!r} has several columns beside {key!r}: say which holds the label, as {file}:LABEL "
        f"or {file}:LABEL,CATEGORY. {shown}"
    )
