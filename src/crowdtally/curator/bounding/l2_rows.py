"""Rows scaled down to a Euclidean norm of θ, for Gaussian noise.

A row whose sum of squares Q exceeds θ² is scaled by θ/√Q, on an integer grid of g units per count:
each count of it weighs w = ⌊√(g²θ²/Q)⌋, in any other row g. So a user who has many cells keeps far
more of each than a row scaled to a *sum* of θ does, while Gaussian noise is no larger.

Contract: one user changes the sums of weights by at most g·θ in L2, for every database, where Q is
the sum of squares of exactly the row that is scaled. Nothing may be added up over her cells
afterwards, neither by a transform nor by item or context: a sum over c of them moves by up to √c
times as much. The proof note is ``l2_rows.md``.
"""

from __future__ import annotations

from itertools import count
from math import isqrt

import numpy as np

from crowdtally.curator.bounding.dpsense import GRID
from crowdtally.records.engine import HELD_AT, Engine, Rows, held_sum

_NUMBERS = count()
"""What an engine holds keeps its name: no later table may take its place."""


def l2_weighted(engine: Engine, amounts: Rows, theta: int) -> Rows:
    """Returns (cell, weight) in units of 1/g: Σ weight² of each user is at most g²θ².

    Args:
        engine: what runs it.
        amounts: (user, cell, amount): each cell of a user once, amounts of 0 … 2^26.
        theta: θ, the largest norm that is left alone.
    """
    number = next(_NUMBERS)
    squares = amounts.group_by("user").agg(squares=held_sum(amounts.amount * amounts.amount))
    squares = engine.materialise(squares, f"squares_{number}")
    found = engine.arrays(squares.select("squares").distinct())["squares"]
    weights = np.array([weight_of(one, theta) for one in found.tolist()], dtype=np.int64)
    loaded = engine.load(f"weights_{number}", {"squares": found, "each": weights})
    rows = amounts.inner_join(squares.inner_join(loaded, "squares"), "user")
    return rows.select("cell", weight=(rows.amount * rows.each).cast("int64"))


def weight_of(squares: int, theta: int) -> int:
    """What one count weighs in a row with this sum of squares, in units.

    A sum that is held, and may be larger in truth, leaves nothing of its row.

    >>> weight_of(9, 3) == GRID, weight_of(4, 1) == GRID // 2, weight_of(2**61, 2**31)
    (True, True, 0)
    """
    if squares >= HELD_AT:
        return 0
    most = (GRID * theta) ** 2
    return isqrt(most // squares) if squares > theta**2 else GRID
