"""The public list, and the statistics that the choices read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.curator.choices.bounds import RowSums, RowTable, log_spaced
from crowdtally.errors import UsageError


@given(st.integers(1, 10**9), st.integers(1, 50))
def test_candidates_rise_from_one_to_the_largest_by_a_bounded_ratio(most, fineness):
    candidates = log_spaced(most, fineness=fineness)
    assert candidates[0] == 1
    assert candidates[-1] == most
    for one, next_one in pairwise(candidates):
        assert one < next_one <= max(one + 1, one + one // fineness)


def test_small_candidates_are_all_there():
    assert log_spaced(1000)[:16] == tuple(range(1, 17))


@pytest.mark.parametrize("most", [0, -1, 2.5, True])
def test_the_largest_candidate_is_a_whole_number(most):
    with pytest.raises(UsageError, match="largest candidate"):
        log_spaced(most)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))), st.lists(st.integers(0, 40)))
def test_users_above(entries, bounds):
    sums = np.array([s for s, _ in entries], dtype=np.int64)
    users = np.array([u for _, u in entries], dtype=np.int64)
    above = RowSums(sums, users).above(np.array(bounds, dtype=np.int64)).tolist()
    assert above == [sum(u for s, u in entries if s > bound) for bound in bounds]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (([1, 2], [1]), "one length"),
        (([1.0], [1]), "64-bit integers"),
        (([-1], [1]), "negative"),
        (([1, 2], [2**61, 2**61]), "add up"),
    ],
)
def test_faulty_statistics_are_refused_without_showing_a_value(arrays, words):
    with pytest.raises(ValueError, match=words) as raised:
        RowSums(*map(np.array, arrays))
    assert str(2**61) not in str(raised.value)


def test_faulty_tables_are_refused():
    with pytest.raises(ValueError, match="one length"):
        RowTable(np.array([1]), np.array([0]), np.array([1, 2]))
