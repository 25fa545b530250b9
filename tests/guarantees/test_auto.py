"""``auto`` keeps what was charged: each measure of rows, and whole releases on every path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from crowdtally.core.domain import Domain
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.bounding.auto import Auto
from crowdtally.curator.counting.rows import Held, counted, hold_rows
from crowdtally.curator.methods.auto_rules import SIZES
from crowdtally.curator.request.declare import declare
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.row_questions import (
    Inside,
    Lengths,
    Measure,
    Scaled,
    UserRows,
    UsersInside,
    Whole,
)
from crowdtally.inference.rows import BINS
from crowdtally.lab.auditing.databases import Record, on_records
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.records.duckdb import DuckDBEngine
from kit.auto_loss import Followed, Wild, follow
from kit.blocks import CONTEXTS, Blocks, is_hers, length_of, reference
from kit.crowds import Database
from kit.kinds import KINDS as SOURCES
from kit.kinds import Kind, Place
from kit.newcomers import NEWCOMERS, Newcomer, prepared

# ---- What one user changes in the counts of every measure, on all tiny databases -----------------


CHOSEN = (0, 2)
"""The items of each database that are counted again."""
MEASURES: dict[str, Measure] = {
    "lengths": Lengths(),
    "whole, 1": Whole(1),
    "whole, 40": Whole(40),
    "items": Scaled(2),
    "items, 1": Scaled(1),
    "items, 30": Scaled(30),
    "short": Scaled(2, only_to=2),
    "long": Scaled(3, above=2),
    "cells": Scaled(2, "cells"),
    "contexts": Scaled(2, "contexts"),
    "items by norm": Scaled(2, by_norm=True),
    "cells by norm": Scaled(2, "cells", by_norm=True),
    "long by norm": Scaled(3, above=2, by_norm=True),
    "inside": Inside(CHOSEN, 2),
    "users inside": UsersInside(CHOSEN),
}
ALONE = ("items", "short", "long", "contexts")
"""Asked without cells, they are added up by the engine."""
LOOSE = ("items, 30", "whole, 40")
"""Nobody has so many distinct items."""
KINDS = {
    f"{'repeats' if repeats else 'once'}{', per user' if per_user else ''}{words}": (
        UserRows(per_user, repeats), quantities,
    )
    for repeats, quantities, words in (
        (False, False, ""), (True, False, ""), (True, True, ", by quantity"),
    )
    for per_user in (False, True)
}  # fmt: skip


class Everything:
    """All databases of one kind of rows: held, counted by the engine, and counted by Python."""

    def __init__(self, blocks: Blocks, held: Held) -> None:
        self.blocks, self.held, self.rows = blocks, held, held.rows
        self.kept = blocks.kept(held)
        self.found = self._counted(list(self._asked()))
        for name in ALONE:
            (alone,) = self._counted([name]).values()
            assert alone == self.found[name], f"{name}: alone it counts something else"

    def _asked(self) -> Iterator[str]:
        for name, measure in MEASURES.items():
            ones = isinstance(measure, UsersInside) or getattr(measure, "by_norm", False)
            if not (ones and self.rows.repeats):
                yield name

    def _counted(self, names: list[str]) -> dict[str, list[dict[Any, int]]]:
        """By measure and database."""
        whole = [self._spread(MEASURES[name]) for name in names]
        sizes = [self.size(measure) for measure in whole]
        found = counted(self.held, whole, sizes)
        return {
            name: self._lengths(measure)
            if isinstance(measure, Lengths | Whole)
            else self.blocks.by_database(counts, measure)
            for name, measure, counts in zip(names, whole, found, strict=True)
        }

    def _spread(self, measure: Measure) -> Measure:
        if isinstance(measure, Inside | UsersInside):
            return replace(measure, places=self.blocks.places(measure.places))
        return measure

    def size(self, measure: Measure) -> int:
        width = CONTEXTS * len(self.blocks.databases)
        match measure:
            case Lengths():
                return BINS
            case Whole():
                return 1
            case Scaled():
                return {"items": self.blocks.size, "contexts": width}.get(
                    measure.over, self.blocks.size * width
                )
            case _:
                return len(measure.places)

    def _lengths(self, measure: Measure) -> list[dict[Any, int]]:
        """These have one table for everybody: each database is counted by its own lengths."""
        found = []
        for rows in self.kept:
            own = replace(self.held, users=Counter(map(length_of, rows.values())))
            (counts,) = counted(own, [measure], [self.size(measure)])
            found.append({c: v for c, v in enumerate(counts.dense().tolist()) if v})
        return found


@pytest.fixture(scope="module", params=list(KINDS))
def everything(request: pytest.FixtureRequest) -> Iterator[Everything]:
    rows, quantities = KINDS[request.param]
    blocks = Blocks.of(quantities=quantities)
    with blocks.held(DuckDBEngine, rows) as held:
        yield Everything(blocks, held)


def pairs(found: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Of each two neighbours, the one with the first user and the one without."""
    return zip(found[0::2], found[1::2], strict=True)


