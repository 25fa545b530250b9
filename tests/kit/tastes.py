"""People with a taste: each has mostly items of one category, the popular ones of it oftener."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from crowdtally.person.catalogue import Catalogue

TASTES = ("crime", "horror", "space", "western")
EACH = 25
"""Items that have a taste's category; every fifth of them has the next taste's too."""


def catalogue() -> Catalogue:
    """A hundred items; the number of an item is its place."""
    return Catalogue.of({place: _categories(place) for place in range(EACH * len(TASTES))})


def people(number: int, seed: int = 1, length: int = 14) -> Any:
    """Who had what, a row for each person: of ten items about nine are of the person's taste."""
    generator = np.random.default_rng(seed)
    matrix = np.zeros((number, EACH * len(TASTES)), dtype=np.float32)
    within = 1 / (3.0 + np.arange(EACH))  # the first of each taste are the popular ones
    for row in matrix:
        odds = np.tile(within, len(TASTES)) * 0.05
        taste = generator.integers(len(TASTES))
        odds[taste * EACH : (taste + 1) * EACH] = within
        row[generator.choice(len(row), length, replace=False, p=odds / odds.sum())] = 1
    return csr_matrix(matrix)


def _categories(place: int) -> list[str]:
    taste = place // EACH
    return [TASTES[taste], *([TASTES[(taste + 1) % len(TASTES)]] if place % 5 == 0 else [])]
