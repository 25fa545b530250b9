"""The exact loss of a whole ``auto`` on one path: what each step adds, given what was released.

A path is what was released, step by step. Whatever the noise was, both databases are asked what
they would have counted at each step given the same past, and the step's own law says what that
tells about which of the two it is: discrete Laplace noise of scale b on counts c and c′ loses
exactly Σ|c − c′|/b, interval noise of rate x loses exactly x·(max (c − c′)⁺ + max (c − c′)⁻) in
each block. The steps' losses add up to the path's. A table whose noise was refined loses, together
with the earlier one, Σ|c − c′|/b of its own scale, if the counts are those of the earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.layout import KINDS
from crowdtally.curator.converse import Released
from crowdtally.format import NoisyTable
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws


class Wild(SystemDraws):
    """Noise of any size, so that a tiny database leads to decisions that only large ones lead to.

    Privacy is a statement about every outcome: how likely one is does not matter here.
    """

    def __init__(self, seed: int, users: int) -> None:
        super().__init__()
        self._rng, self._users, self._asked = np.random.default_rng(seed), users, 0

    def laplace(self, scale: Fraction, size: int) -> Any:
        self._asked += 1
        if self._asked == 1:  # the sizes: so many users, with rows of about one length
            bins = np.zeros(size)
            middle = int(self._rng.integers(0, 8))
            bins[middle : middle + 3] = self._users
            return bins.astype(np.int64)
        heavy = self._rng.pareto(1.2, size) * self._rng.choice([-1, 1], size)
        return (heavy * float(scale) * self._rng.choice([0.1, 1, 10])).astype(np.int64)

    def interval(self, rate: Fraction, size: int) -> Any:
        return self._rng.integers(-5, 50, size).astype(np.int64)


@dataclass(frozen=True)
class Followed:
    """What was found on one path."""

    loss: Fraction
    """Of the one database against the other, at most."""
    spent: Fraction
    """What the account says that the steps cost."""
    taken: frozenset[str]
    """The steps that were taken."""


def follow(first: Rehearsal, second: Rehearsal, draws: SystemDraws) -> Followed:
    """One path: what the first database released; what both would have counted on it."""
    released, total = Released(), Fraction(0)
    before: dict[str, tuple[Fraction, list[Any]]] = {}
    for place, step in enumerate(first.steps):
        ours, theirs = (one.counted(place, 0, released) for one in (first, second))
        assert (ours.found is None) == (theirs.found is None), "what is asked is public"
        after = step.release(ours, released, draws)
        for table in after.tables[len(released.tables) :]:
            exact = [_exact(ours.found), _exact(theirs.found)]
            loss = _loss(table, *exact)
            told, same = before.get(KINDS[table.name].refines or "", (Fraction(0), exact))
            assert all((one == other).all() for one, other in zip(exact, same, strict=True))
            total += loss - told
            before[table.name] = loss, exact
        released = after
    course = released.course
    assert course is not None
    taken = frozenset(one.name for one in course.taken if one.cost)
    assert {table.name for table in released.tables} == taken
    return Followed(total, course.spent, taken)


def _exact(found: Any) -> np.ndarray:
    """The exact numbers of all cells, as Python's own integers."""
    counted = found[1] if isinstance(found, tuple) else found
    if isinstance(counted, Memberships):
        return counted.values.astype(object)
    if isinstance(counted, Counts):
        return counted.dense().astype(object)
    return np.asarray(counted).astype(object)


def _loss(table: NoisyTable, ours: np.ndarray, theirs: np.ndarray) -> Fraction:
    law, change = table.law, ours - theirs
    if isinstance(law, IntervalNoise):
        return sum(map(_norm, _blocks(change, law.blocks)), Fraction(0)) * law.rate
    assert isinstance(law, DiscreteLaplace), "a law that this test does not know"
    return Fraction(sum(map(abs, change.tolist()))) / law.scale


def _blocks(change: np.ndarray, blocks: int) -> Iterator[list[int]]:
    yield from (change[block::blocks].tolist() for block in range(blocks))


def _norm(change: list[int]) -> int:
    return max(0, *change) + max(0, *(-one for one in change))
