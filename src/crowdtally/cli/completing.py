"""What a shell offers for a value that is being typed. Whatever goes wrong, it offers nothing.

Names of columns come from a look at the schema of what lies on this machine, and no record is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import typer

_QUICKLY_SEEN = ("parquet", "csv", "duckdb", "sqlite")
"""Kinds of sources that lie in a file: a server is not asked between two keys."""


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """One of these words."""

    def offered(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return offered


def column(ctx: typer.Context, incomplete: str) -> list[str]:
    """A column of RECORDS or of a table that was joined before."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The last of several columns, ``A,B,…``."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _columns(ctx) if name.startswith(last)]


def dataset(ctx: typer.Context, incomplete: str) -> list[str]:
    """A dataset that the ledger has; no ledger is made."""
    found: list[str] = []
    with suppress(Exception):  # between two keys nobody can be told
        from crowdtally.ledger import Ledger

        with Ledger.open(ctx.params.get("ledger"), create=False) as ledger:
            found = ledger.names()
    return [name for name in found if name.startswith(incomplete)]


def _columns(ctx: typer.Context) -> list[str]:
    names: list[str] = []
    with suppress(Exception):
        from crowdtally.cli.syntax import joined
        from crowdtally.records.locate import locate
        from crowdtally.records.start import can_look, without_rows

        given: dict[str, Any] = ctx.params
        # An option without its value, as here, leaves arguments unread.
        records = given.get("records") or ctx.args[0]
        tables = [records, *(joined(text)[0] for text in given.get("join") or ())]
        with without_rows() as engine:
            for number, table in enumerate(tables):
                located = locate(table)
                if located.kind in _QUICKLY_SEEN and can_look(located):
                    names += engine.open(located, f"table_{number}")
    return list(dict.fromkeys(names))
