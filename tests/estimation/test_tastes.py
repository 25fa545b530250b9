"""Likings of features: how many users they stand for, and how far they reach."""

from dataclasses import replace

import numpy as np
import pytest

from crowdtally.inference.tastes import Tastes, odds, represented, shrunk_tastes

SHARES = np.array([0.5, 0.3, 0.2])
PROFILE = np.array([0.25, 0.25, 0.5])
TASTES = Tastes(
    np.eye(3), np.zeros((3, 3)), 0.15 * 600 * SHARES, PROFILE, PROFILE**-0.5, 0.15, 1e-6
)  # fmt: skip


def test_the_anchors_say_how_many_users_are_represented():
    assert represented(TASTES, 1000) == pytest.approx(600)
    assert represented(TASTES, 500) == 500  # never more than there are
    assert represented(replace(TASTES, anchors=-TASTES.anchors), 1000) == 50
    noisy = replace(TASTES, deviation=9.0)  # one deviation of the sum is added
    assert represented(noisy, 1000) == pytest.approx(600 + 3**0.5 * 9 / 0.15)


def test_likings_are_relative_to_the_profile():
    """A context whose users have 10% more of each of two features, and less of the third."""
    more = np.array([[0.0, 0.0, 0.025], [0.0, 0.0, 0.025], [0.0, 0.0, -0.05]])
    sums = TASTES.weights[:, None] * more * (600 * SHARES)
    found = shrunk_tastes(replace(TASTES, sums=sums), SHARES, np.zeros(3), 1000)
    ahead = found.mean[:, 2] - found.mean[:, 0]
    assert ahead == pytest.approx([0.1, 0.1, -0.1], abs=0.005)


def test_no_liking_is_endless_where_a_context_is_almost_empty():
    sums = np.array([[0, 0, 900.0], [0, 0, -900.0], [0, 0, 5.0]])
    found = shrunk_tastes(replace(TASTES, sums=sums), SHARES, np.zeros(3), 1000)
    assert np.abs(found.mean).max() == 1.0


def test_a_share_that_is_too_small_by_chance_is_held_up_by_the_anchor():
    sums = TASTES.weights[:, None] * np.array([[0.02], [-0.02], [0.01]]) * (600 * SHARES)
    wrong, unsure = np.array([0.6, 0.39, 0.01]), np.array([0.01, 0.01, 100.0])
    found = shrunk_tastes(replace(TASTES, sums=sums, deviation=1.0), wrong, unsure, 1000)
    assert np.abs(found.mean[:, 2]).max() < 0.1


def test_odds_leave_little_to_what_most_have():
    counts = np.array([-3.0, 0.0, 500.0, 5000.0])
    assert odds(counts, 1000, repeats=False) == pytest.approx([1.0, 1.0, 0.5, 0.1])
    assert odds(counts, 1000, repeats=True) == pytest.approx([1.0] * 4)
