"""Cuts and thresholds for a wanted size: against what they are defined by, and their rounding."""

from __future__ import annotations

import inspect
from fractions import Fraction
from math import exp

import pytest

from crowdtally.core.counts import Keeping
from crowdtally.curator.summaries.sparse import (
    expected_size,
    filter_cut,
    priority_threshold,
    sampling_threshold,
)
from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace

CASES = [
    (10**6, 10**5, Fraction(10)),
    (10**18, 10**6, Fraction(10)),
    (10**30, 1, Fraction(1, 3)),
    (10**4, 10**3, Fraction(10**9)),
    (50, 10, Fraction(2)),
]


@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize(("cells", "size", "scale"), CASES)
def test_the_cut_is_the_smallest_that_suffices(cells, size, scale, sides):
    cut = filter_cut(cells, size, DiscreteLaplace(scale), sides=sides)
    assert expected_size(cells, DiscreteLaplace(scale), Keeping(cut, None, sides)) <= size * (
        1 + 1e-12
    )
    if cut > 1:
        assert expected_size(cells, DiscreteLaplace(scale), Keeping(cut - 1, None, sides)) > size


def test_a_size_of_all_cells_cuts_nothing_but_zeros():
    assert filter_cut(10, 10, DiscreteLaplace(Fraction(3))) == 1
    assert filter_cut(10, 10**6, DiscreteLaplace(Fraction(3)), sides="one") == 1
    assert filter_cut(1, 1, DiscreteLaplace(Fraction(3))) == 1


@pytest.mark.parametrize("total", [0, 10**7, Fraction(10**9, 7)])
@pytest.mark.parametrize("cut", [0, 5])
@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize(("cells", "size", "scale"), CASES[:3])
def test_the_threshold_is_the_largest_that_suffices(cells, size, scale, sides, cut, total):
    tau = sampling_threshold(cells, size, DiscreteLaplace(scale), cut=cut, sides=sides, total=total)
    assert expected_size(cells, DiscreteLaplace(scale), Keeping(cut, tau, sides), total) >= size * (
        1 - 1e-12
    )
    more = Keeping(cut, tau * (1 + Fraction(1, 2**14)), sides)
    assert expected_size(cells, DiscreteLaplace(scale), more, total) < size


def test_large_thresholds_agree_with_the_paper():
    """τ ≈ (total + 2Nα/(1−α²))/S where hardly any count is above τ."""
    a = exp(-0.1)
    for total in (0, 10**7):
        tau = sampling_threshold(10**9, 10**5, DiscreteLaplace(Fraction(10)), total=total)
        approximately = (total + 2 * 10**9 * a / (1 - a * a)) / 10**5
        assert float(tau) == pytest.approx(approximately, rel=1e-4)


def test_thresholds_are_short_numbers():
    """16 significant bits: their products with counts stay within 64 bits."""
    for cells, size, scale in CASES:
        for tau in (
            sampling_threshold(cells, size, DiscreteLaplace(scale)),
            priority_threshold(cells, size, DiscreteLaplace(scale)),
        ):
            assert tau.denominator <= 2**15
            assert tau.numerator >> (tau.numerator & -tau.numerator).bit_length() - 1 < 2**16


@pytest.mark.parametrize("cut", [0, 1, 9])
def test_where_too_few_can_be_expected_nothing_is_sampled_away(cut):
    tau = priority_threshold(100, 100, DiscreteLaplace(Fraction(2)), cut=cut)
    assert tau == max(cut, 1)
    assert sampling_threshold(100, 10**6, DiscreteLaplace(Fraction(2)), cut=cut) == max(cut, 1)


@pytest.mark.parametrize("sides", ["one", "two"])
def test_a_priority_sample_expects_more_than_it_needs(sides):
    for size in (1, 10, 1000, 10**6):
        tau = priority_threshold(10**18, size, DiscreteLaplace(Fraction(10)), sides=sides)
        expected = expected_size(10**18, DiscreteLaplace(Fraction(10)), Keeping(0, tau, sides))
        assert size + 1 + 6 * size**0.5 < expected < size + 60 + 6.1 * size**0.5


@pytest.mark.parametrize("function", [filter_cut, sampling_threshold, priority_threshold])
def test_they_see_public_numbers_only(function):
    public = {"cells", "size", "law", "cut", "sides", "total"}
    assert set(inspect.signature(function).parameters) <= public
    assert "Counts" not in function.__code__.co_names


@pytest.mark.parametrize("size", [0, -5, True, 2.0, None])
def test_sizes_that_are_none(size):
    for function in (filter_cut, sampling_threshold, priority_threshold):
        with pytest.raises(UsageError, match="whole number"):
            function(100, size, Fraction(1))


@pytest.mark.parametrize("total", [-1, 1.5, True, None])
def test_totals_that_are_none(total):
    with pytest.raises(UsageError, match="total"):
        sampling_threshold(100, 10, DiscreteLaplace(Fraction(1)), total=total)
