"""``crowdtally inspect``: the records as a release would see them, for the curator's eyes only.

Nothing is charged, because nothing is published: what is shown must stay with whoever holds the
records. It reads what a release reads, by the same expressions, and draws nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Any

import numpy as np

from crowdtally.core.domain import Axis, Domain, OpenDomain
from crowdtally.core.registry import quoted
from crowdtally.curator.bounding.rules import Everyone
from crowdtally.curator.bounding.scaling import is_euclidean
from crowdtally.curator.choices.bounds import RowSums
from crowdtally.curator.counting.bounded import dropped_in
from crowdtally.curator.counting.users import record_sums, scaled_sums
from crowdtally.curator.failures import reading
from crowdtally.curator.request.method import Method
from crowdtally.curator.request.request import Subject
from crowdtally.curator.request.wording import in_python
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Column, Dropped, Engine, cell_parts
from crowdtally.records.locate import Sources
from crowdtally.records.prepare import Prepared, open_records, prepare, typed_options
from crowdtally.records.start import can_look, without_rows
from crowdtally.records.types import TYPES, suggested, typed

# Why rows are dropped, column by column: exact and private. Only public names are shown: columns,
# tables, values of the public lists. A record's own value never leaves the engine.

EXAMPLES = 3


@dataclass(frozen=True)
class Unmatched:
    """The values of a public list that no row has."""

    listed: int
    missing: int
    examples: tuple[str | int, ...]


@dataclass(frozen=True)
class Reason:
    """One column, or one join, and the rows that it drops; several may drop the same row."""

    role: str
    """``user``, ``item``, ``context``, ``attribute``, ``join``, ``weight`` or ``quantity``."""
    name: str
    rows: int
    unmatched: Unmatched | None = None
    """What its list has and no row does, if that was looked for."""

    def to_dict(self) -> dict[str, Any]:
        found = self.unmatched
        listed = None if found is None else vars(found) | {"examples": list(found.examples)}
        return {"role": self.role, "name": self.name, "rows": self.rows, "list": listed}


@dataclass(frozen=True)
class _Check:
    role: str
    name: str
    fails: Column
    axis: Axis | None = None
    code: str = ""
    """For a column with a list: the column with a value's place in it."""


def reasons(
    engine: Engine, prepared: Prepared, sources: Sources, *, lists: bool = False
) -> tuple[Reason, ...]:
    """How many rows each column drops, by one pass over all rows.

    With ``lists``, by one more pass for each list, also which of its values no row has.
    """
    rows, checks = prepared.matched, list(_checks(prepared, sources))
    numbered = {f"n{place}": rows.count(where=check.fails) for place, check in enumerate(checks)}
    found = engine.arrays(rows.aggregate(**numbered))
    dropped = [int(found[name][0]) for name in numbered]
    return tuple(
        Reason(
            check.role, check.name, number, _unmatched(engine, prepared, check) if lists else None
        )
        for check, number in zip(checks, dropped, strict=True)
    )


def _checks(prepared: Prepared, sources: Sources) -> Iterator[_Check]:
    rows, records = prepared.matched, sources.declared
    if records.user is not None:
        yield _Check("user", ", ".join(records.user_columns), rows.user.isnull())
    for number, (role, name, axis) in enumerate(_roles(prepared.lists)):
        code = f"code_{number}"
        if axis is None:
            yield _Check(role, name, rows[f"axis_{number}"].isnull())
        else:
            yield _Check(role, name, rows[code].isnull(), axis, code)
    for number, found in enumerate(sources.joins):
        name = (found.table.label or "the table").rpartition("/")[2]
        yield _Check("join", f"{name}:{found.declared.keys}", ~rows[f"partner_{number}"])
    if records.weight is not None:
        yield _Check("weight", records.weight, rows.weighs.isnull() | ~rows.weighs)
    if records.quantity is not None:
        yield _Check("quantity", records.quantity.column, rows.counts.isnull() | ~rows.counts)


