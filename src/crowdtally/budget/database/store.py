"""Transactions on a ledger, wherever it is kept.

A write runs alone (SQLite: ``BEGIN IMMEDIATE``; PostgreSQL: a lock on the ledger's one row), and
when it returns, what it wrote is on disk.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine, Transaction
from sqlalchemy.exc import DBAPIError

from crowdtally.budget.database import postgres, sqlite_file
from crowdtally.budget.database.failures import (
    in_words,
    missing,
    not_a_ledger,
    other_functions,
    outcome_unknown,
    retriable,
)
from crowdtally.budget.database.page import Page
from crowdtally.budget.database.places import File, Place, Server
from crowdtally.budget.database.postgres_functions import are_current, make_functions
from crowdtally.budget.database.tables import is_ledger, make_tables

_ATTEMPTS = 5
T = TypeVar("T")


class Store:
    """A place where entries are kept."""

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
            self.created = sqlite_file.create(place, make_tables)
        sqlite_file.require_plausible(place)
        engine = sqlite_file.engine_for(place.path)
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
