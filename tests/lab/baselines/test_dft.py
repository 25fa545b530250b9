"""DFT: scores from their definition, the law of k, and the scales of the noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest

from crowdtally.core.counts import Counts
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.lab.baselines import dft as module
from crowdtally.lab.baselines.base import Bounded
from crowdtally.lab.baselines.dft import DFT, GRID, Spectrum, basis, measured
from crowdtally.laws.balls import as_ball
from curator.choosing.choice_checks import loss
from kit.recording import Drawn, Recording
from kit.silent import SilentDraws
from kit.subjects import Subject
from kit.tiny import Space
from lab.baselines.conditioned import Held

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
        subject = Subject(Space(2, 2), {"max_records": 1, "count": count})
        assert Bounded.of(subject.request.subject, 3).distinct is distinct


def test_a_table_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 3)
    subject = Subject(Space(2, 2), {"max_records": 1}).request.subject
    with pytest.raises(UsageError, match=r"'dft' transforms at most 3 cells.*'edges' has 4"):
        DFT.of(subject, 3)
