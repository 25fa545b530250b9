"""Select, then measure: the K items that most users have, overall or in each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Memberships
from crowdtally.curator.converse import Reading, Released
from crowdtally.curator.counting.bounded import Read, cells_of
from crowdtally.curator.counting.rows import make_visits
from crowdtally.curator.counting.users import distinct_users
from crowdtally.curator.request.top import MEASURE, SELECT, TopRequest
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

_HELD = "members"


def _members(reading: Reading, request: TopRequest) -> Read[Memberships]:
    """(user, item[, context]) → distinct users of every cell, counted once for both steps."""
    if _HELD not in reading.held:
        reading.held[_HELD] = _counted(reading, request)
    held: Read[Memberships] = reading.held[_HELD]
    return held


def _counted(reading: Reading, request: TopRequest) -> Read[Memberships]:
    """A user is in every cell that she has; of her own contexts, in those of one of them."""
    engine, prepared, width = reading.engine, reading.prepared, request.contexts
    if not request.per_user or width == 1:  # without her rows, which nothing else needs
        read = distinct_users(engine, prepared, [request.domain.size])
        return Read(read.found[0], read.dropped)
    visits = make_visits(engine, prepared, key=reading.fresh_key(), per_user=True, repeats=True)
    rows = visits.rows
    each = rows.select(cell=rows.item * width + rows.context).group_by("cell")
    fetched = engine.columns(each.agg(users=lambda one: one.count()))
    cells, users = cells_of(fetched, "users", request.domain)
    return Read(Memberships.of(request.domain.size, cells, users), visits.dropped)


@dataclass(frozen=True, eq=False)
class SelectTop:
    """Which items: the exponential mechanism on distinct users."""

    request: TopRequest
    """What is public."""
    name: str = SELECT
    """The step's."""

    def parts(self) -> Sequence[Part]:
        """One part, for all draws."""
        return [self.request.selection()]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """Distinct users of every cell."""
        return _members(reading, self.request)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The selected cells: the first of each context, the second of each, and so on."""
        rule, width = self.request.rule, self.request.contexts
        users = counted.found.values.reshape(-1, width)
        picked = [
            rule.select(Memberships(len(users), np.ascontiguousarray(users[:, context])), draws)
            * width
            + context
            for context in range(width)
        ]
        return replace(released, picked=np.stack(picked, axis=1).reshape(-1))


@dataclass(frozen=True, eq=False)
class MeasureTop:
    """How many users each has: interval noise, or Gaussian where ρ pays."""

    request: TopRequest
    """What is public."""
    name: str = MEASURE
    """The step's."""

    def parts(self) -> Sequence[Part]:
        """The one table."""
        return [self.request.planned().charge()]

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """Distinct users of the selected cells."""
        read, picked = _members(reading, self.request), self._picked(released)
        users = read.found.values[picked]
        return Read(Memberships(len(users), users), read.dropped)

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """The noisy numbers of users, sorted by cell."""
        picked = self._picked(released)
        noisy = self.request.measured(picked).publish(counted.found, draws)
        order = np.argsort(picked)
        layout, values = self.request.layout(picked[order]), noisy.values[order]
        return released.with_tables([replace(noisy, layout=layout, values=values)])

    def _picked(self, released: Released) -> NDArray[np.int64]:
        if released.picked is None:
            raise ValueError("nothing was selected")
        return released.picked
