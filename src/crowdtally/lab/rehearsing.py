"""The real steps of a request, run as often as wanted: nothing is charged, nothing is written.

What a rehearsal returns has the law of a release, and seeing many of one request is not covered by
any ε: it is for comparing with the truth, and for attacking.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from crowdtally.core.counts import Counts, Memberships
from crowdtally.curator.bounding.sampling import HPA
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.converse import Reading, Released, Step
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.method import steps_of
from crowdtally.curator.request.request import Request
from crowdtally.lab.remembering import remembering
from crowdtally.noise.draws import Draws
from crowdtally.records.engine import Engine
from crowdtally.records.prepare import Prepared, prepare

_LARGEST_KEY = 2**63
_MIXED = 0x9E3779B97F4A7C15
"""Spreads the keys of one seed over all of them."""


@dataclass(frozen=True)
class Keyed(Reading):
    """Records whose sampling keys follow from a seed, so that a run can be made again."""

    seed: int = 0
    """Which keys."""
    _drawn: Iterator[int] = field(default_factory=count, repr=False, compare=False)

    def fresh_key(self) -> int:
        """The next key of the seed."""
        return (self.seed * _MIXED + next(self._drawn) + 1) * _MIXED % _LARGEST_KEY


@dataclass(frozen=True)
class Halfway:
    """A run up to its last draw."""

    released: Released
    """What the steps before the last one released."""
    counted: Read[Any]
    """What the last step counted: exact, private."""


class Rehearsal:
    """A request on its records.

    The counts of a step are a function of the sampling key and of what was released before; they
    are kept by both, so that thousands of runs count the records a few times.
    """

    def __init__(
        self,
        request: Request,
        engine: Engine,
        prepared: Prepared | None = None,
        counted: dict[Hashable, Read[Any]] | None = None,
    ) -> None:
        """Make the records ready.

        Args:
            request: what is rehearsed.
            engine: what counts.
            prepared: the records, where they were matched with the lists before.
            counted: counts of earlier rehearsals to share, where a request differs from theirs in
                its form alone: counts do not depend on how they are published.
        """
        self.request = request
        """What is rehearsed."""
        self._counted = {} if counted is None else counted
        self._is_auto = isinstance(request.method.rule, Auto)
        steps = steps_of(request)
        if self._is_auto:
            steps = tuple(remembering(step, self._counted) for step in steps)
        self.steps: tuple[Step, ...] = steps
        """Its steps, the real ones."""
        self._engine = engine
        self.prepared: Prepared = prepared or prepare(
            engine, request.records, request.lists, request.sources
        )
        """The records, matched with the lists, not yet bounded."""
        self._held: dict[int, dict[str, Any]] = {}

    def halfway(self, seed: int, draws: Draws) -> Halfway:
        """All steps but the last one released, and the last one counted."""
        *first, last = range(len(self.steps))
        released = Released()
        for place in first:
            counted = self.counted(place, seed, released)
            released = self.steps[place].release(counted, released, draws)
        return Halfway(released, self.counted(last, seed, released))

    def finish(self, halfway: Halfway, draws: Draws) -> Released:
        """What is released, with the last step's noise drawn now."""
        return self.steps[-1].release(halfway.counted, halfway.released, draws)

    def kept(self, halfway: Halfway) -> dict[str, float]:
        """By table, the total of the bounded counts, as a count; none where nobody is bounded."""
        first, *rest = halfway.counted.found
        if isinstance(first, Counts | Memberships) or self.request.discovery is not None:
            return {}
        pairs = zip(self.request.tables, rest[0], strict=False)
        return {table.name: float(int(c.values.sum()) * c.unit) for table, c in pairs}

    def run(self, seed: int, draws: Draws) -> Released:
        """One whole run."""
        return self.finish(self.halfway(seed, draws), draws)

    def step(self, place: int, seed: int, released: Released, draws: Draws) -> Released:
        """What one step adds to what was released before it, whichever records that came from."""
        return self.steps[place].release(self.counted(place, seed, released), released, draws)

    def counted(self, place: int, seed: int, released: Released) -> Read[Any]:
        """What a step counts after what was released: exact, private."""
        if self._is_auto and place:  # what it asks depends on all before; the answer is remembered
            return self.steps[place].count(self._reading(place, seed), released)
        known = (place, seed, decided(self.steps[place], released))
        if known not in self._counted:
            self._counted[known] = self.steps[place].count(self._reading(place, seed), released)
        return self._counted[known]

    def _reading(self, place: int, seed: int) -> Keyed:
        """The records for one step: each has keys of its own, whatever was counted before it."""
        held = self._held.setdefault(seed, {})
        return Keyed(self._engine, self.prepared, seed * len(self.steps) + place, held=held)


def decided(step: Step, released: Released) -> Hashable:
    """All of what was released that the counts of a step may depend on.

    Of a popularity that is what it says to the rule: two that rank items alike are one to HPA.
    """
    bounds = tuple((name, b.limit, b.scaling) for name, b in released.bounds.items())
    rule = getattr(step, "rule", None)
    if isinstance(rule, HPA) and released.tables:
        steered = replace(rule, popularity=released.tables[0].values)
        return tuple(steered.steering().tolist()), bounds
    return tuple((table.name, tuple(table.values.tolist())) for table in released.tables), bounds
