"""``crowdtally inspect``: the records as a release would see them, for the curator's eyes only.

Nothing is charged, because nothing is published: what is shown here must stay with whoever holds
the records. It reads what a release reads, by the same expressions, and draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crowdtally.core.registry import quoted
from crowdtally.curator.bounding.distinct import Everyone
from crowdtally.curator.counting.reading import dropped_in
from crowdtally.curator.inspecting.reasons import Reason, reasons
from crowdtally.curator.inspecting.spread import Spread, spread
from crowdtally.curator.inspecting.words import WARNING, lines, wrapped
from crowdtally.curator.request.request import Subject
from crowdtally.curator.request.wording import in_python
from crowdtally.curator.stages import reading
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped, Engine
from crowdtally.records.prepare import Prepared, prepare
from crowdtally.records.types import TYPES, suggested, typed


@dataclass(frozen=True)
class Inspection:
    """What a curator sees. Exact and private: not to be published, nor anything chosen by it."""

    dropped: Dropped
    """How many rows there are, and how many would not be counted."""
    reasons: tuple[Reason, ...]
    """Each column and join, with the rows that fall out because of it."""
    spread: Spread | None
    """How records are spread over users; None where each row is one person."""
    persons: int | None
    """Where rows have weights: how many persons the rows that are left stand for."""
    limit: int | None
    """The bound that was asked for, or that would be the largest candidate; None where nobody is
    bounded."""
    bounding: str
    """The rule that would bound users."""
    types: Mapping[str, str]
    """The types that undeclared columns have in these rows, by the names that declare them."""
    who: str = "user"
    """Who is protected, and bounded: a ``user``, or a ``person`` who may have several ids."""

    @property
    def left(self) -> int:
        """How many rows would be counted, before users are bounded."""
        return self.dropped.rows - self.dropped.without_user - self.dropped.outside

    def __repr__(self) -> str:
        return f"<Inspection, private: {self.dropped.rows} rows, {self.left} left: print it>"

    def __str__(self) -> str:
        # Who prints it is in Python; the command line has its own way.
        return wrapped(in_python("\n".join(lines(self.to_dict()))))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "warning": WARNING,
            "rows": self.dropped.rows,
            "left": self.left,
            "inexact": self.dropped.inexact,
            "columns": [reason.to_dict() for reason in self.reasons],
            "bounding": self.bounding,
            "max_records": self.limit,
            "protected": self.who,
            "spread": None if self.spread is None else self.spread.to_dict(self.limit),
            "persons": self.persons,
            "types": dict(self.types),
        }


def inspect(
    subject: Subject,
    start_engine: Callable[[], Engine],
    stage: Callable[[str], None] = lambda _: None,
) -> Inspection:
    """Read the records and say what a release would drop and keep; no ledger is opened."""
    method, by_user = subject.method, subject.records.user is not None
    with reading(), start_engine() as engine:
        stage("reading and matching")
        prepared = prepare(engine, subject.records, subject.lists, subject.sources)
        found = reasons(engine, prepared, subject.sources, lists=True)
        dropped = dropped_in(engine, prepared.rows)
        stage("counting records of users")
        return Inspection(
            dropped,
            found,
            spread(engine, prepared, method) if by_user else None,
            _persons(engine, prepared) if subject.records.weight is not None else None,
            None if isinstance(method.rule, Everyone) else method.rule.limit,
            method.rule.name,
            _types(engine, prepared, subject),
            subject.records.unit.who,
        )


def _types(engine: Engine, prepared: Prepared, subject: Subject) -> dict[str, str]:
    """The types that undeclared columns have, or of a CSV file could have: all their values fit."""
    found = suggested(prepared.columns)
    if subject.sources.records.kind != "csv" or not isinstance(engine, DuckDBEngine):
        return found
    undeclared = [name for name in engine.schema("source") if name not in subject.records.types]
    fitting = {name: _fitting(engine, quoted(name)) for name in undeclared}
    return found | {name: kind for name, kind in fitting.items() if kind is not None}


def _fitting(engine: Engine, value: str) -> str | None:
    """The first type that all values of a text column fit; None without values."""
    kinds = [kind for kind in TYPES if kind != "text"]
    counts = [f"count({typed(value, kind)}) AS {quoted(kind)}" for kind in kinds]
    filled = f"count(nullif(trim({value}), '')) AS filled"
    engine.define("fitting", f"SELECT {', '.join([filled, *counts])} FROM {quoted('source')}")
    fits = {name: int(number[0]) for name, number in engine.arrays(engine.table("fitting")).items()}
    return next((kind for kind in kinds if 0 < fits["filled"] == fits[kind]), None)


def _persons(engine: Engine, prepared: Prepared) -> int:
    inside = prepared.rows.filter(prepared.rows.cell.notnull())
    found = engine.arrays(inside.group_by("weight").agg(rows=inside.count()))
    pairs = zip(found["weight"].tolist(), found["rows"].tolist(), strict=True)
    return sum(weight * rows for weight, rows in pairs)
