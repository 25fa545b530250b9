"""Priority samples and the sizes of summaries."""

from __future__ import annotations

import inspect
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.base import Summary
from crowdtally.curator.summaries.priority import prioritised
from crowdtally.curator.summaries.sparse import (
    expected_size,
    filter_cut,
    priority_threshold,
    sampling_threshold,
)
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit.summaries import priority_summary

# ---- Priority samples: which cells, which τ_S, what happens when there are too few ---------------


ONE = Epsilon.of(1)


def sample(values: list[int], threshold: Fraction | None = None, cut: int = 0) -> Summary:
    cells = np.arange(len(values)) * 10
    return Summary(
        "threshold", cells, np.array(values), 10**6, {}, Keeping(cut, threshold), threshold
    )


class Tickets(SystemDraws):
    """u·2^126 − 1 of each cell, as given."""

    def __init__(self, *tickets: int) -> None:
        super().__init__()
        halves = [(t - 1) >> 63 for t in tickets], [(t - 1) & (2**63 - 1) for t in tickets]
        self._halves = [np.array(half, dtype=np.uint64) for half in halves]

    def uniforms_below(self, bounds):
        assert (bounds == np.uint64(2**63)).all()
        return self._halves.pop(0)


def reference(values: list[int], tau: Fraction | None, tickets: list[int], size: int):
    stakes = [max(Fraction(abs(v)), tau or Fraction(0)) for v in values]
    ranked = sorted(
        range(len(values)), key=lambda i: (-stakes[i] / Fraction(tickets[i], 2**126), i)
    )
    last = ranked[size]
    return sorted(ranked[:size]), stakes[last] / Fraction(tickets[last], 2**126)


@pytest.mark.parametrize("tau", [None, Fraction(7), Fraction(22, 7), Fraction(2**70, 3)])
def test_the_highest_priorities_and_the_next_one(tau):
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 19):
        values = [int(v) or 1 for v in rng.integers(-30, 30, 20)]
        tickets = [int(a) << 63 | int(b) for a, b in rng.integers(1, 2**63, (20, 2))]
        found = prioritised(sample(values, tau), size, Tickets(*tickets))
        kept, following = reference(values, tau, tickets, size)
        assert (found.cells // 10).tolist() == kept
        assert found.values.tolist() == [values[i] for i in kept]
        assert found.threshold == following
        assert not found.short


def test_neighbours_that_floats_cannot_tell_apart_are_ordered_exactly():
    """Priorities that differ in the 120th bit; and small tickets, whose upper half is 0."""
    base = 2**125
    tickets = [base + 3, base + 1, base + 4, base + 2]
    found = prioritised(sample([5, 5, 5, 5]), 2, Tickets(*tickets))
    assert (found.cells // 10).tolist() == [1, 3]
    assert found.threshold == Fraction(5 * 2**126, base + 3)
    found = prioritised(sample([5, 5, 5]), 1, Tickets(3, 1, 2))
    assert (found.cells // 10).tolist() == [1]
    assert found.threshold == Fraction(5 * 2**126, 2)


def test_equal_priorities_fall_to_the_earlier_cell():
    found = prioritised(sample([4, 2, 4]), 1, Tickets(8, 4, 8))
    assert found.cells.tolist() == [0]
    assert found.threshold == Fraction(2**126, 2)


@pytest.mark.parametrize("drawn", [0, 1, 3])
def test_a_sample_that_falls_short_is_published_as_it_is(drawn):
    before = sample([7, -8, 9][:drawn], Fraction(100))
    found = prioritised(before, 3, Tickets())
    assert found.short
    assert found.values.tolist() == before.values.tolist()
    assert found.threshold == Fraction(100)
    assert found.facts()["short"] is True


def test_weights_of_zero_have_no_priority():
    found = prioritised(sample([0, 3, 0, -2]), 1, Tickets(2**125, 2**120))
    assert found.cells.tolist() == [30]
    assert found.threshold == Fraction(3 * 2)
    assert prioritised(sample([0, 0]), 1, Tickets()).cells.tolist() == []


def test_values_beyond_64_bits():
    values = np.array([10**30, 5, -(10**31)], dtype=object)
    before = Summary("threshold", np.arange(3), values, 3, {}, Keeping(0, Fraction(9, 2)))
    found = prioritised(before, 1, Tickets(2**125, 2**125, 2**125))
    assert found.values.tolist() == [-(10**31)]
    assert found.threshold == 2 * 10**30


COUNTS = Counts(10**12, np.arange(5) * 10**11, np.full(5, 10**6), l1_bound=1)


def test_it_never_draws_again():
    """Whatever comes out, there is one draw of the listed cells' noise and one of the hits."""
    calls = []

    class Counting(SystemDraws):
        def laplace(self, scale, size):
            calls.append("laplace")
            return super().laplace(scale, size)

        def hits(self, p, cells):
            calls.append("hits")
            return super().hits(p, cells)

    found = priority_summary(COUNTS, ONE, Counting(), size=1000, cut=100)
    assert found.short
    assert calls == ["laplace", "hits"]


@pytest.mark.parametrize("cut", [0, 5])
@pytest.mark.parametrize("sides", ["one", "two"])
def test_it_rarely_falls_short_and_never_exceeds_the_size(cut, sides):
    for size in (1, 30, 1000):
        found = priority_summary(COUNTS, ONE, SystemDraws(), size=size, cut=cut, sides=sides)
        assert len(found.cells) == size
        assert not found.short
        assert found.threshold > found.keeping.threshold
        assert found.publishing == ("filter-priority" if cut else "priority")


def parameters(counts: Counts, publish=priority_summary) -> dict:
    """All that is published, but for what the sample itself decides."""
    found = publish(counts, ONE, SystemDraws(), size=50, cut=3).facts()
    assert found.pop("estimating_threshold")
    return found


# Differs from COUNTS in everything that is private.
OTHER = Counts(10**12, np.arange(900) * 10**9, np.full(900, 10**9), l1_bound=1)


def test_parameters_come_from_public_numbers_alone():
    assert parameters(COUNTS) == parameters(OTHER)


def test_mutant_a_threshold_from_the_total_is_caught():
    def from_the_total(counts, epsilon, draws, *, size, cut):
        tau = Fraction(int(counts.values.sum()), size)
        return priority_summary(counts, epsilon, draws, size=size, cut=cut, threshold=tau)

    assert parameters(COUNTS, from_the_total) != parameters(OTHER, from_the_total)


def test_a_filter_can_be_sampled_afterwards():
    whole = filter_summary(COUNTS, ONE, SystemDraws(), cut=20)
    found = prioritised(whole, 10, SystemDraws())
    assert found.publishing == "filter-priority"
    assert set(found.cells.tolist()) <= set(whole.cells.tolist())


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None, "3", 2**41])
def test_sizes_that_are_none(size):
    with pytest.raises(UsageError, match="size must be a whole number"):
        priority_summary(COUNTS, ONE, SystemDraws(), size=size)
    with pytest.raises(UsageError, match="size must be a whole number"):
        prioritised(sample([1]), size, SystemDraws())


# ---- Cuts and thresholds for a wanted size: against what they are defined by, and their
#      rounding


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
def test_sizes_that_are_none_sizes(size):
    for function in (filter_cut, sampling_threshold, priority_threshold):
        with pytest.raises(UsageError, match="whole number"):
            function(100, size, Fraction(1))


@pytest.mark.parametrize("total", [-1, 1.5, True, None])
def test_totals_that_are_none(total):
    with pytest.raises(UsageError, match="total"):
        sampling_threshold(100, 10, DiscreteLaplace(Fraction(1)), total=total)
