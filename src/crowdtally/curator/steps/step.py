"""What a step of a release is: it counts exactly, then releases what it counted, with noise.

The two halves are apart because nothing may be drawn before the charge: the first step's counts are
made before it, its noise after it. What :meth:`Step.count` returns is private; what
:meth:`Step.release` returns may be shown to anyone, and later steps may depend on it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.counting.reading import Read
from crowdtally.curator.steps.course import Course
from crowdtally.curator.steps.decided import Decided
from crowdtally.format import NoisyTable
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws
from crowdtally.records.engine import Engine
from crowdtally.records.prepare import Prepared


@dataclass(frozen=True)
class Reading:
    """The records, ready to be counted."""

    engine: Engine
    """What runs on them."""
    prepared: Prepared
    """The records, matched with the lists, not yet bounded."""
    held: dict[str, Any] = field(default_factory=dict, repr=False, compare=False, kw_only=True)
    """What one step computed of them, for the steps after it."""

    def fresh_key(self) -> int:
        """A sampling key of the OS.

        It has nothing to do with the noise: privacy holds for every fixed key, also for one that
        leaks into a log.
        """
        return secrets.randbits(63)


@dataclass(frozen=True)
class Bound:
    """What a table is bounded by; published with it."""

    limit: int
    """l or θ."""
    scaling: Fraction = Fraction(1)
    """s, for DPSense-S."""


@dataclass(frozen=True)
class Released:
    """What the steps have made so far: all of it noisy, all of it public."""

    tables: tuple[NoisyTable, ...] = ()
    """The tables, in the order they were drawn."""
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    """The bound of each table of counts, as given or as chosen."""
    other: Mapping[str, Any] | None = None
    """The mass below the threshold, where items were discovered."""
    picked: NDArray[np.int64] | None = None
    """The cells that were selected, where the top items are asked for."""
    course: Course | None = None
    """How ``auto`` has spent ε so far."""
    decided: Decided | None = None
    """What ``auto`` decided once it knew how long rows are."""

    def table(self, name: str) -> NoisyTable | None:
        """The table of a step, if it was released."""
        return next((table for table in self.tables if table.name == name), None)

    def with_tables(self, tables: Sequence[NoisyTable]) -> Released:
        """With more tables."""
        return replace(self, tables=(*self.tables, *tables))


class Step(Protocol):
    """One step. Its :meth:`parts` say all that it may spend, whatever earlier steps released.

    The first step of ``auto`` is charged for all of them; the others have no parts of their own.
    """

    def parts(self) -> Sequence[Part]:
        """What the ledger is told about it."""

    def count(self, reading: Reading, released: Released) -> Read[Any]:
        """Read the records. Draws nothing but a sampling key."""

    def release(self, counted: Read[Any], released: Released, draws: Draws) -> Released:
        """Draw the noise; everything returned is public."""


Stage = Callable[[str], None]
"""Is told what is being done, in words that any request of this kind would have."""


def finish(
    steps: Sequence[Step],
    counted: Read[Any],
    reading: Reading,
    draws: Draws,
    stage: Stage = lambda _: None,
) -> Released:
    """All that the steps release; ``counted`` is what the first of them counted."""
    first, *later = steps
    stage(f"drawing noise for {_named(first)}")
    released = first.release(counted, Released(), draws)
    for step in later:
        stage(f"counting for {_named(step)}")
        read = step.count(reading, released)
        stage(f"drawing noise for {_named(step)}")
        released = step.release(read, released, draws)
    return released


def _named(step: Step) -> str:
    return getattr(step, "name", None) or " and ".join(part.name for part in step.parts())
