"""Memberships: all cells, exact, never negative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crowdtally.core.counts import Memberships
from crowdtally.errors import UsageError


def test_cells_that_are_not_listed_have_nobody() -> None:
    assert Memberships.of(5, [4, 1], [3, 2]).values.tolist() == [0, 2, 0, 0, 3]
    assert Memberships.of(2, [], []).values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("size", "values", "words"),
    [
        (0, np.zeros(0, dtype=np.int64), "at least 1"),
        (3, np.zeros(2, dtype=np.int64), "all 3 cells"),
        (2, np.zeros(2), "64-bit integers"),
        (2, np.array([1, 2], dtype=object), "64-bit integers"),
        (2, np.array([1, -1]), "fewer than 0"),
    ],
)
def test_what_is_no_number_of_users_is_refused(size: int, values: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Memberships(size, values)
