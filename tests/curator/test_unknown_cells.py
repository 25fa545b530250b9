"""Cells that nobody listed: which are kept, and by which threshold."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.choices.selection import Discovered, OtherMass, UnknownCells
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.gaussian_tails import beyond, beyond_at_most, unknown_delta
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit.draws import SilentDraws
from kit.publishing import made

# ---- Unknown cells: the exact and the measured release rate of a one-user cell stay within δ -----


CASES = [
    (limit, epsilon, delta)
    for limit in (1, 2, 10)
    for epsilon in ("1/10", "1", "7")
    for delta in ("0.9", "0.3", "1e-3", "1e-9")
]


def rule(cls=UnknownCells, limit=3, epsilon="1", delta="0.01"):
    return cls(limit, Epsilon.of(epsilon), Delta.of(delta))


class Fixed:
    """Noise as told: one list of values, whatever the scale; the scale is kept."""

    def __init__(self, *noise):
        self.noise = noise

    def laplace(self, scale, size):
        self.scale = scale
        assert size == len(self.noise)
        return np.array(self.noise, dtype=object)

    gaussian = laplace


def passes_with(tried, noise) -> bool:
    """Whether an item that one user has is released under this noise."""
    return tried.select(np.array([1]), Fixed(noise)).places.size == 1


def least_noise(tried) -> int:
    """The least noise that releases a one-user item: it is found by trying, not by formula."""
    around = range(tried.threshold - 4, tried.threshold + 4)
    passing = [noise for noise in around if passes_with(tried, noise)]
    assert passing == list(range(passing[0], around.stop))
    return passing[0]


def release_rate(tried) -> arb:
    """Pr[a one-user item is released] = Pr[X ≥ least noise], by summing the law, certified."""
    with precision(256):
        scale = tried.law.scale
        alpha = (-1 / as_ball(scale)).exp()
        peak = (1 - alpha) / (1 + alpha)
        least = least_noise(tried)
        # Terms from `least` on fall by α each: sum until the geometric rest is below 2^−200.
        terms = [peak * (-abs(k) / as_ball(scale)).exp() for k in _span(tried, least)]
        rest = terms[-1] * alpha / (1 - alpha)
        return sum(terms, arb(0)) + rest / 2 + arb(0, 1) * (rest / 2).upper()


def _span(tried, least):
    assert least >= 0  # the terms fall from here on
    return range(least, least + int(150 * tried.law.scale) + 2)


def within_delta(tried) -> bool:
    """Pr[some of the l items of one user is released] ≤ reported δ ≤ δ; no smaller T would do."""
    rate = release_rate(tried)
    with precision(256):
        exact = 1 - (1 - rate) ** tried.limit
        alpha = (-1 / as_ball(tried.law.scale)).exp()
        reported, asked = as_ball(tried.actual_delta), as_ball(tried.delta.value)
        honest = exact <= reported and not reported > asked
        # Reported to six digits, and one step less noise would pass 1−(1−p)^l ≤ δ no more.
        close = reported <= exact * as_ball(Fraction(100001, 100000))
        least = tried.threshold == 1 or 1 - (1 - rate / alpha) ** tried.limit > asked
        return bool(honest and close and least)


def hockey_stick(tried, one, other, new) -> arb:
    """Σ over outputs of max(0, Pr[A] − e^ε·Pr[B]) for counts that differ as neighbours' do.

    A shared item counts ``one`` under A and ``other`` under B. ``new`` says who alone has a second
    item, with count 1: "A" or "B".
    """
    with precision(256):
        rate, gain = 1 / as_ball(tried.law.scale), as_ball(tried.price.value).exp()
        alone = release_rate(tried)
        span = int(60 * tried.law.scale) + max(one, other) + 2
        first, second = (_outputs(rate, count, tried.threshold, span) for count in (one, other))
        absent = [1 - alone if new == side else arb(1) for side in "AB"]
        differences = [
            absent[0] * a - gain * absent[1] * b for a, b in zip(first, second, strict=True)
        ]
        excess = sum((d.upper() for d in differences if not d <= 0), arb(0))
        return excess + (alone if new == "A" else 0)


def _outputs(rate, count, threshold, span) -> list[arb]:
    """Pr of each released value up to a far one, of what lies beyond, and of no release."""
    alpha = (-rate).exp()
    peak = (1 - alpha) / (1 + alpha)
    values = [peak * (-rate * abs(v - count)).exp() for v in range(threshold, threshold + span)]
    beyond = (-rate * (threshold + span - count)).exp() / (1 + alpha)
    return [*values, beyond, 1 - sum(values, arb(0)) - beyond]


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "0.9"), ("1", "0.4"), ("3", "1e-3")])
@pytest.mark.parametrize("shared", [1, 2, 7])
def test_neighbours_differ_by_no_more_than_epsilon_and_delta(epsilon, delta, shared):
    """A user with one item that others have and one that nobody has comes or goes."""
    tried = rule(limit=2, epsilon=epsilon, delta=delta)
    limit = as_ball(tried.actual_delta)
    assert hockey_stick(tried, shared + 1, shared, "A") <= limit
    assert hockey_stick(tried, shared, shared + 1, "B") <= limit


@pytest.mark.parametrize(("limit", "epsilon", "delta"), CASES)
def test_the_exact_release_rate_is_within_delta(limit, epsilon, delta):
    assert within_delta(rule(limit=limit, epsilon=epsilon, delta=delta))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 30),
    st.fractions(Fraction(1, 4), 30),
    st.fractions(Fraction(1, 10**12), Fraction(99, 100)),
)
def test_the_exact_release_rate_is_within_any_delta(limit, epsilon, delta):
    assert within_delta(rule(limit=limit, epsilon=epsilon, delta=delta))


class Above(UnknownCells):
    """ ">" with the threshold of "≥"."""

    def select(self, counts, draws):
        noise = self.law.draw(draws, len(counts))
        return Discovered(np.flatnonzero(counts + noise > self.threshold), counts)


class OneLess(UnknownCells):
    """ "≥" with the threshold of ">"."""

    @cached_property
    def threshold(self):
        return max(rule_threshold(self) - 1, 1)


class PerItem(UnknownCells):
    """δ for each item, not for the l items of a user."""

    @cached_property
    def threshold(self):
        return UnknownCells(1, self.price * Fraction(1, self.limit), self.delta).threshold


class RateAsScale(UnknownCells):
    @property
    def law(self):
        return DiscreteLaplace(1 / super().law.scale)


class HalfTheTail(UnknownCells):
    """α^(T−1)/2, the continuous tail, in place of α^(T−1)/(1+α)."""

    @cached_property
    def threshold(self):
        share = float(self.limit / self.delta.value) / 2
        return 1 + max(int(np.ceil(float(self.law.scale) * np.log(share))), 0)


def rule_threshold(tried):
    return UnknownCells(tried.limit, tried.price, tried.delta).threshold


@pytest.mark.parametrize("mutant", [Above, OneLess, PerItem, HalfTheTail])
def test_mutants_are_caught(mutant):
    cases = [("2", "7", "1e-3"), ("3", "1", "1e-3"), ("10", "7", "0.3")]
    verdicts = [
        within_delta(rule(mutant, limit=int(limit), epsilon=epsilon, delta=delta))
        for limit, epsilon, delta in cases
    ]
    assert not all(verdicts)


def test_the_noise_has_the_scale_of_the_limit():
    noise = Fixed(0)
    rule(limit=6, epsilon="3/2").select(np.array([1]), noise)
    assert noise.scale == 4
    wrong = Fixed(0)
    rule(RateAsScale, limit=6, epsilon="3/2").select(np.array([1]), wrong)
    assert wrong.scale != 4


@pytest.mark.parametrize(("limit", "delta"), [(1, "0.05"), (3, "0.2")])
def test_the_measured_release_rate_of_a_one_user_item(limit, delta):
    tried = rule(limit=limit, epsilon="1", delta=delta)
    users = 200_000
    released = tried.select(np.ones(users * limit, dtype=np.int64), SystemDraws())
    hit = np.bincount(released.places // limit, minlength=users) > 0
    expected = float(tried.actual_delta)
    tolerance = 6 * np.sqrt(expected * (1 - expected) / users)
    assert abs(hit.mean() - expected) < tolerance, (hit.mean(), expected, tolerance)
    # With teeth: one step of the threshold in either direction would show.
    alpha = float(np.exp(-1 / float(tried.law.scale)))
    assert expected * (1 - alpha) > 2 * tolerance


def test_released_counts_are_the_noisy_ones_in_the_given_order():
    tried = rule(limit=1, epsilon="1", delta="0.01")
    level = tried.threshold
    counts = np.array([100, 1, 50, level, 3])
    released = tried.select(counts, Fixed(-2, 0, level, 0, 2**70))
    assert released.places.tolist() == [0, 2, 3, 4]
    assert released.noisy.tolist() == [98, 50 + level, level, 2**63 - 1]


def test_an_item_that_nobody_kept_does_not_exist():
    """It gets no noise: otherwise a user's items beyond the limit could appear."""
    released = rule().select(np.array([0, 5, 0]), Fixed(10**6))
    assert released.places.tolist() == [1]


