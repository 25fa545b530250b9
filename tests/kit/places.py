"""A place for sources of every kind, shared by the tests of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from budget.ledger_kit import running_server
from kit.kinds import Place


@contextmanager
def place_in(folder: Path, session: Callable[[], Any] | None = None) -> Iterator[Place]:
    """A place in this folder; what a source reads through is closed at the end."""

    @cache
    def database() -> str:
        server = running_server()
        return server.url(server.new_database())

    place = Place(folder, database, session or _no_session)
    yield place
    for held in place.held:
        close = getattr(held, "disconnect", None) or held.close
        close()


def _no_session() -> Any:
    raise AssertionError("tests with Spark stand where the session of a run is shared")
