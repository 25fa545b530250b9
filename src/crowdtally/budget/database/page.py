"""What one transaction sees and writes.

Nothing here knows what an entry means; ``book`` reads and writes through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, select

from crowdtally.budget.database import postgres_functions, structure, tables
from crowdtally.budget.database.failures import damaged
from crowdtally.budget.database.places import File, Place, typed
from crowdtally.budget.errors import LedgerError
from crowdtally.budget.record.chain import Head, Row

_MOST_PARAMETERS = 500
T = TypeVar("T")


@dataclass(frozen=True)
class Header:
    """What the ledger says of itself."""

    id: str
    """The ledger's own random name."""
    head: Head
    """Its last entry."""
    role: str | None = None
    """The PostgreSQL role that writes; ``None`` for readers and in a file."""


class Page:
    """What one transaction sees and writes."""

    def __init__(self, connection: Connection, place: Place, *, writes: bool) -> None:
        self._connection = connection
        self._place = place
        self._writes = writes

    @property
    def in_file(self) -> bool:
        """Whether it is a page of a file, not of a server's tables."""
        return isinstance(self._place, File)

    @property
    def typed(self) -> str:
        """How a command names the ledger."""
        return typed(self._place)

    def header(self) -> Header:
        """The one row; a writer holds it, so that writers wait for each other."""
        rows = self._connection.execute(tables.HEADER).all()
        if len(rows) != 1 or not isinstance(rows[0].version, int):
            raise damaged(self._place)
        facts = rows[0]
        self._require_known(facts.version)
        if not self._writes:
            return self._header(facts.id, facts.number, facts.hash)
        if isinstance(self._place, File):  # the transaction holds the whole file
            return self._header(facts.id, facts.number, facts.hash, facts.closed)
        held = self._connection.execute(postgres_functions.HOLD).one()
        return self._header(held.id, held.number, held.hash, held.closed, held.role)

    def _header(
        self, ledger_id: Any, number: Any, last: Any, closed: Any = None, role: str | None = None
    ) -> Header:  # fmt: skip
        if not (isinstance(ledger_id, str) and isinstance(number, int) and isinstance(last, str)):
            raise damaged(self._place)
        if closed is not None:
            raise LedgerError(f"nothing can be added to the ledger {self._place}: {closed}")
        return Header(ledger_id, Head(number, last), role)

    def _require_known(self, version: int) -> None:
        if version != tables.FORMAT:
            raise LedgerError(
                f"the ledger {self._place} has format {version}, of another version of "
                f"Crowdtally: this one reads format {tables.FORMAT} alone. Nothing was changed. "
                "Use the version that wrote it, or name another ledger with --ledger."
            )

    def rows(self, numbers: Iterable[int]) -> dict[int, Row]:
        """The entries of these numbers, as far as they exist."""
        return {row.number: row for row in self._read(tables.NUMBERED, numbers=list(numbers))}

    def rows_after(self, number: int, most: int | None = None) -> list[Row]:
        """The entries that follow, in order, at most so many."""
        most = most or 2**62
        return list(self._read(tables.FOLLOWING, start=number, most=most))

    def about(self, *these: int) -> list[Row]:
        """The entries about reservations of these numbers, or on these shelves of sources."""
        return [row for some in _portions(these) for row in self._read(tables.ABOUT, these=some)]

    def of_request(self, request_id: str) -> Row | None:
        """The reservation with this request id."""
        return next(self._read(tables.ROW_OF_KEY, of=request_id), None)

    def named(self, names: Sequence[str]) -> set[str]:
        """Which of these names are datasets."""
        execute = self._connection.execute
        return {
            name
            for some in _portions(names)
            for name in execute(tables.NAMED, {"names": some}).scalars()
        }

    def last_of(self, dataset: str) -> tuple[int | None, int | None]:
        """The dataset's last entry: as its own row says, and as the entries say."""
        said, found = self._connection.execute(tables.LAST_OF, {"of": dataset}).one()
        return said, found

    def datasets(self) -> dict[str, int]:
        """Every dataset and its last entry."""
        return {row.name: row.last for row in self._connection.execute(select(tables.DATASETS))}

    def append(self, row: Row, *, first: bool) -> None:
        """Write an entry, the head, and the dataset's last entry (its ``first``, perhaps)."""
        execute = self._connection.execute
        if not isinstance(self._place, File):
            execute(postgres_functions.APPEND, vars(row))
            return
        execute(tables.ADD_ENTRY, vars(row))
        execute(tables.SET_HEAD, {"new_number": row.number, "new_hash": row.hash})
        if first:
            execute(tables.ADD_DATASET, {"name": row.dataset, "last": row.number})
        else:
            execute(tables.SET_LAST, {"of": row.dataset, "new_last": row.number})

    def file_problem(self) -> str | None:
        """What SQLite's own check finds, indexes included; nothing on PostgreSQL."""
        return structure.problem(self._connection) if self.in_file else None

    def recent_file_problem(self, start: int) -> str | None:
        """The same at a bounded cost, at least for the entries that follow."""
        return structure.recent_problem(self._connection, start) if self.in_file else None

    def _read(self, query: Select[Any], **values: object) -> Iterator[Row]:
        for found in self._connection.execute(query, values):
            row = Row(*found)
            if not (
                isinstance(row.number, int) and isinstance(row.dataset, str)
                and isinstance(row.kind, str) and isinstance(row.body, str)
                and isinstance(row.hash, str)
            ):  # fmt: skip
                raise damaged(self._place)
            yield row


def _portions(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """A few hundred at a time: a database limits the number of parameters of a statement."""
    for start in range(0, len(values), _MOST_PARAMETERS):
        yield values[start : start + _MOST_PARAMETERS]
