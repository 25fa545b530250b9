"""What a reader of a comparison must know beside its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crowdtally.curator.request.options import flag_of
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparing.held import Held
from crowdtally.lab.comparing.planning import taken_of
from crowdtally.lab.methods import Method


def notes_of(held: Held, *, joined: bool) -> Iterator[str]:
    """A sentence each; ``joined`` where rows may lack a partner in a join."""
    dropped, quantity = held.dropped, held.records.quantity
    lost = dropped.without_user + dropped.outside
    if lost:
        partner = ", or no join partner" if joined else ""
        counted = ", or no quantity of at least 1" if quantity is not None else ""
        yield (
            f"Of {dropped.rows:,} rows, {lost:,} have no user or a value outside the lists"
            f"{partner}{counted}: no method counts them, and the truth does not either."
        )
    if not held.known_by["records"]:
        yield "No row is left to count: every number here is about noise alone."
    if quantity is not None:
        yield (
            "The truth counts each record as often as its quantity says; methods count it up to "
            f"{quantity.most} times."
        )


def options_beside(
    methods: Iterable[str], held: Held, options: Mapping[str, Any]
) -> dict[str, str]:
    """What a release needs beside its method and bound, by method, as it is typed."""
    count = ["--count users"] if held.what == "users" else []
    found = {}
    for name in methods:
        if name in BASELINES:
            continue
        given = taken_of(Method.of(name), held.what, options)
        typed = [f"{flag_of(option)} {_typed(value)}" for option, value in given.items()]
        if typed or count:
            found[name] = " ".join([*typed, *count])
    return found


def _typed(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
