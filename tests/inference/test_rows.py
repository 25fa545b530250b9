"""Row lengths, read off a noisy histogram."""

from __future__ import annotations

from math import erf, log, sqrt

import numpy as np
import pytest

from crowdtally.errors import UsageError
from crowdtally.inference import rows
from crowdtally.inference.rows import BINS, BOUNDS, HIGH, LOW, RowLengths, bin_of

SD = 10.0


def lengths(*users: float, start: int = 1, sd: float = SD, rich_from: float = np.inf) -> RowLengths:
    """Of noisy users in bins that follow each other, the first of them rows of ``start``."""
    noisy = np.zeros(BINS)
    first = bin_of(start)
    noisy[first : first + len(users)] = users
    return RowLengths(noisy, sd, rich_from)


def test_bins_follow_each_other_and_bounds_too():
    assert LOW[1:].tolist() == (HIGH[:-1] + 1).tolist()
    assert (LOW[8], HIGH[8], HIGH[-1]) == (9, 16, 16384)
    assert BOUNDS[:33] == (*range(1, 33), 35)
    assert list(BOUNDS) == sorted(set(BOUNDS))


def test_another_number_of_bins_is_refused():
    with pytest.raises(UsageError, match="19 bins: received"):
        RowLengths(np.zeros(13), 1.0)


@pytest.mark.parametrize(
    ("far", "limit"), [(1, 4.0), (2, 4.5), (3, 5.5), (4, 5.5), (5, 7.0), (7, 7.0)]
)
def test_a_bin_joins_the_run_above_its_limit(far: int, limit: float):
    noisy = np.zeros(BINS)
    noisy[0] = 1000.0
    for times, last in ((limit + 0.01, far), (limit, 0)):
        noisy[far] = times * SD
        assert RowLengths(noisy, SD).run == (0, last)


def test_doubling_bins_have_a_lower_limit_next_to_the_run():
    noisy = np.zeros(BINS)
    noisy[12], noisy[13], noisy[11] = 1000.0, 3.6 * SD, 3.4 * SD
    assert RowLengths(noisy, SD).run == (12, 13)


def test_the_run_goes_on_from_where_it_came():
    noisy = np.zeros(BINS)
    noisy[[8, 10, 12, 6]] = [1000, 60, 60, 46]
    assert RowLengths(noisy, SD).run == (6, 12)
    noisy[10] = 0.0
    assert RowLengths(noisy, SD).run == (6, 12)  # 6.0 deviations at a distance of 4
    noisy[12] = 54.0
    assert RowLengths(noisy, SD).run == (6, 8)


def test_weak_is_below_five_deviations():
    assert lengths(49.9).weak
    assert not lengths(50.0).weak


def test_the_law_is_the_best_lognormal():
    truth = np.diff([
        0.0,
        *(0.5 * (1 + erf((log(high + 0.5) - 3.0) / 0.8 / sqrt(2))) for high in HIGH[:-1]),
        1.0,
    ])  # fmt: skip
    found = RowLengths(50_000 * truth, 5.0)._law
    assert found == pytest.approx(50_000 * truth, abs=0.01)


def test_users_lie_between_the_law_and_the_measured():
    found = lengths(4000, 2500, 1500, 800, 400, 200, 100, 60)
    law, y = found._law, found.noisy
    weight = np.maximum((law / 2) ** 2 / ((law / 2) ** 2 + SD**2), y**2 / (y**2 + 9 * SD**2))
    first, last = found.run
    inside = slice(first, last + 1)
    assert found.users_in[inside] == pytest.approx((law + weight * (y - law))[inside])


def test_two_bins_after_the_run_are_taken_from_the_law():
    noisy = RowLengths(np.zeros(BINS), SD).noisy.copy()
    noisy[8:12] = [500, 400, 200, 100]
    noisy[12:14] = [30, 20]
    found = RowLengths(noisy, SD)
    assert found.run == (8, 11)
    assert found.longest == HIGH[13]
    law = found._law[12]
    more = law + law**2 / (law**2 + SD**2) * (min(noisy[12], 3 * SD) - law)
    assert found.users_in[12] == pytest.approx(more)
    rich = RowLengths(noisy, SD, rich_from=100.0)
    assert rich.rich
    assert rich.users_in[12] == pytest.approx(more / 2)
    assert not found.users_in[14:].any()
    assert found.bounds[-1] == found.longest


def test_short_rows_are_not_guessed_at():
    found = lengths(400, 300, 100, 19, 21)
    assert found.short
    assert found.end == 3
    assert found.users_in[3] == 0.0  # below two deviations
    assert found.longest == 5
    seen = lengths(400, 300, 100, 21)
    assert seen.users_in[3] > 0
    assert lengths(*[100.0] * 8).longest == 8  # no rows above 8 where none are seen


def test_rich_needs_users_a_run_and_long_rows():
    users = [900.0, 800, 700, 600, 500, 400, 300, 250, 200]
    assert lengths(*users, rich_from=4000).rich
    assert not lengths(*users, rich_from=6000).rich
    assert not lengths(*users[:8], rich_from=100).rich  # no row above 8
    assert not lengths(9000, start=20, rich_from=100).rich  # one bin


def test_single_bins_are_exact():
    found = lengths(100, 50, 25)
    assert found.kept_each(2)[:3].tolist() == [1, 2, 2]
    users = found.users_in
    assert found.records == pytest.approx(
        users[0] + 2 * users[1] + 3 * users[2] + 4 * users[3] + 5 * users[4]
    )
    assert found.kept(100) == (1.0, pytest.approx(0.0))


