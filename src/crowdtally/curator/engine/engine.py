"""What an engine must do: open sources, run expressions, supply one hash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Any, Protocol, Self

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.curator.engine.relations import Kept
from crowdtally.curator.engine.sources import Located
from crowdtally.errors import CrowdtallyError


class MemoryFullError(CrowdtallyError):
    """The memory does not hold the work; in smaller parts it may."""


class Engine(Protocol):
    """Runs Ibis expressions over records, on one machine or on many.

    Contract: recomputing any part of an expression gives the same result, because nothing here is
    random; only what :meth:`arrays` and :meth:`columns` return leaves the engine.
    """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None: ...

    def open(
        self,
        located: Located,
        name: str,
        keys: Iterable[str] = (),
        types: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[str, SourceColumn]:
        """Define the view ``name`` over a source; return its columns.

        A column whose type was inferred is its canonical text, unless ``types`` declares one of
        ``typed.TYPES``. Beside each of ``keys`` stands its text.
        """

    def in_zone(self, zone: str) -> None:
        """Turn times into days and hours in this zone from now on.

        What was opened before or after keeps its instants, and its texts: a zone decides
        what expressions make of a time, never whose record it is.
        """

    def define(self, name: str, query: str, of: str = "the records") -> None:
        """Define a view by a query in DuckDB's SQL; ``of`` is what a message says it shows."""

    def schema(self, name: str) -> dict[str, str]:
        """Columns and SQL types of a table or view, in DuckDB's names for types."""

    def table(self, name: str) -> ibis.Table:
        """A table or view as an expression."""

    def load_axis(self, name: str, axis: Axis) -> ibis.Table:
        """A table (value, code) of a public list."""

    def place_in(self, value: ibis.Value, axis: Axis) -> ibis.Value | None:
        """The place of a value in a public list, null where it has none, by an expression.

        None where a join with :meth:`load_axis` is as quick.
        """

    def load(self, name: str, columns: Mapping[str, NDArray[Any]]) -> ibis.Table:
        """A table of public or already released columns."""

    def check_row_wise(self, sql: str, what: str, clause: str) -> None:
        """Refuse an expression that this engine does not compute as it stands, row by row.

        ``clause`` is what follows FROM: it decides the types of the columns.
        """

    def hash(self, key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
        """A hash of (key, columns) in 0 … 2^63 − 1; nulls are values like any other."""

    def least(self, table: ibis.Table, limit: int) -> Kept:
        """Each user's ``limit`` smallest priorities, as ``window.least`` defines them.

        Rows without a user, a priority or a cell are not kept.
        """

    def arrays(self, expression: ibis.Table) -> dict[str, NDArray[np.int64]]:
        """The result's integer columns."""

    def columns(self, expression: ibis.Table) -> dict[str, NDArray[Any]]:
        """The result's columns, text as object arrays."""

    def materialise(self, expression: ibis.Table, name: str) -> ibis.Table:
        """Compute once into a temporary table."""

    def parts(self) -> int:
        """Into how many parts, by user, the records are cut so that the work fits the memory.

        From what is known about the view ``source`` without reading it: footers, catalogues,
        bytes. It may be too few: then the work raises :class:`MemoryFullError`.
        """
