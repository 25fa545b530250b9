"""The private half of a question: its exact counts, one function for each type of question."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, TypeVar

from crowdtally.core.counts import Memberships
from crowdtally.curator import questions as kinds
from crowdtally.curator.counting import users
from crowdtally.curator.counting.bounded import Read, cells_of, count_rows, count_scaled
from crowdtally.curator.counting.bounded import count as count_sampled
from crowdtally.curator.counting.rows import counted, hold_rows
from crowdtally.curator.request.top import TopRequest
from crowdtally.curator.row_questions import RowQuestion, UserRows
from crowdtally.records.engine import Engine
from crowdtally.records.prepare import Prepared

Value = TypeVar("Value")


@dataclass(frozen=True)
class Reading:
    engine: Engine
    prepared: Prepared
    known: dict[Hashable, Any] = field(
        default_factory=dict, repr=False, compare=False, kw_only=True
    )
    """What later questions reuse, by the question that it was computed for."""

    def fresh_key(self) -> int:
        """A sampling key. Privacy holds for every fixed key, also for one that leaks into a log."""
        return secrets.randbits(63)

    def once(self, question: Hashable, compute: Callable[[], Value]) -> Value:
        """What ``compute`` returns for a question, computed once: with one sampling key."""
        if question not in self.known:
            self.known[question] = compute()
        found: Value = self.known[question]
        return found


@singledispatch
def count(question: kinds.Question, records: Reading) -> Read[Any]:
    """The exact counts of a question, and the rows that it dropped. Draws only sampling keys."""
    raise TypeError(f"nothing counts a {type(question).__name__}")


@count.register
def sampled_counts(question: kinds.SampledCounts, records: Reading) -> Read[Any]:
    """(user, cell) → at most l rows of each user → counts of every table."""
    engine, prepared, rule, what = records.engine, records.prepared, question.rule, question.what
    key, pairs = records.fresh_key(), question.pairs
    return count_sampled(engine, prepared, rule, key=key, what=what, pairs=pairs, times=rule.times)


@count.register
def scaled_counts(question: kinds.ScaledCounts, records: Reading) -> Read[Any]:
    """(user, cell) → rows scaled to θ → counts in units of 1/g."""
    engine, prepared = records.engine, records.prepared
    return _together(
        count_scaled(engine, prepared, rule, size, width=prepared.width_of(size))
        for rule, size in zip(question.rules, question.sizes, strict=True)
    )


@count.register
def row_counts(question: kinds.RowCounts, records: Reading) -> Read[Any]:
    return count_rows(records.engine, records.prepared, question.rule)


@count.register
def users_of_cells(question: kinds.DistinctUsers, records: Reading) -> Read[Any]:
    return users.distinct_users(records.engine, records.prepared, question.sizes)


@count.register
def lengths_of_rows(question: kinds.ChooseLimit, records: Reading) -> Read[Any]:
    """(user, cell) → how many users have how many records, or distinct cells."""
    return users.record_sums(records.engine, records.prepared, question.what)


_ROWS: dict[type, Callable[..., Read[Any]]] = {
    kinds.ChooseTheta: users.scaled_sums,
    kinds.ChooseThetaAndScaling: users.row_totals,
    kinds.ChooseNorm: users.row_norms,
}


@count.register
def rows_to_scale(question: kinds.ScaledChoice, records: Reading) -> Read[Any]:
    """(user, cell) → the sums, totals or norms of rows, for each table by its own cells."""
    engine, prepared, read = records.engine, records.prepared, _ROWS[type(question)]
    widths = map(prepared.width_of, question.sizes)
    return _together(read(engine, prepared, question.cap, width=width) for width in widths)


def _together(reads: Iterable[Read[Any]]) -> Read[Any]:
    """All of them; each had the same rows, so each dropped the same."""
    first, *others = reads
    return Read([first.found, *(one.found for one in others)], first.dropped)


@count.register
def users_of_kept_cells(question: kinds.CommonCells, records: Reading) -> Read[Any]:
    """(user, cell) → at most l distinct cells of each user → cells by value, users of each."""
    return users.kept_cells(
        records.engine, records.prepared, question.limit, question.widths, key=records.fresh_key()
    )


@count.register
def users_of_all(question: kinds.MostUsers, records: Reading) -> Read[Any]:
    """(user, item[, context]) → the distinct users of every cell."""
    return records.once(question, lambda: _users(question.request, records))


@count.register
def users_of_selected(question: kinds.UsersOf, records: Reading) -> Read[Any]:
    """The distinct users of the selected cells, as they were counted for the selection."""
    read: Read[Memberships] = count(kinds.MostUsers(question.request), records)
    selected = read.found.values[list(question.cells)]
    return Read(Memberships(len(selected), selected), read.dropped)


def _users(request: TopRequest, records: Reading) -> Read[Memberships]:
    """A user is in every cell that she has; of her own contexts, in those of one of them."""
    engine, prepared, size = records.engine, records.prepared, request.domain.size
    if not request.per_user or request.contexts == 1:  # without her rows, which nothing else needs
        read = users.distinct_users(engine, prepared, [size])
        return Read(read.found[0], read.dropped)
    held = hold_rows(engine, prepared, UserRows(per_user=True, repeats=False), records.fresh_key())
    each = held.records.group_by("cell")  # (user, item) is there once
    fetched = engine.columns(each.agg(users=lambda one: one.count()))
    return Read(Memberships.of(size, *cells_of(fetched, "users", request.domain)), held.dropped)


@count.register
def rows_of_users(question: RowQuestion, records: Reading) -> Read[Any]:
    """(user, cell, amount), read once with one sampling key → the counts of each measure."""
    engine, prepared, rows = records.engine, records.prepared, question.rows
    held = records.once(rows, lambda: hold_rows(engine, prepared, rows, records.fresh_key()))
    return Read(counted(held, question.measures, question.sizes), held.dropped)