def test_a_row_is_what_the_rules_say(everything: Everything) -> None:
    """With a user more all others have the same row."""
    for database, kept in zip(everything.blocks.databases, everything.kept, strict=True):
        assert kept.keys() <= set(range(len(database)))
        for user, history in enumerate(database):
            assert is_hers(kept.get(user, Counter()), history, everything.rows), history
    for with_her, without in pairs(everything.kept):
        assert {user: row for user, row in with_her.items() if user} == without
    every = Counter(length_of(row) for rows in everything.kept for row in rows.values())
    assert everything.held.users == every


def test_counts_are_what_a_slow_count_finds(everything: Everything) -> None:
    for name, tables in everything.found.items():
        for rows, found in zip(everything.kept, tables, strict=True):
            slow = sum((reference(MEASURES[name], row) for row in rows.values()), Counter[Any]())
            assert found == slow, (name, rows)


def changes(tables: list[dict[Any, int]]) -> list[dict[Any, int]]:
    """What the first user of each database changes."""
    return [
        {c: with_her.get(c, 0) - without.get(c, 0) for c in {*with_her, *without}}
        for with_her, without in pairs(tables)
    ]


def test_nobody_changes_more_than_the_bound(everything: Everything) -> None:
    for name, tables in everything.found.items():
        measure, found = MEASURES[name], changes(tables)
        if isinstance(measure, UsersInside):
            continue
        l1, squared, _ = measure.bound(everything.rows, everything.size(measure))
        sums = [sum(map(abs, change.values())) for change in found]
        squares = [sum(by * by for by in change.values()) for change in found]
        assert max(sums) <= l1, name
        assert max(squares) <= squared, name
        if everything.rows.repeats or name not in LOOSE:  # else nobody tests the bound
            assert max(sums) > 0.97 * l1 or getattr(measure, "by_norm", False), name
            assert max(squares) > 0.94 * squared, name


def test_nobody_is_in_both_classes(everything: Everything) -> None:
    classes = zip(*(changes(everything.found[name]) for name in ("short", "long")), strict=True)
    for short, long in classes:
        assert not any(short.values()) or not any(long.values())


def test_a_user_is_one_user_of_an_item(everything: Everything) -> None:
    for name, tables in everything.found.items():
        measure = MEASURES[name]
        if isinstance(measure, UsersInside):
            for change in changes(tables):
                assert set(change.values()) <= {0, 1}


# ---- Whole releases: on every path that noise of any size leads to, the exact losses of all tables
#      add up to no more than what was charged


