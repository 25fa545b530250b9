"""GS: the order of the cells, the groups, and the mean of a group that is shorter."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crowdtally.core.counts import Counts
from crowdtally.core.privacy import Epsilon
from crowdtally.lab.baselines.base import Bounded
from crowdtally.lab.baselines.gs import GS, Groups, Pair, width
from kit.made import GivenNoise
from kit.recording import Drawn, Recording
from kit.subjects import Subject
from kit.tiny import Space

SUBJECT = Subject(Space(5, 1), {"max_records": 1}).request.subject
METHOD = GS(Bounded.of(SUBJECT, 2), Bounded.of(SUBJECT, 1))
PAIR = Pair(
    Counts(5, np.array([0, 1, 3]), np.array([1, 1, 1]), 1),
    Counts(5, np.arange(5), np.array([10, 4, 3, 20, 7]), 2),
)


def test_a_case_by_hand():
    """Rough 1, 1, 0, 1, 0 and noise make 1, 4, 9, 4, −2: the order is 2, 1, 3, 0, 4, by twos."""
    found = METHOD.release({"items": PAIR}, Epsilon.of(1), GivenNoise([0, 3, 9, 3, -2], [1, -6, 5]))
    # {2, 1}: 3 + 4 + 1; {3, 0}: 20 + 10 − 6; {4}, alone: 7 + 5.
    assert found["items"].tolist() == [12.0, 4.0, 4.0, 12.0, 12.0]


def test_the_scales_are_those_of_one_record_and_of_l_records():
    recording = Recording()
    METHOD.release({"items": PAIR}, Epsilon.of("1/5"), recording)
    assert recording.drawn == [
        Drawn(None, "laplace", Fraction(10), 5),
        Drawn(None, "laplace", Fraction(2 * 10), 3),
    ]


def test_one_record_of_each_user_is_for_the_order():
    assert [table.bound for table in METHOD.sampled.tables] == [1]
    made = GS.of(SUBJECT, 30)
    assert [table.bound for table in made.sampled.tables] == [1]
    assert [table.bound for table in made.bounded.tables] == [30]


@pytest.mark.parametrize(
    ("cells", "columns", "sizes"),
    [(5, 2, [2, 2, 1]), (4, 2, [2, 2]), (3, 7, [3]), (1, 1, [1]), (7, 3, [3, 3, 1])],
)
def test_every_cell_is_in_one_group(cells, columns, sizes):
    groups = Groups.of(np.arange(cells), columns)
    assert groups.sizes.tolist() == sizes
    assert sorted(groups.order.tolist()) == list(range(cells))
    assert groups.order[0] == cells - 1, "the largest comes first"


def test_ties_keep_the_order_of_the_list():
    assert Groups.of(np.zeros(6, dtype=np.int64), 2).order.tolist() == list(range(6))


def test_means_add_up_to_the_sums():
    groups = Groups.of(np.array([3, 1, 4, 1, 5, 9, 2]), 3)
    means = groups.means(groups.sums(Counts(7, np.arange(7), np.arange(7) ** 2, 1)))
    assert means.sum() == pytest.approx(sum(n * n for n in range(7)))


@pytest.mark.parametrize(
    ("bound", "cells", "columns"), [(2314, 3883, 62), (3, 3883, 3), (1, 9, 1), (9, 1, 1), (9, 9, 3)]
)
def test_the_width_follows_from_public_numbers(bound, cells, columns):
    assert width(bound, cells) == columns
