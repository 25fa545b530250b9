"""ALPA: one noisy total for all cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Counts
from crowdtally.core.privacy import Epsilon
from crowdtally.lab.baselines.base import ALPA, Bounded, total_of
from kit.made import GivenNoise
from kit.recording import Drawn, Recording
from kit.subjects import Subject
from kit.tiny import Space

TWO = Bounded.of(Subject(Space(4, 3), {"max_records": 1}).request.subject, 7)
COUNTED = {
    "items": Counts(4, np.array([0, 2]), np.array([5, 6]), 7),
    "edges": Counts(12, np.array([1, 7, 8]), np.array([5, 1, 5]), 7),
}


def test_a_case_by_hand():
    found = ALPA(TWO).release(COUNTED, Epsilon.of(1), GivenNoise([-3], [13]))
    assert found["items"].tolist() == [2.0] * 4  # (11 − 3)/4
    assert found["edges"].tolist() == [2.0] * 12  # (11 + 13)/12


def test_one_number_is_drawn_for_each_table_with_scale_l_over_its_epsilon():
    recording = Recording()
    ALPA(TWO).release(COUNTED, Epsilon.of("1/5"), recording)
    assert recording.drawn == [Drawn(None, "laplace", Fraction(7 * 10), 1)] * 2


def test_a_total_beyond_64_bits_is_exact():
    counts = Counts(3, np.arange(3), np.full(3, 2**62), 1)
    assert total_of(counts).tolist() == [3 * 2**62]


@pytest.mark.parametrize("noise", [0, 5])
def test_no_records_are_a_total_of_zero(noise):
    empty = {name: Counts(c.size, [], [], 7) for name, c in COUNTED.items()}
    found = ALPA(TWO).release(empty, Epsilon.of(1), GivenNoise([noise], [noise]))
    assert found["items"].tolist() == [noise / 4] * 4