EPSILON = Fraction(3, 2)
CROWD = (
    Record(1, (0, 0)), Record(1, (0, 0)), Record(1, (3, 1)), Record(2, (1, 1)), Record(2, (5, 0)),
    Record(3, (2, 0)), Record(3, (7, 1)), Record(3, (6, 0)),
)  # fmt: skip
HERS: dict[str, tuple[Record, ...]] = {
    "one record": (Record(0, (1, 0)),),
    "many records of one item": tuple(Record(0, (0, 0)) for _ in range(70)),
    "every item, in every context": tuple(
        Record(0, (item, context)) for item in range(8) for context in (0, 1)
    ),
    "a long row of unequal parts": tuple(
        Record(0, (item, item % 2)) for item in range(8) for _ in range(item * item + 1)
    ),
}
ONCE: dict[str, Any] = {"method": Auto(repeats=False)}
GAUSSIAN: dict[str, Any] = {"noise": "gaussian", "delta": "1e-6"}
BY_USER: dict[str, Any] = {"method": Auto("recommend", context_per_user="day")}
BY_USER_ONCE: dict[str, Any] = {"method": Auto("recommend", repeats=False, context_per_user="day")}
DESIGNS: dict[str, tuple[int, int, dict[str, Any]]] = {
    "items": (40, 0, {}),
    "a very short list": (3, 0, {}),
    "once": (60, 0, ONCE),
    "top": (60, 0, {"method": Auto("top")}),
    "top, once": (60, 0, {"method": Auto("top", repeats=False)}),
    "contexts": (40, 2, {}),
    "recommend by record": (40, 2, {"method": Auto("recommend")}),
    "recommend by user": (120, 2, BY_USER_ONCE),
    "recommend by user, repeats": (40, 2, BY_USER),
    "attributes": (8, 2, {}),
    "sparse": (2**22 + 40, 0, ONCE),
    "gaussian": (40, 2, GAUSSIAN),
    "gaussian, by user": (120, 2, BY_USER_ONCE | GAUSSIAN),
    "turned": (40, 0, {"delta": "1e-6", **ONCE}),
    "turned, in contexts": (40, 2, {"delta": "1e-6", **ONCE}),
}
TAKEN = (
    ("weak", 0, 3.0), ("short", 10**6, 3.0), ("long", 300, 3.0), ("long", 300, 0.01),
    ("long", 10**6, 0.01), ("very long", 10**5, 3.0),
)  # fmt: skip
"""What noise leads to: rows of which lengths, of how many users, and how wild the rest of it is."""
MET = {
    "items": {"long looked at twice", "rich to rich", "rich to rich in two classes"},
    "a very short list": {"long", "rich to rich"},
    "once": {"rich to long", "rich to rich in two classes"},
    "top, once": {"long"},
    "recommend by record": {"long looked at twice"},
    "recommend by user": {"long", "long looked at twice"},
    "attributes": {"rich to rich in two classes"},
    "sparse": {"long"},
    "gaussian": {"rich to long", "long looked at twice"},
    "turned": {"rich to rich"},
}
"""Paths that must be met, else nothing is said about them."""


def request_of(name: str) -> Request:
    items, contexts, options = DESIGNS[name]
    named = {"day": [f"day {n}" for n in range(contexts)]} if contexts else {}
    if name == "attributes":
        lists = {"place": range(items), **named}
        records = declare(pa.table({}), user="user", attributes=list(lists))
        return make_request(records, Domain(attributes=lists), epsilon=EPSILON, **options)
    records = declare(pa.table({}), user="user", item="item", contexts=list(named))
    return make_request(records, Domain(range(items), named), epsilon=EPSILON, **options)