def test_no_items():
    released = rule().select(np.array([], dtype=np.int64), SystemDraws())
    assert released.places.size == released.noisy.size == 0


def test_other_is_what_was_not_released():
    tried = OtherMass(6, Epsilon.of("1/2"))
    counts = np.array([100, 1, 50, 2])
    released = Discovered(np.array([0, 2]), np.array([98, 55]))
    noise = Fixed(7)
    assert tried.draw(counts, released, noise) == 3 + 7
    assert noise.scale == 12
    assert OtherMass(6, Rho.of("1/2")).law.variance == 36


@pytest.mark.parametrize("price", [Epsilon.of("1/2"), Rho.of("1/2")])
@pytest.mark.parametrize("noise", [-(2**70), -500, -4, 0, 2**63, 2**70])
def test_no_noise_of_other_is_cut_off(price, noise):
    """Neither below 0 nor beyond 64 bits: a cut would change its law."""
    released = Discovered(np.array([0]), np.array([98]))
    found = OtherMass(6, price).draw(np.array([100, 1, 2]), released, Fixed(noise))
    assert found == 3 + noise


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_one_user_changes_other_by_at_most_the_limit(data):
    """Whatever was released: an exact stability check on neighbours."""
    tried, items = OtherMass(3, Epsilon.of(1)), 6
    kept = st.sets(st.integers(0, items - 1), max_size=3)
    users = data.draw(st.lists(kept, min_size=1, max_size=6))
    places = data.draw(st.sets(st.integers(0, items - 1)).map(sorted))
    released = Discovered(np.array(places, dtype=np.int64), np.zeros(len(places), dtype=np.int64))
    others = [tried.draw(_counts(crowd, items), released, Fixed(0)) for crowd in (users, users[1:])]
    assert 0 <= others[0] - others[1] <= 3