@pytest.mark.parametrize("slope", [-3.0, -1.0, 0.0, 1.0, 2.5])
def test_doubling_bins_are_integrals_of_their_density(slope: float):
    noisy = np.zeros(BINS)
    noisy[9:13] = 4000.0 * 2.0 ** (slope * np.arange(4))
    found = RowLengths(noisy, 1.0)
    gamma = found._slopes[11]
    t = np.linspace(LOW[11] - 0.5, HIGH[11] + 0.5, 400_001)
    density = t ** (gamma - 1)
    for bound in (70.0, 100.0, 128.5):
        expected = float((np.minimum(t, bound) * density).sum() / density.sum())
        assert found.kept_each(bound)[11] == pytest.approx(expected, rel=1e-4)
    assert found.kept_each(5)[11] == 5
    assert found.mean_row[11] == pytest.approx(float((t * density).sum() / density.sum()), rel=1e-4)


@pytest.mark.parametrize("slope", [-3.0, -1.0, 0.0, 2.5])
def test_what_a_norm_leaves(slope: float):
    """√(bound·R) of a longer row: its R records have squares that sum to the bound."""
    noisy = np.zeros(BINS)
    noisy[:8], noisy[9:13] = 9000.0, 4000.0 * 2.0 ** (slope * np.arange(4))
    found = RowLengths(noisy, 1.0, by_norm=True)
    gamma = found._slopes[11]
    t = np.linspace(LOW[11] - 0.5, HIGH[11] + 0.5, 400_001)
    density = t ** (gamma - 1)
    for bound in (4.0, 70.0, 128.5):
        expected = float((np.minimum(t, np.sqrt(bound * t)) * density).sum() / density.sum())
        assert found.kept_each(bound)[11] == pytest.approx(expected, rel=1e-4)
    assert found.kept_each(4)[:8] == pytest.approx([1, 2, 3, 4, *np.sqrt([20, 24, 28, 32])])
    whole = RowLengths(noisy, 1.0)
    assert found.records == pytest.approx(whole.records)
    assert all(found.kept(b)[0] >= whole.kept(b)[0] for b in found.bounds)


def test_the_slope_is_half_the_log_of_the_neighbours():
    noisy = np.zeros(BINS)
    noisy[9:12] = [4000, 2000, 3000]
    found = RowLengths(noisy, 1.0)
    users = found.users_in
    expected = 0.5 * log((users[11] + 1) / (users[9] + 1), 2)
    assert found._slopes[10] == pytest.approx(expected)
    assert found._slopes[18] == 0.001  # nothing on either side: not exactly 0


def test_the_shift_is_the_largest_distance_between_lengths():
    found = lengths(1000, *[0.0] * 6, 500)
    assert found.run == (0, 7)
    assert found.users_in[[0, 7]] == pytest.approx([1000, 500], abs=2)
    kept, shift = found.kept(2)
    whole, left = 1000 + 8 * 500, 1000 + 2 * 500
    assert kept == pytest.approx(left / whole, abs=0.01)
    assert shift == pytest.approx(1000 / left - 1000 / whole, abs=0.01)
    assert found.kept(2, above=1) == (pytest.approx(0.25, abs=0.01), pytest.approx(0, abs=0.02))
    assert found.records_up_to(2) == found.users_in[0] + 2 * found.users_in[1]


def test_what_is_kept_grows_with_the_bound():
    found = lengths(300, 500, 800, 600, 300, 100, start=30)
    kept = [found.kept(bound)[0] for bound in found.bounds]
    assert kept == sorted(kept)
    assert kept[-1] == pytest.approx(1.0)
    shifts = [found.kept(bound)[1] for bound in found.bounds]
    assert shifts[0] > 0.1
    assert shifts[-1] == pytest.approx(0.0, abs=1e-9)


def test_unseen_records_by_hand():
    found = lengths(10_000, sd=1.0)
    assert found.run == (0, 0)
    most, hidden, users = found.users_in[0], 0.0, found.users_in
    for k in range(1, BINS):
        width = (HIGH[k] - LOW[k] + 1) / (HIGH[k - 1] - LOW[k - 1] + 1)
        falls = most * width * (found.mean_row[k - 1] / found.mean_row[k]) ** 2.5
        most = min(1.0, falls)  # one deviation: nothing was measured
        hidden += (most - min(users[k], most)) * (found.mean_row[k] - 1)
    assert found.unseen(1) == pytest.approx(hidden)
    assert found.unseen(3) < found.unseen(1) < found.unseen(0)


def test_a_weak_histogram_leaves_more_unseen(monkeypatch: pytest.MonkeyPatch):
    weak = lengths(45)
    much = weak.unseen(0)
    monkeypatch.setattr(rows, "_WEAK_TAIL", rows._TAIL)
    assert much > 1.5 * weak.unseen(0)


def test_doubt_is_the_effect_of_the_noise():
    found = lengths(4000, 2500, 1500, 800, 400, 200, 100, 60, sd=1.0)
    kept, step = found.kept(3)[0], 0.01
    effects = []
    for k in range(8):
        moved = RowLengths(found.noisy, 1.0)
        users = found.users_in.copy()
        users[k] += step
        moved.__dict__["users_in"] = users
        # the bound's count stays what it was: by how much is the estimate of all records off?
        effects.append(
            (moved.records - (users * np.minimum(moved.kept_each(3), moved.mean_row)).sum() / kept)
            / step
        )
    assert found.doubt(3) * found.records == pytest.approx(
        float(np.hypot.reduce(effects)), rel=1e-3
    )
    assert found.doubt(10**6) == pytest.approx(0.0, abs=1e-12)


def test_nobody_is_at_least_one():
    nobody = RowLengths(np.full(BINS, -5.0), 1.0)
    assert nobody.weak
    assert nobody.users == nobody.records == 1.0
    assert nobody.kept(3)[0] == 1.0