def inside(domain: Domain, records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records as there are items and contexts for them."""
    sizes = [len(axis.values) for axis in domain.axes]
    return tuple(
        Record(one.user, tuple(place % size for place, size in zip(one.cell, sizes, strict=False)))
        for one in records
    )


def followed(name: str, words: str) -> list[Followed]:
    """Paths that a database leads, and the loss of each against its neighbour."""
    request = request_of(name)
    assert request.domain is not None
    others, hers = (inside(request.domain, records) for records in (CROWD, HERS[words]))
    with DuckDBEngine() as with_her, DuckDBEngine() as without:
        both = [
            Rehearsal(on_records(request, records), engine)
            for records, engine in ((others + hers, with_her), (others, without))
        ]
        return [follow(*both, Wild(seed, *lead)) for seed, lead in enumerate(TAKEN)]


def charged(name: str) -> dict[type, Fraction]:
    """The whole price of a path, in ε or in ρ."""
    delta = Delta.of(DESIGNS[name][2].get("delta", 0))
    if delta.value and "noise" in DESIGNS[name][2]:
        return {Rho: rho_of(EPSILON, delta)}
    return {Epsilon: EPSILON}


def turned(delta: Delta) -> dict[type, Fraction]:
    """The same where the rest of ε was turned into ρ after the first table."""
    rest = EPSILON * (1 - SIZES)
    assert delta_of(rho_of(rest, delta), rest) <= delta.value
    return {Epsilon: EPSILON * SIZES, Rho: rho_of(rest, delta)}


def check(name: str, words: str) -> None:
    """No path loses more than it paid, and each pays for the whole, exactly."""
    paths, whole = followed(name, words), charged(name)
    assert {path.path for path in paths} >= MET.get(name, set()) | {"short"}
    assert any(Rho in path.spent for path in paths) == (Rho in whole or name.startswith("turned"))
    for path in paths:
        if name.startswith("turned") and Rho in path.spent:
            assert path.spent == turned(Delta.of(DESIGNS[name][2]["delta"])), path.path
        else:
            assert path.spent == whole, path.path
        for kind, lost in path.loss.items():
            assert lost <= path.spent[kind], (path.path, words)
        assert len(path.questions) <= 4


@pytest.mark.parametrize("name", DESIGNS)
def test_no_path_loses_more_than_it_paid(name: str) -> None:
    once = request_of(name).method.rule.repeats is False
    check(name, "every item, in every context" if once else "a long row of unequal parts")


@pytest.mark.long
@pytest.mark.parametrize("words", HERS)
@pytest.mark.parametrize("name", DESIGNS)
def test_no_path_loses_more_than_it_paid_whoever_she_is(name: str, words: str) -> None:
    check(name, words)


def test_all_that_is_paid_for_may_be_lost() -> None:
    """Else a loss that is missed would not be seen."""
    paths = followed("items", "a long row of unequal parts")
    assert max(path.loss[Epsilon] for path in paths) > Fraction(999_999, 1_000_000) * EPSILON


# ---- One user more, in every kind of source, changes nobody else's row ---------------------------


QUICK = ("a text beside nulls", "joins: a text among keys")
"""Every case of every kind is tried on samples, which are made of the same matched records."""
CASES = [
    pytest.param(
        kind,
        newcomer,
        id=f"{name}: {title}",
        marks=() if title in QUICK and not kind.alike else pytest.mark.long,
    )
    for name, kind in SOURCES.items()
    for title, newcomer in NEWCOMERS.items()
    if kind.holds(newcomer.base.schema)
]
ROWS = (UserRows(per_user=True, repeats=False), UserRows(per_user=False, repeats=True))


def rows_in(place: Place, kind: Kind, database: Database) -> list[dict[str, Counter[int]]]:
    """The row of each user, for every kind of rows."""
    found = []
    with prepared(place, kind, database) as (engine, ready):
        for key, rows in enumerate(ROWS):
            held = hold_rows(engine, ready, rows, key)
            columns = engine.columns(held.records)
            own: dict[str, Counter[int]] = {}
            for user, cell in zip(columns["user"].tolist(), columns["cell"].tolist(), strict=True):
                own.setdefault(str(user), Counter())[cell] += 1
            assert sum(held.users.values()) == len(own)
            found.append(own)
    return found


@pytest.mark.parametrize(("kind", "newcomer"), CASES)
def test_a_newcomer_changes_nobody_elses_row(kind: Kind, newcomer: Newcomer, place: Place) -> None:
    alone, together = (
        rows_in(place, kind, database) for database in (newcomer.base, newcomer.joined)
    )
    for without, with_her in zip(alone, together, strict=True):
        assert {user: with_her.get(user) for user in without} == without
        assert len(with_her.keys() - without.keys()) <= 1
