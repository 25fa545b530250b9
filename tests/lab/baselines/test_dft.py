"""The DFT and GS baselines, and the basis that they share."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import cos, isqrt, pi, sqrt

import numpy as np
import pytest
from scipy.fft import dct, idct

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.lab.baselines import dft as module
from crowdtally.lab.baselines.base import Bounded
from crowdtally.lab.baselines.dft import DFT, GRID, Spectrum, basis, measured
from crowdtally.lab.baselines.gs import GS, Groups, Pair, width
from crowdtally.laws.balls import as_ball
from kit.conditioned import Held, loss
from kit.databases import Space
from kit.draws import Drawn, Recording, SilentDraws
from kit.publishing import GivenNoise
from kit.subjects import Subject

# ---- DFT: scores from their definition, the law of k, and the scales of the noise ----------------


TWO = Epsilon.of(2)  # of which one is for the choice


def spectrum(counts, bound=1, *, distinct=False):
    counts = np.array(counts, dtype=np.int64)
    return Spectrum.of(
        Counts(len(counts), np.arange(len(counts)), counts, bound), distinct=distinct
    )


def weighed(made, epsilon=TWO):
    """rate·score of every k."""
    held = Held()
    measured(made, epsilon, held)
    return list(held.events[0].exponents)


def test_a_case_by_hand():
    """(3, 1): coefficients 4/√2 and 2/√2; one of them leaves out √2, two leave out nothing."""
    made = spectrum([3, 1], bound=5)
    low = round(GRID * 2**-0.5)
    assert made.coefficients.tolist() == [4 * low, 2 * low]
    tails = [tail / GRID for tail in made.tails()]
    assert tails == pytest.approx([2**0.5, 0], abs=1e-3)
    assert made.basis.column_norms == (low, 2 * low)
    assert made.scales(Epsilon.of("1/2")) == [10 * low, 20 * low]


@pytest.mark.parametrize("counts", [[0, 0, 0], [5, 2, 9, 4], [0] * 10 + [700], list(range(40))])
@pytest.mark.parametrize("distinct", [True, False])
def test_scores_and_rate_are_the_defined_ones(counts, distinct):
    made, epsilon = spectrum(counts, bound=6, distinct=distinct), Epsilon.of("9/10")
    matrix = basis(len(counts))
    exponents = []
    for k, norm in zip(matrix.candidates, matrix.column_norms, strict=True):
        kept = sum(int(value) ** 2 for value in matrix.coefficients(np.array(counts))[:k])
        tail = isqrt(matrix.norm**2 * sum(count**2 for count in counts) - kept)
        scale = 6 * norm / Fraction(9, 20)
        noise = isqrt(int(2 * k * scale**2))
        squared = (6 if distinct else 36) * matrix.norm**2
        sensitivity = isqrt(squared) + (isqrt(squared) ** 2 < squared)
        exponents.append(-(tail + noise) * Fraction(9, 20) / (2 * sensitivity))
    assert weighed(made, epsilon) == exponents


def test_the_half_is_needed():
    """A user at the far end takes from what k = 1 leaves out and adds to what k = 2 does."""
    crowd, joined = weighed(spectrum([40, 20, 0])), weighed(spectrum([40, 20, 1]))
    lost = loss(crowd, joined)
    assert as_ball(Fraction(1, 2)) < lost <= as_ball(Fraction(1))


@pytest.mark.parametrize("bound", [4, 9])
def test_records_in_one_cell_move_a_tail_by_all_of_them(bound):
    crowd = weighed(spectrum([40 * bound, 20 * bound, 0], bound))
    joined = weighed(spectrum([40 * bound, 20 * bound, bound], bound))
    assert as_ball(Fraction(1, 2)) < loss(crowd, joined) <= as_ball(Fraction(1))


def test_distinct_cells_move_a_tail_by_their_root():
    crowd = weighed(spectrum([40, 40, 20, 20, 0, 0], 2, distinct=True))
    joined = weighed(spectrum([40, 40, 20, 20, 1, 1], 2, distinct=True))
    assert as_ball(Fraction(1, 4)) < loss(crowd, joined) <= as_ball(Fraction(1))


def test_no_user_moves_a_score_by_more_than_the_bound():
    """Every table of three cells with counts up to 4, and every user of at most two records."""
    tables = list(product(range(5), repeat=3))
    users = [row for row in product(range(3), repeat=3) if 1 <= sum(row) <= 2]
    laws = {}
    for table, user in product(tables, users):
        joined = tuple(a + b for a, b in zip(table, user, strict=True))
        for one in (table, joined):
            if one not in laws:
                laws[one] = spectrum(one, 2).scores(Epsilon.of(9))
    made = spectrum([0, 0, 0], 2)
    for table, user in product(tables, users):
        joined = tuple(a + b for a, b in zip(table, user, strict=True))
        pairs = zip(laws[table], laws[joined], strict=True)
        assert max(abs(one - two) for one, two in pairs) <= made.tail_bound


def test_the_best_k_is_chosen_and_so_many_coefficients_get_noise():
    """Without noise to fear (ε is large) every coefficient is taken, and the table comes back."""
    made = spectrum([7, 0, 3, 12], 1)
    found = measured(made, Epsilon.of(10**6), SilentDraws())
    assert len(found) == 4
    assert made.basis.inverse(found.tolist()) == pytest.approx([7, 0, 3, 12], abs=1e-6)
    assert len(measured(made, Epsilon.of("1/1000"), SilentDraws())) == 1


def test_the_noise_is_scaled_to_the_largest_column():
    recording = Recording()
    made = spectrum([7, 0, 3, 12], bound=5)
    found = measured(made, Epsilon.of("1/3"), recording)
    place = made.basis.candidates.index(len(found))
    share, bound = Fraction(1, 3), 5 * made.basis.column_norms[place]
    assert recording.drawn == [
        Drawn(None, "choose", share / 2 / (2 * 5 * made.basis.norm), 3),
        Drawn(None, "laplace", bound / (share / 2), len(found)),
    ]


def test_a_users_cells_are_distinct_only_where_users_are_counted():
    for count, distinct in (("records", False), ("users", True)):
        subject = Subject(Space(2, 2), {"method": ct.SRA(1), "count": count})
        assert Bounded.of(subject.request.subject, 3).distinct is distinct


def test_a_table_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 3)
    subject = Subject(Space(2, 2), {"method": ct.SRA(1)}).request.subject
    with pytest.raises(UsageError, match=r"'dft' transforms at most 3 cells.*'edges' has 4"):
        DFT.of(subject, 3)


# ---- The integer cosine transform: its entries, its norms, exact products, and its inverse -------


SIZES = [1, 2, 3, 5, 8, 100, 513]


def matrix(cells):
    """All entries."""
    blocks = module._blocks(cells, basis(cells).candidates[-1])
    return np.concatenate([entries for _, entries in blocks], axis=1)


def test_coefficients_are_the_product_with_the_matrix():
    for cells in SIZES[:-1]:
        unit = np.eye(cells, dtype=np.int64)
        columns = np.array([basis(cells).coefficients(column) for column in unit])
        assert (matrix(cells) == columns.T).all()


@pytest.mark.parametrize("cells", SIZES[:-1])
def test_entries_are_within_one_of_the_orthonormal_transform(cells):
    entries = matrix(cells)
    for (i, j), entry in np.ndenumerate(entries):
        scale = sqrt((2 if i else 1) / cells)
        exact = GRID * scale * cos(pi * i * (2 * j + 1) / (2 * cells))
        assert abs(entry - exact) <= 0.51  # certified to be within 1, in fact the nearest


@pytest.mark.parametrize("cells", SIZES)
def test_norms_are_those_of_the_integers_in_use(cells):
    made, entries = basis(cells), matrix(cells)
    powers = [2**i for i in range(10) if 2**i <= cells]
    assert list(made.candidates) == powers
    for k, norm in zip(made.candidates, made.column_norms, strict=True):
        assert norm == np.abs(entries[:k]).sum(axis=0).max()
    singular = np.linalg.svd(entries.astype(np.float64), compute_uv=False)
    assert GRID * 0.999 < singular[0] <= made.norm <= GRID * 1.001


def test_blocks_of_columns_make_one_matrix(monkeypatch):
    counts = np.arange(100) ** 2
    whole = basis(100)
    monkeypatch.setattr(module, "_BLOCK", 7)
    assert basis.__wrapped__(100) == whole
    in_blocks = whole.coefficients(counts).tolist()
    monkeypatch.undo()
    assert whole.coefficients(counts).tolist() == in_blocks


def test_products_beyond_64_bits_are_exact():
    made, few = basis(5), np.array([1, 0, 3, 0, 7])
    many = few * 2**60
    assert made.coefficients(many).tolist() == [
        value * 2**60 for value in made.coefficients(few).tolist()
    ]


@pytest.mark.parametrize("cells", [1, 2, 7, 3883])
def test_the_inverse_undoes_what_was_kept(cells):
    counts = np.random.default_rng(1).integers(0, 1000, cells)
    made = basis(cells)
    exact = dct(counts.astype(np.float64), norm="ortho")
    found = made.coefficients(counts)
    assert found.astype(np.float64) / GRID == pytest.approx(exact[: len(found)], abs=0.01)
    exact[len(found) :] = 0
    assert made.inverse(found.tolist()) == pytest.approx(idct(exact, norm="ortho"), abs=0.01)
    assert made.inverse(found.tolist()[:1]) == pytest.approx(counts.mean(), abs=0.01)


# ---- GS: the order of the cells, the groups, and the mean of a group that is shorter -------------


SUBJECT = Subject(Space(5, 1), {"method": ct.SRA(1)}).request.subject
METHOD = GS.of(SUBJECT, 2)
PAIR = Pair(
    Counts(5, np.array([0, 1, 3]), np.array([1, 1, 1]), 1),
    Counts(5, np.arange(5), np.array([10, 4, 3, 20, 7]), 2),
)


def test_a_case_by_hand_gs():
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
    assert [table.bound for table in made.tables] == [30]


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
