"""Transactions on a ledger in SQLite or PostgreSQL."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Select, Transaction, select
from sqlalchemy.exc import DBAPIError

from crowdtally.ledger.chain import Head, Row
from crowdtally.ledger.database import postgres, schema, sqlite
from crowdtally.ledger.database.failures import (
    damaged,
    in_words,
    missing,
    not_a_ledger,
    other_functions,
    outcome_unknown,
    retriable,
)
from crowdtally.ledger.database.location import File, Place, Server, typed
from crowdtally.ledger.database.postgres import are_current, make_functions
from crowdtally.ledger.database.schema import is_ledger, make_tables
from crowdtally.ledger.errors import LedgerError

# What one transaction sees and writes.
#
# Nothing here knows what an entry means; ``book`` reads and writes through it.

_MOST_PARAMETERS = 500
T = TypeVar("T")


@dataclass(frozen=True)
class Header:
    id: str
    head: Head
    role: str | None = None
    """The PostgreSQL role that writes; ``None`` for readers and in a file."""


class Page:
    def __init__(self, connection: Connection, place: Place, *, writes: bool) -> None:
        self._connection = connection
        self._place = place
        self._writes = writes

    @property
    def in_file(self) -> bool:
        return isinstance(self._place, File)

    @property
    def typed(self) -> str:
        return typed(self._place)

    def header(self) -> Header:
        """The one row; a writer holds it, so that writers wait for each other."""
        rows = self._connection.execute(schema.HEADER).all()
        if len(rows) != 1 or not isinstance(rows[0].version, int):
            raise damaged(self._place)
        found, role = rows[0], None
        self._require_known(found.version)
        if self._writes and not self.in_file:  # a file is held by the transaction itself
            found = self._connection.execute(postgres.HOLD).one()
            role = found.role
        number, last = found.number, found.hash
        if not (isinstance(found.id, str) and isinstance(number, int) and isinstance(last, str)):
            raise damaged(self._place)
        if self._writes and found.closed is not None:
            raise LedgerError(f"nothing can be added to the ledger {self._place}: {found.closed}")
        return Header(found.id, Head(number, last), role)

    def _require_known(self, version: int) -> None:
        if version != schema.FORMAT:
            raise LedgerError(
                f"the ledger {self._place} has format {version}, of another version of "
                f"Crowdtally: this one reads format {schema.FORMAT} alone. Nothing was changed. "
                "Use the version that wrote it, or name another ledger with --ledger."
            )

    def rows(self, numbers: Iterable[int]) -> dict[int, Row]:
        return {row.number: row for row in self._read(schema.NUMBERED, numbers=list(numbers))}

    def rows_after(self, number: int, most: int | None = None) -> list[Row]:
        most = most or 2**62
        return list(self._read(schema.FOLLOWING, start=number, most=most))

    def about(self, *these: int) -> list[Row]:
        """The entries about reservations of these numbers, or on these shelves of sources."""
        return [row for some in _portions(these) for row in self._read(schema.ABOUT, these=some)]

    def of_request(self, request_id: str) -> Row | None:
        return next(self._read(schema.ROW_OF_KEY, of=request_id), None)

    def named(self, names: Sequence[str]) -> set[str]:
        execute = self._connection.execute
        return {
            name
            for some in _portions(names)
            for name in execute(schema.NAMED, {"names": some}).scalars()
        }

    def last_of(self, dataset: str) -> tuple[int | None, int | None]:
        """The dataset's last entry: as its own row says, and as the entries say."""
        said, found = self._connection.execute(schema.LAST_OF, {"of": dataset}).one()
        return said, found

    def datasets(self) -> dict[str, int]:
        return {row.name: row.last for row in self._connection.execute(select(schema.DATASETS))}

    def append(self, row: Row, *, first: bool) -> None:
        """Write an entry, the head, and the dataset's last entry (its ``first``, perhaps)."""
        execute = self._connection.execute
        if not isinstance(self._place, File):
            execute(postgres.APPEND, vars(row))
            return
        execute(schema.ADD_ENTRY, vars(row))
        execute(schema.SET_HEAD, {"new_number": row.number, "new_hash": row.hash})
        if first:
            execute(schema.ADD_DATASET, {"name": row.dataset, "last": row.number})
        else:
            execute(schema.SET_LAST, {"of": row.dataset, "new_last": row.number})

    def file_problem(self) -> str | None:
        """What SQLite's own check finds, indexes included; nothing on PostgreSQL."""
        return sqlite.problem(self._connection) if self.in_file else None

    def recent_file_problem(self, start: int) -> str | None:
        """The same at a bounded cost, at least for the entries that follow."""
        return sqlite.recent_problem(self._connection, start) if self.in_file else None

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


