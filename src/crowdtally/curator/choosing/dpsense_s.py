"""DPSense-S's choice of (θ, s) (Day & Li 2015, Algorithm 2), exact and over all candidates.

Contract. Relation: all records of one user added or removed. Score q_s(θ, s) =
−(1/N)·Σ_j |s·c_j^θ − c_j| − s·θ/ε_p, where c_j^θ sums the rows weighted on the grid 1/G; its
sensitivity is at most r, the cap per cell (1 for binary rows), both ways. Output law: (θ, s) of
{1..θ_max} × scalings with Pr ∝ exp(ε_c·q_s/(2r)), which is ε_c-differentially private. The proof is
in ``dpsense_s.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

from crowdtally.core.numbers import exact, show, whole_number
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.choosing.candidates import check_theta
from crowdtally.curator.choosing.noise_cost import NoiseCost
from crowdtally.curator.choosing.rows import RowTable
from crowdtally.curator.choosing.sweep import Integers, truncation_errors
from crowdtally.errors import UsageError
from crowdtally.noise.draws import Draws

SCORE_GRID = 17_297_280
"""Units per count: 24·lcm(1..16), so that the weights of short rows are not even rounded."""
SCALINGS = tuple(Fraction(k, 100) for k in range(100, 201))
"""1.00, 1.01, …, 2.00."""
_FINEST = 1_000_000


@dataclass(frozen=True)
class DPSenseSChoice:
    """Every public parameter of the choice."""

    cells: int
    """N: the number of columns, each of which will get noise."""
    most: int
    """θ_max: the largest θ to choose from."""
    epsilon: Epsilon
    """ε_c: what the choice costs."""
    published: Price
    """With what the counts will be published once (θ, s) is known: ε_p, or ρ."""
    cap: int = 1
    """r: the most that a user counts in one column; 1 for binary rows."""
    scalings: tuple[Fraction, ...] = SCALINGS
    """The s to choose from, within [1, 2], ascending."""
    grid: int = SCORE_GRID
    """G: a row of sum ρ > θ weighs θ·⌊G/ρ⌋/G."""
    rooted: bool = False
    """Whether one user changes the published counts by √θ in L2, not by θ."""

    def __post_init__(self) -> None:
        check_scalings(self.scalings)
        whole_number(self.grid, "the grid of the weights", 1, 2**40)
        check_theta(self.most, self.cells, self.cap, self.most * len(self.scalings))

    def scores(self, table: RowTable) -> Integers:
        """q_s times the positive integer N·G·D·a, a units per count: θ in rows, s in columns.

        One user changes each entry by at most r·N·G·D·a.
        """
        if not table.fits(self.cells, self.cap):
            raise ValueError("the table does not belong to rows over these cells with this cap.")
        whole = self._whole
        numerators = [int(s * whole) for s in self.scalings]
        errors = truncation_errors(
            table,
            most=self.most,
            numerators=numerators,
            whole=whole,
            grid=self.grid,
        )
        cost = NoiseCost(self.published, self.rooted)
        a, unit = cost.unit, self.cells * self.grid  # of the noise term: unit·k·(a times noise)
        noises = [cost.at(theta) for theta in range(1, self.most + 1)]
        # At least 1 instead of the largest error: numpy refuses to multiply even zeros, which
        # a database without records has, by an a beyond 64 bits.
        largest = a * max(int(errors.max(initial=0)), 1) + unit * numerators[-1] * noises[-1]
        kind = np.int64 if largest < 2**63 else object
        noise = unit * np.array(noises, dtype=kind)[:, None] * np.array(numerators, dtype=kind)
        return np.asarray(-(a * errors.astype(kind) + noise))

    @property
    def rate(self) -> Fraction:
        """ε_c/(2r) for scores in the units of :meth:`scores`. The ½ is needed: see the proof."""
        units = self.cells * self.grid * self._whole * NoiseCost(self.published).unit
        return self.epsilon.value / (2 * self.cap * units)

    def pick(self, table: RowTable, draws: Draws) -> tuple[int, Fraction]:
        """Returns (θ, s) distributed as Pr ∝ exp(ε_c·q_s/(2r)) over all candidates."""
        scores = self.scores(table).ravel()
        index = draws.choose(scores.tolist() if scores.dtype == object else scores, self.rate)
        row, column = divmod(index, len(self.scalings))
        return row + 1, self.scalings[column]

    @property
    def _whole(self) -> int:
        """D: every s is a multiple of 1/D."""
        return lcm(*(s.denominator for s in self.scalings))


def given_scalings(given: object, *, one: bool) -> tuple[Fraction, ...]:
    """The s to choose from; with ``one``, the only one."""
    if given is None:
        scalings = SCALINGS
    else:
        pieces = given.split(",") if isinstance(given, str) else given
        if not isinstance(pieces, list | tuple):
            raise UsageError(f"--scalings is a list such as 1,1.1,1.2: received {given!r}.")
        scalings = tuple(exact(piece, "a scaling") for piece in pieces)
    check_scalings(scalings)
    if one and len(scalings) != 1:
        raise UsageError(
            "DPSense-S needs one scaling (--scalings 1.2), or --choose dpsense to choose from them."
        )
    return scalings


def check_scalings(scalings: tuple[Fraction, ...]) -> None:
    """Refuse scalings that the sensitivity is not proved for, or that are not a public grid.

    >>> check_scalings((Fraction(1), Fraction(5, 2)))
    Traceback (most recent call last):
    ...
    crowdtally.errors.UsageError: scalings must be ascending and between 1 and 2: received 1, 2.5.
    """
    if not scalings or not all(isinstance(s, Fraction) for s in scalings):
        raise UsageError("the scalings of DPSense-S must be exact Fractions, at least one.")
    ascending = all(s < t for s, t in pairwise(scalings))
    if not ascending or scalings[0] < 1 or scalings[-1] > 2:
        raise UsageError(
            "scalings must be ascending and between 1 and 2: received "
            f"{', '.join(map(show, scalings))}."
        )
    if lcm(*(s.denominator for s in scalings)) > _FINEST:
        raise UsageError(
            f"the scalings of DPSense-S must be multiples of one 1/d with d at most {_FINEST}."
        )