def _counts(users, items):
    return np.array([sum(item in kept for kept in users) for item in range(items)])


def gaussian(cls=UnknownCells, limit=3, rho="0.05", delta="0.01"):
    return cls(limit, Rho.of(rho), Delta.of(delta))


BELLS = [
    (limit, rho, delta)
    for limit in (1, 2, 10)
    for rho in ("1/200", "0.05", "7")
    for delta in ("0.3", "1e-3", "1e-9")
]


def bell_rate(tried) -> arb:
    """Pr[1 + Z ≥ T], by summing Pr[k] ∝ e^(−k²/2σ²) itself."""
    variance = Fraction(tried.limit) / (2 * tried.price.value)
    least, end = least_noise(tried), tried.threshold + 30 * (int(variance**0.5) + 1)
    with precision(256):
        weigh = {k: (-as_ball(Fraction(k * k) / (2 * variance))).exp() for k in range(end)}
        total = 2 * sum(weigh.values(), arb(0)) - weigh[0]
        tail = sum((weigh[abs(k)] for k in range(least, end)), arb(0))
        rest = 2 * end * weigh[end - 1]  # beyond it terms fall faster than a geometric row
        return (tail + rest / 2 + arb(0, 1) * rest.upper()) / (total + rest / 2)


@pytest.mark.parametrize(("limit", "rho", "delta"), BELLS)
def test_gaussian_noise_releases_a_one_user_cell_within_delta(limit, rho, delta):
    """δ₂ is exact by the formula; the noise is that of ρ for l distinct cells."""
    tried = gaussian(limit=limit, rho=rho, delta=delta)
    assert tried.law.variance == Fraction(limit) / (2 * tried.price.value)
    rate = bell_rate(tried)
    with precision(256):
        exact = 1 - (1 - rate) ** limit
        assert exact <= as_ball(tried.actual_delta)
        assert as_ball(tried.actual_delta) <= exact * as_ball(Fraction(100001, 100000))
    assert tried.actual_delta <= tried.delta.value
    if tried.threshold > 1:
        assert unknown_delta(tried.law.variance, limit, tried.threshold - 1) > tried.delta.value