def _roles(lists: Domain | OpenDomain) -> list[tuple[str, str, Axis | None]]:
    """The role, name and list of each column that names a cell."""
    if isinstance(lists, Domain):
        named: list[tuple[str, Axis | None]] = [(axis.name, axis) for axis in lists.axes]
    else:
        named = [(name, lists.lists.get(name)) for name in lists.columns]
    if not lists.has_items:
        return [("attribute", *one) for one in named]
    return [("context" if place else "item", *one) for place, one in enumerate(named)]


def _unmatched(engine: Engine, prepared: Prepared, check: _Check) -> Unmatched | None:
    """What a check's list has and no row does, by places: no value of a record is fetched."""
    axis, rows = check.axis, prepared.matched
    if axis is None:
        return None
    places = rows.filter(~check.fails).select(place=rows[check.code]).distinct()
    met = np.zeros(len(axis), dtype=bool)
    met[engine.arrays(places)["place"]] = True
    (missing,) = np.nonzero(~met)
    return Unmatched(len(axis), len(missing), tuple(axis.values[missing[:EXAMPLES]].tolist()))


def check_columns(sources: Sources, lists: Domain | OpenDomain) -> tuple[str, ...]:
    """Refuse what a release would refuse on seeing the columns and their types. Reads no record.

    Returns the names of sources that could not be looked at; then nothing was checked.
    """
    unseen = tuple(
        source.label or ("the stream" if source.kind == "stream" else "the DataFrame")
        for source in sources.every
        if not can_look(source)
    )
    if not unseen:
        with reading(), without_rows() as engine:
            open_records(engine, sources.declared, lists, sources)
    return unseen


# How records are spread over users, and what a bound would keep. Exact and private.

_AROUND = ((1, 5), (1, 2), (1, 1), (2, 1), (5, 1))
"""The bounds shown beside the one that was asked for, as ratios to it."""


@dataclass(frozen=True)
class Keeping:
    limit: int
    kept: int
    cut: int


