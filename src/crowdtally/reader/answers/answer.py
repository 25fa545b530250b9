"""Answers as tables: lists of rows, and single rows, that other programs can take."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from crowdtally.core.display import printable_json
from crowdtally.reader.answers.columns import Column, Labels, columns_of

Row = TypeVar("Row")


def as_json(value: object) -> str:
    """JSON text in which a terminal finds nothing to obey; the same values as without that."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else printable_json(value)


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """What every row of a list has beside its own fields, of which one is ``item``."""

    label: str | None = None
    """What the catalogue calls the item; None without one, or where it says nothing."""
    category: str | None = None
    """The category that the catalogue puts it into; None likewise."""


class AnswerTable:
    """An answer as a table of rows: what a list and a single sum have in common."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in order; the same for every answer of a kind, also for an empty one."""
        raise NotImplementedError

    @property
    def _rows(self) -> Sequence[Any]:
        raise NotImplementedError

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain dictionaries, one for each row."""
        names = [column.name for column in self.columns]
        return [{name: getattr(row, name) for name in names} for row in self._rows]

    def to_json(self) -> str:
        """JSON text; ``docs/answers.md`` has its schema."""
        return as_json(self.to_dicts())

    def to_csv(self) -> str:
        """CSV text with a header; text that a spreadsheet would run begins with an apostrophe."""
        from crowdtally.reader.answers.files import csv_text

        return csv_text(self.columns, self.to_dicts())

    def to_pandas(self) -> Any:
        """A pandas frame."""
        from crowdtally.reader.answers.files import pandas_frame

        return pandas_frame(self.columns, self.to_dicts())

    def to_polars(self) -> Any:
        """A Polars frame."""
        from crowdtally.reader.answers.files import polars_frame

        return polars_frame(self.columns, self.to_dicts())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's stream interface: ``pyarrow.table(answer)``, ``polars.DataFrame(answer)``."""
        from crowdtally.reader.answers.files import relation

        return relation(self.columns, self.to_dicts()).__arrow_c_stream__(requested_schema)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the answer to a new file, whole or not at all.

        The suffix decides how: ``.csv``, ``.json``, ``.parquet`` or ``.xlsx``.

        Raises:
            UsageError: another suffix, or the file exists: nothing is replaced.
        """
        from crowdtally.reader.answers.files import written

        return written(self, path)


@dataclass(frozen=True)
class AnswerList(AnswerTable, Generic[Row]):
    """A list of rows: the base of every answer that is one.

    A subclass is a frozen dataclass, ``class TopList(AnswerList[TopItem])``; ``row_type`` is that
    of its rows: frozen, on :class:`AnswerRow`, with a field ``item``, and otherwise texts, numbers
    or booleans, each perhaps None.
    """

    rows: tuple[Row, ...]
    labelled: tuple[str, ...] = field(default=(), kw_only=True)
    """Which of ``label`` and ``category`` a catalogue gave."""
    item_kind: str | None = field(default=None, kw_only=True)
    """What items are, ``text`` or ``integer``; None: what the rows show."""

    @property
    def notes(self) -> list[str]:
        """What must be said beside the list."""
        return []

    @classmethod
    def row_type(cls) -> type:
        raise NotImplementedError

    @property
    def columns(self) -> tuple[Column, ...]:
        kind = self.item_kind
        if kind is None and self.rows:
            whole = all(isinstance(getattr(row, "item", None), int) for row in self.rows)
            kind = "integer" if whole else "text"
        return columns_of(self.row_type(), self.labelled, kind)

    @property
    def _rows(self) -> Sequence[Any]:
        return self.rows

    def with_labels(self, labels: Labels | Mapping[Any, str | None]) -> Self:
        """The same list with each item's label, and perhaps its category, beside it.

        Raises:
            InputError: an item of the list has no label.
        """
        known = labels if isinstance(labels, Labels) else Labels.of(labels)
        listed: Sequence[Any] = self.rows
        known.refuse_missing([row.item for row in listed])
        rows = tuple(replace(row, **known.beside(row.item)) for row in listed)
        return replace(self, rows=rows, labelled=known.columns)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]
