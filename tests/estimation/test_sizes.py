"""What a noisy histogram of row sizes says."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.inference.rows import BINS, read_sizes


def histogram(**users: float) -> list[float]:
    counts = [0.0] * BINS
    for name, count in users.items():
        counts[int(name[1:])] = count
    return counts


def test_only_the_run_around_the_largest_bin_is_kept():
    counts = histogram(b0=50, b1=0.5, b2=300, b3=1000, b4=20, b6=400, b12=-90)
    sizes = read_sizes(counts, 10.0)
    assert sizes.bins == tuple(histogram(b2=300, b3=1000, b4=20))
    assert sizes.users == 1320
    assert sizes.records == pytest.approx(1.38 * (300 * 4 + 1000 * 8 + 20 * 16))


def test_a_bin_must_stand_above_one_deviation_and_a_fifth():
    assert read_sizes(histogram(b3=1000, b4=12.0), 10.0).bins[4] == 0
    assert read_sizes(histogram(b3=1000, b4=12.1), 10.0).bins[4] == 12.1


def test_few_users_make_sizes_unreliable():
    assert not read_sizes(histogram(b3=34, b4=30), 10.0).reliable  # the largest bin
    assert not read_sizes(histogram(b3=40), 10.0).reliable  # all users
    assert read_sizes(histogram(b3=40, b4=30), 10.0).reliable
    nobody = read_sizes([0.0] * BINS, 10.0)
    assert not nobody.reliable
    assert (nobody.users, nobody.lost(5), nobody.kept(5)) == (1.0, 0.5, 0.5)


def test_what_is_lost_falls_straight_then_by_the_cube():
    sizes = read_sizes(histogram(b3=1000), 1.0)
    mean = 1.38 * 8
    assert sizes.lost(1) == pytest.approx((mean - 1) / mean)
    assert sizes.lost(8) == pytest.approx((mean - 8) / mean)
    assert sizes.lost(12) == pytest.approx(0.38 * 8 * 0.5**3 / mean)
    assert sizes.lost(16) == sizes.lost(100) == 0


def test_what_is_lost_is_near_what_rows_of_those_sizes_lose():
    rng = np.random.default_rng(3)
    rows = np.clip(np.rint(np.exp(rng.normal(3.0, 1.0, 20_000))), 1, 8000)
    counts = np.bincount(np.floor(np.log2(rows)).astype(int), minlength=BINS)
    sizes = read_sizes(counts, 10.0)
    for bound in (2, 5, 10, 30, 100):
        lost = np.maximum(rows - bound, 0).sum() / rows.sum()
        assert sizes.lost(bound) == pytest.approx(lost, abs=0.02)


def test_users_of_one_record_lose_nothing():
    sizes = read_sizes(histogram(b0=1000), 1.0)
    assert sizes.only_ones
    assert sizes.lost(1) == 0
    assert not read_sizes(histogram(b0=1000, b1=50), 1.0).only_ones


def test_another_number_of_bins_is_refused():
    with pytest.raises(UsageError, match="13 bins"):
        read_sizes([1.0, 2.0], 1.0)


def test_what_may_be_lost_unseen_is_in_the_bin_above_the_run():
    ones = read_sizes(histogram(b0=1000), 10.0)
    assert ones.hidden(1, 600) == pytest.approx(0.5 * 10 * 1.76 / 1000)
    assert ones.hidden(1, 2) == pytest.approx(0.5 * 10 * 1 / 1000)  # two records at most
    assert ones.hidden(1, 1) == ones.hidden(3, 600) == 0
    assert read_sizes(histogram(b12=1000), 10.0).hidden(1, 10**6) == 0  # there is none above
    assert read_sizes(histogram(b0=1), 10.0).hidden(1, 10**6) == 0


def test_no_more_users_than_two_deviations_above_their_number():
    assert read_sizes(histogram(b2=500, b3=500), 10.0).most_users == pytest.approx(
        1000 + 20 * np.sqrt(2)
    )
    assert read_sizes(histogram(b0=1), 10.0).most_users == np.inf