@dataclass(frozen=True)
class Spread:
    """How many users have how many records. Dropped records are not among them."""

    users_with: dict[int, int]
    """By number of records, ascending."""
    counted: str
    """What is counted for each user, in words: records, or different cells or items."""
    bounds_sums: bool = True
    """Whether a bound is one on these sums; else it is on the Euclidean norm of a row."""

    @classmethod
    def of(cls, sums: RowSums, counted: str) -> Spread:
        pairs = zip(sums.sums.tolist(), sums.users.tolist(), strict=True)
        return cls(dict(sorted(pairs)), counted)

    @property
    def users(self) -> int:
        return sum(self.users_with.values())

    @property
    def records(self) -> int:
        return sum(number * users for number, users in self.users_with.items())

    def histogram(self) -> list[dict[str, int]]:
        """Users with 1, 2, 3–5, 6–10, 11–20, 21–50, … records, up to the most that somebody has."""
        largest, found = max(self.users_with, default=0), []
        for least, most in takewhile(lambda ends: ends[0] <= largest, _ranges()):
            users = sum(users for n, users in self.users_with.items() if least <= n <= most)
            found.append({"least": least, "most": most, "users": users})
        return found

    def keeping(self, limit: int) -> Keeping:
        """What a bound of ``limit`` keeps of all records.

        >>> Spread({1: 10, 4: 2}, "records").keeping(3)
        Keeping(limit=3, kept=16, cut=2)
        """
        kept = sum(min(number, limit) * users for number, users in self.users_with.items())
        cut = sum(users for number, users in self.users_with.items() if number > limit)
        return Keeping(limit, kept, cut)

    def around(self, limit: int) -> list[Keeping]:
        """What the bound keeps, and a few smaller and larger ones; nothing of another bound."""
        if not self.bounds_sums:
            return []
        limits = sorted({max(limit * above // below, 1) for above, below in _AROUND})
        return [self.keeping(one) for one in limits]

    def to_dict(self, limit: int | None) -> dict[str, Any]:
        return {
            "counted": self.counted,
            "users": self.users,
            "records": self.records,
            "histogram": self.histogram(),
            "max_records": [] if limit is None else [vars(one) for one in self.around(limit)],
        }


def spread(engine: Engine, prepared: Prepared, method: Method) -> Spread:
    """What the rule of ``method`` would cut down, for all users who have a record."""
    cap = method.rule.facts().get("cap")
    if cap is not None:
        sums = scaled_sums(engine, prepared, cap, width=1).found
        found = Spread.of(sums, "cells" if cap == 1 else f"records, at most {cap} of a cell")
        return replace(found, bounds_sums=not is_euclidean(method.rule))
    if method.discover:  # a user keeps so many different cells, whatever is said to be counted
        sums = record_sums(engine, prepared, "users").found
        return Spread.of(sums, "items" if len(cell_parts(prepared.rows)) == 1 else "cells")
    sums = record_sums(engine, prepared, method.what).found
    return Spread.of(sums, "records" if method.what == "records" else "cells")


def _ranges() -> Iterator[tuple[int, int]]:
    yield from ((1, 1), (2, 2), (3, 5), (6, 10))
    for power in count(1):
        ten = 10**power
        yield from ((ten + 1, 2 * ten), (2 * ten + 1, 5 * ten), (5 * ten + 1, 10 * ten))


# An inspection in words, for a terminal of 80 columns.

WARNING = (
    "For your eyes only: these numbers are exact and private. Nothing was charged; do not publish "
    "them."
)
_BAR, _WIDTH = 30, 79
_NAMES, _LONGEST = 30, 54
"""Letters of the names of columns: usually, and at most."""
_CHOSEN_BY_LOOKING = (
    "A bound that is chosen by looking at these numbers is not covered by the guarantee: it "
    "depends on the records. Choose it by what is known without them, or let the method "
    "choose it privately (choose=rank), for a share of epsilon."
)

_SEVERAL_PARTNERS = "Without a partner in that table, or with several: a key that repeats has none."
_MATCHES_NOTHING = {
    ("join", "user"): _SEVERAL_PARTNERS,
    ("join", "person"): _SEVERAL_PARTNERS,
    ("user", "person"): "Without a user, or of an id to which the table gives several persons.",
}
"""Why a table beside the records drops rows, by role and by who is protected."""
_UNDECLARED = (
    "Columns that are text to an expression, because no schema declares their type, and types that "
    "fit these rows. Declare those that expressions need, as they are known without the rows:"
)


def lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield WARNING
    yield ""
    rows, left = facts["rows"], facts["left"]
    yield f"Rows: {rows}. Dropped: {rows - left} ({_share(rows - left, rows)}). Left: {left}."
    if facts["inexact"]:
        yield f"  {facts['inexact']} rows hold a number that is not exact: see docs/sources.md."
    yield "Dropped because of (a row may have several reasons):"
    names = [f"{reason['role']} {reason['name']}" for reason in facts["columns"]]
    width = min(max([_NAMES, *map(len, names)]), _LONGEST)
    for name, reason in zip(names, facts["columns"], strict=True):
        yield f"  {name:<{width}} {reason['rows']:>12}  {_share(reason['rows'], rows):>6}"
        yield from _reason(reason, facts["protected"])
    if facts["persons"] is not None:
        yield f"Persons that the rows left stand for: {facts['persons']}."
    if facts["spread"] is None:
        whose = "Each row is one person" if facts["persons"] is None else "Nobody has several rows"
        if facts["bounding"] == "stated":
            most = facts["max_records"]
            whose = f"Nothing says whose a row is, and nobody is said to have more than {most}"
        yield f"{whose}: there is nothing to bound."
    else:
        yield from _spread(facts["spread"], facts)
    if facts["types"]:
        yield ""
        yield _UNDECLARED
        yield f"  {typed_options(facts['types'])}"


def wrapped(text: str) -> str:
    return "\n".join(
        textwrap.fill(line, _WIDTH, subsequent_indent=" " * (len(line) - len(line.lstrip())))
        for line in text.split("\n")
    )


def _reason(reason: Mapping[str, Any], who: str) -> Iterator[str]:
    if reason["rows"] and (reason["role"], who) in _MATCHES_NOTHING:
        yield f"    {_MATCHES_NOTHING[reason['role'], who]}"
    found = reason["list"]
    if found is None or not found["missing"]:
        return
    shown = ", ".join(map(repr, found["examples"]))
    more = ", …" if found["missing"] > len(found["examples"]) else ""
    yield f"    listed, and in no row: {found['missing']} of {found['listed']}: {shown}{more}"
    if found["missing"] == found["listed"]:
        yield "    No row matches this list: compare its spelling and its type with the records."


def _spread(spread: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[str]:
    users, records, what = spread["users"], spread["records"], spread["counted"]
    short = what.partition(",")[0]
    yield ""
    who = facts["protected"]
    yield f"{who.capitalize()}s with a row left: {users}, who have together {records} {what}."
    if not users:
        return
    yield f"{f'{short} per {who}':>18} {f'{who}s':>12}  share"
    largest = max(bucket["users"] for bucket in spread["histogram"])
    for bucket in spread["histogram"]:
        least, most, number = bucket["least"], bucket["most"], bucket["users"]
        named = str(least) if least == most else f"{least}–{most}"
        bar = "#" * -(-number * _BAR // largest)
        yield f"{named:>18} {number:>12} {_share(number, users):>6}  {bar}".rstrip()
    yield ""
    if facts["max_records"] is None:
        yield f"Nobody is bounded: every {who} counts in all of these cells."
        return
    if not spread["max_records"]:
        yield (
            "With norm l2 the bound is one on the Euclidean norm of a row, the root of the sum "
            "of its squares: rows above it are scaled down to it."
        )
        return
    yield f"What the bound would keep (asked for: {facts['max_records']}):"
    yield f"{'bound':>18} {short + ' kept':>18} {f'{who}s cut':>18}"
    for one in spread["max_records"]:
        kept = f"{one['kept']} {_share(one['kept'], records):>6}"
        cut = f"{one['cut']} {_share(one['cut'], users):>6}"
        mark = "  <" if one["limit"] == facts["max_records"] else ""
        yield f"{one['limit']:>18} {kept:>18} {cut:>18}{mark}"
    yield _CHOSEN_BY_LOOKING


def _share(part: int, whole: int) -> str:
    """A share in percent with one digit; what is not all, or not nothing, does not look so.

    >>> _share(1, 3), _share(1, 100_000), _share(99_999, 100_000), _share(3, 3)
    ('33.3%', '<0.1%', '>99.9%', '100%')
    """
    if part in (0, whole):
        return "100%" if part else "0%"
    per_mille = (2000 * part + whole) // (2 * whole)  # the nearest
    if per_mille in (0, 1000):
        return ">99.9%" if per_mille else "<0.1%"
    return f"{per_mille // 10}.{per_mille % 10}%"


@dataclass(frozen=True)
class Inspection:
    """What a curator sees. Exact and private: not to be published, nor anything chosen by it."""

    dropped: Dropped
    reasons: tuple[Reason, ...]
    spread: Spread | None
    """How records are spread over users; None where each row is one person."""
    persons: int | None
    """Where rows have weights: how many persons the rows that are left represent."""
    limit: int | None
    """The bound that was asked for, or its largest candidate; None where nobody is bounded."""
    bounding: str
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

    def __str__(self) -> str:  # for Python: the command line prints otherwise
        return wrapped(in_python("\n".join(lines(self.to_dict()))))

    def to_dict(self) -> dict[str, Any]:
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