# A write runs alone (SQLite: ``BEGIN IMMEDIATE``; PostgreSQL: a lock on the ledger's one row),
# and when it returns, what it wrote is on disk.

_ATTEMPTS = 5


class Store:
    def __init__(self, place: Place, *, create: bool = True) -> None:
        self.place = place
        self.created = False
        """Whether opening it made it."""
        self._judged = True  # by the functions of this version, on a server
        with in_words(place):
            if isinstance(place, File):
                self._engine = self._open_file(place, create=create)
            else:
                self._engine = self._open_server(place, create=create)
        self._process = os.getpid()
        self.close = weakref.finalize(self, self._engine.dispose)
        """Let go of a kept connection; happens by itself when nobody holds the store any more."""

    @property
    def engine(self) -> Engine:
        """The engine, without connections that a fork inherited: they are the parent's."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            self._process = os.getpid()
        return self._engine

    def read(self, work: Callable[[Page], T]) -> T:
        """Run ``work`` on one consistent state of the ledger."""
        return self.inspect(lambda connection: work(Page(connection, self.place, writes=False)))

    def inspect(self, work: Callable[[Connection], T]) -> T:
        """The same for work on the tables as they are, whatever the ledger says of itself."""
        options = {"isolation_level": "REPEATABLE READ"} if isinstance(self.place, Server) else {}
        with in_words(self.place), self.engine.connect() as connection:
            connection = connection.execution_options(**options)
            with connection.begin():
                return work(connection)

    def write(self, work: Callable[[Page], T]) -> T:
        """Run ``work`` alone and make what it wrote durable; on any exception nothing is written.

        It may run again if the server asks for that, so doing it twice must be as good as once.
        """
        if not self._judged:
            raise other_functions(self.place)
        return self.alter(lambda connection: work(Page(connection, self.place, writes=True)))

    def alter(self, work: Callable[[Connection], T]) -> T:
        """The same for work on the tables themselves, also of a closed ledger.

        On PostgreSQL the rows that it changes are locked by ``work``, not here.
        """
        with in_words(self.place):
            for _ in range(_ATTEMPTS - 1):
                try:
                    return self._write_once(work)
                except DBAPIError as error:
                    if not retriable(error):
                        raise
            return self._write_once(work)

    def _write_once(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin() as transaction:
                result = work(connection)
                self._commit(transaction)
        return result

    def _commit(self, transaction: Transaction) -> None:
        try:
            transaction.commit()
        except DBAPIError as error:
            # Repeating a commit that did arrive would charge twice; assuming it arrived could
            # release without a charge. So neither: the caller stops, and a person can look.
            if isinstance(self.place, Server) and error.connection_invalidated:
                raise outcome_unknown(self.place) from error
            raise

    def _open_file(self, place: File, *, create: bool) -> Engine:
        if not place.path.exists():
            if not create:
                raise missing(place)
            self.created = sqlite.create(place, make_tables)
        sqlite.require_plausible(place)
        engine = sqlite.engine_for(place.path)
        with engine.connect() as connection:
            if not is_ledger(connection):
                raise not_a_ledger(place)
        return engine

    def _open_server(self, place: Server, *, create: bool) -> Engine:
        engine = postgres.engine_for(place)
        try:
            with engine.begin() as connection:
                postgres.require_durable(place, connection)
                if not is_ledger(connection):
                    if not create:
                        raise missing(place)
                    self.created = _create_on_server(connection)
                self._judged = are_current(connection)
        except BaseException:
            engine.dispose()
            raise
        return engine


def _create_on_server(connection: Connection) -> bool:
    postgres.lock_creation(connection)
    if is_ledger(connection):
        return False  # another session was first
    make_tables(connection)
    make_functions(connection)
    return True