@pytest.mark.parametrize("limit", [1, 3, 10])
@pytest.mark.parametrize("delta", ["0.09", "1e-3", "1e-9"])
def test_the_threshold_is_never_above_that_of_the_union_bound(limit, delta):
    tried = rule(limit=limit, delta=delta)
    with precision(256):
        alpha = (-1 / as_ball(tried.law.scale)).exp()
        share = limit / (as_ball(tried.delta.value) * (1 + alpha))
        union = 1 + (as_ball(tried.law.scale) * share.log()).ceil()
    assert tried.threshold <= int(union.unique_fmpz())


def test_the_exact_rule_has_a_lower_threshold_than_the_union_bound():
    """At δ = 1/10 and l = 10: 1 − (1−p)^10 ≤ 1/10 allows p = 0.01048…, l·p ≤ 1/10 only 0.01."""
    tried = rule(limit=10, epsilon="100", delta="0.1")
    assert tried.threshold == 2
    wide = rule(limit=100, epsilon="1", delta="0.1")
    with precision(128):
        alpha = (-1 / as_ball(wide.law.scale)).exp()
        at_union = 100 * (-as_ball((wide.threshold - 1) / wide.law.scale)).exp() / (1 + alpha)
        assert at_union > as_ball(wide.delta.value)


def test_the_measured_release_rate_of_a_one_user_cell_with_gaussian_noise():
    tried = gaussian(limit=2, rho="0.2", delta="0.08")
    users = 100_000
    released = tried.select(np.ones(users * 2, dtype=np.int64), SystemDraws())
    hit = np.bincount(released.places // 2, minlength=users) > 0
    expected = float(tried.actual_delta)
    tolerance = 6 * np.sqrt(expected * (1 - expected) / users)
    assert abs(hit.mean() - expected) < tolerance, (hit.mean(), expected, tolerance)
    less = float(unknown_delta(tried.law.variance, 2, tried.threshold - 1))
    assert less - expected > 2 * tolerance  # with teeth


def test_what_the_ledger_is_told():
    part = gaussian(limit=10, rho="1/200", delta="1e-6").part("edges")
    assert (part.epsilon, part.rho, part.delta) == (None, Rho.of("1/200"), Delta.of("1e-6"))
    assert part.mechanism == "thresholded-discrete-gaussian"
    assert part.parameters["sigma2"] == "1000"
    assert part.parameters["l2_squared"] == "10"
    laplace = rule(limit=10, epsilon="1", delta="1e-6").part("items")
    assert (laplace.epsilon, laplace.rho) == (Epsilon.of(1), None)
    assert laplace.parameters == {"l1_bound": 10}


def test_tiny_epsilons_and_deltas():
    tried = rule(limit=2, epsilon="1e-20", delta="1e-300")
    assert tried.threshold > 10**22
    assert 0 < tried.actual_delta <= tried.delta.value


@pytest.mark.parametrize("delta", ["1", "0", "-1e-9", "2"])
def test_delta_must_lie_between_0_and_1(delta):
    with pytest.raises(UsageError, match="delta"):
        rule(delta=delta)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, 2**40])
def test_the_limit_is_a_whole_number(limit):
    with pytest.raises(UsageError, match="cells kept per user"):
        rule(limit=limit)


@pytest.mark.parametrize("least", [0, 1, 7, 20])
def test_the_chance_of_a_one_user_cell_is_rounded_up(least):
    """A chance that is rounded down, however little, is one that nobody paid for."""
    for variance in (Fraction(1, 3), Fraction(17), Fraction(1000)):
        told = beyond_at_most(variance, least)
        with precision(512):
            exact = beyond(variance, least)
            assert as_ball(told) >= exact
            assert as_ball(told) <= exact * as_ball(1 + Fraction(1, 2**60))


# ---- What one user adds to a discovery: each cell once, and no more cells than the limit ---------


USERS = 40


def mass(folder: Path, items: list[str], limit: int) -> tuple[list[int], int]:
    """The released counts, and the mass of the rest, where everybody has these records."""
    users = [f"u{user}" for user in range(USERS) for _ in items]
    rows = pa.table({"user": users, "item": items * USERS})
    release = made(
        folder, rows, None, draws=SilentDraws(),
        method=ct.Discover("item", limit), epsilon=100, delta="1e-6",
    )  # fmt: skip
    counts = parquet.read_table(release.folder / "items.parquet")["count"].to_pylist()
    return counts, release.metadata["other"]["count"]


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_user_counts_for_at_most_so_many_items(limit: int, tmp_path: Path) -> None:
    counts, other = mass(tmp_path, ["a", "b", "c", "d", "e", "f"], limit)
    assert sum(counts) + other == limit * USERS


def test_a_user_counts_once_for_an_item(tmp_path: Path) -> None:
    assert mass(tmp_path, ["a", "a", "a", "b"], 4) == ([USERS, USERS], 0)


def test_the_mass_of_others_is_that_of_the_finest_table(tmp_path: Path) -> None:
    """Everybody has one item in one context that all share, and one that nobody else has."""
    users = [f"u{user}" for user in range(USERS) for _ in range(2)]
    contexts = [context for user in range(USERS) for context in ("all", f"c{user}")]
    rows = pa.table({"user": users, "item": ["a"] * 2 * USERS, "context": contexts})
    release = made(
        tmp_path, rows, None, draws=SilentDraws(), roles={"contexts": ["context"]},
        method=ct.Discover(["item", "context"], 2), epsilon=100, delta="1e-6",
    )  # fmt: skip
    tables = {table["name"]: table["cells"] for table in release.metadata["tables"]}
    assert tables == {"items": 1, "edges": 1}
    assert release.metadata["other"]["table"] == "edges"
    assert release.metadata["other"]["count"] == USERS


def test_a_cell_at_the_threshold_is_released() -> None:
    rule = UnknownCells(3, Epsilon.of(1), Delta.of("1e-6"))
    counts = np.array([rule.threshold - 1, rule.threshold, rule.threshold + 1])
    assert rule.select(counts, SilentDraws()).places.tolist() == [1, 2]


@pytest.mark.parametrize("epsilon", ["1e6", "1e300"])
def test_a_delta_too_small_to_write_down_is_rounded_up(epsilon: str) -> None:
    rule = UnknownCells(1, Epsilon.of(epsilon), Delta.of("1e-6"))
    assert rule.threshold == 2
    assert rule.actual_delta == Fraction(1, 10**400)
