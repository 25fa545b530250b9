"""Certificates: exact proportions, and what is claimed of them."""

from fractions import Fraction
from math import comb, exp, log

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

from crowdtally.errors import UsageError
from crowdtally.lab.auditing.certify import (
    at_least,
    at_most,
    certify,
    delta_bound,
    epsilon_bound,
)
from crowdtally.lab.auditing.observe import Runs
from crowdtally.lab.auditing.ratios import Expected
from kit.lab import audited, chooser, cut, dense, discovery, laplace, shared

# ---- What is certified holds as often as it says, comes near the truth, and catches faults -------


RUNS = 30_000
SURE = 1e-6
"""How seldom a test may fail by chance."""


def most_errors(alpha: float, audits: int) -> int:
    return int(stats.binom.isf(SURE, audits, alpha))


def test_the_bound_is_made_of_its_two_halves() -> None:
    seen, runs, alpha = (700, 200), (1000, 900), 0.01
    p, q = float(at_least(700, 1000, 0.005)), float(at_most(200, 900, 0.005))
    assert epsilon_bound(seen, runs, alpha=alpha) == log(p / q)
    assert epsilon_bound(seen, runs, alpha=alpha, delta=0.05) == log((p - 0.05) / q)
    assert delta_bound(seen, runs, alpha=alpha, epsilon=0.5) == p - exp(0.5) * q
    assert epsilon_bound((200, 700), runs, alpha=alpha) == 0
    assert epsilon_bound((20, 0), runs, alpha=alpha, delta=0.05) == 0
    assert delta_bound((200, 700), runs, alpha=alpha, epsilon=0.5) == 0
    assert delta_bound(seen, runs, alpha=alpha, epsilon=1e9) == 0


@pytest.mark.parametrize(("delta", "runs"), [(0.0, 60), (0.0, 2000), (0.1, 2000)])
def test_a_fixed_event_is_certified_too_high_as_seldom_as_it_says(delta: float, runs: int) -> None:
    audits, alpha, p = 4000, 0.2, exp(1) / (1 + exp(1))
    rng = np.random.default_rng(7)
    # Randomised response that shows the answer itself with probability δ: (1, δ) is its true loss.
    first = rng.binomial(runs, delta + (1 - delta) * p, audits)
    second = rng.binomial(runs, (1 - delta) * (1 - p), audits)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    found = [epsilon_bound(seen, (runs, runs), alpha=alpha, delta=delta) for seen in pairs]
    wrong = sum(one > 1 for one in found)
    assert wrong <= most_errors(alpha, audits)
    if runs > 60:
        assert wrong > 0, "a bound that never errs at alpha = 0.2 is too cautious to be this one"


def test_where_nothing_is_lost_a_searched_event_certifies_nothing() -> None:
    audits, alpha = 30, 0.1
    mechanism = dense([0] * 8, 2)
    found = [audited(mechanism, 300, seed=seed, alpha=alpha).epsilon for seed in range(audits)]
    assert sum(one > 0 for one in found) <= most_errors(alpha, audits)


@pytest.mark.long
@pytest.mark.parametrize("training", [100, 400])
def test_a_searched_event_is_certified_too_high_as_seldom_as_it_says(training: int) -> None:
    """The quick siblings are the tests above, of an event that is fixed, and of no loss."""
    audits, alpha = 300, 0.2
    mechanism = dense([1, 0, 0, 0], 1)
    found = [
        audited(mechanism, 400, seed=seed, alpha=alpha, training=training).epsilon
        for seed in range(audits)
    ]
    assert 0 < sum(one > 1 for one in found) <= most_errors(alpha, audits)


def test_only_held_out_runs_count() -> None:
    """What training shows, however plainly, is no evidence."""
    zeros, ones = np.zeros((400, 1), np.int64), np.ones((400, 1), np.int64)
    same = Runs(np.repeat([[0], [1]], 200, axis=0), np.repeat([[1], [0]], 200, axis=0))
    found = certify(Runs(ones, zeros), same, ("a",), claim=1, alpha=0.1)
    assert (found.epsilon, found.seen, found.runs) == (0, (200, 200), (400, 400))
    assert found.expected > 3


def test_the_claimed_delta_is_taken_off() -> None:
    found = audited(dense([1, 0], 1), 2000, delta=0.1)
    assert found.epsilon == epsilon_bound(found.seen, found.runs, alpha=1e-6, delta=0.1) > 0.3
    assert found.epsilon < epsilon_bound(found.seen, found.runs, alpha=1e-6)


def test_several_events_share_alpha() -> None:
    mechanism = dense([1, 1, 0, 0], 2)
    found = audited(mechanism, 4000, alpha=0.01, events=3)
    assert found.alpha == 0.01
    assert found.epsilon == epsilon_bound(found.seen, found.runs, alpha=0.01 / 3)


@pytest.mark.parametrize(
    ("mechanism", "least"),
    [
        pytest.param(dense([1] + [0] * 9, 1), 0.9, id="one cell"),
        pytest.param(dense([0, 1, 0, 0, 1, 0, 0, 0], 2), 0.85, id="two tables"),
        pytest.param(dense([1, 1, 0, 1, 0, 0, 0], 3), 0.75, id="tree of three levels"),
        pytest.param(cut(dense([1] + [0] * 15, 1, base=9), 10), 0.88, id="filter at the cut"),
        pytest.param(cut(dense([0, 2, 0, 0, 2, 0], 4, base=40), 10), 0.8, id="filter above it"),
    ],
)
def test_what_is_certified_comes_near_the_truth(mechanism, least: float) -> None:
    found = audited(mechanism, RUNS)
    assert least <= found.ratio <= 1
    assert found.runs == (RUNS, RUNS)


def test_a_claimed_law_needs_few_runs_to_learn_from() -> None:
    changes = np.array([1] * 6 + [0] * 24)
    expected = Expected(20.0 + changes, np.full(30, 20.0), np.full(30, 6.0))
    mechanism, few = dense(changes.tolist(), 6), {"training": 400, "seed": 3}
    told = audited(mechanism, RUNS, expected=expected, **few)
    assert told.event.startswith(
        "1000 × the claimed Laplace log-likelihood ratio of cell 0, cell 1"
    )
    assert audited(mechanism, RUNS, **few).ratio < 0.2 < told.ratio <= 1


def test_the_loss_of_a_user_who_is_left_out_is_found_in_the_other_direction() -> None:
    """Likelier without the user, and never with her: only one direction shows it."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> np.ndarray:
        return np.asarray((rng.random((runs, 1)) < (0.0 if there else 0.2)), dtype=np.int64)

    found = audited(draw, 2000)
    assert found.epsilon > 2
    assert found.event == "cell 0 is at least 1: likelier without the user"
    assert found.seen[1] == 0


def test_a_scale_of_one_record_less_is_caught() -> None:
    changes, limit = [5, 0, 0, 0], 5
    assert audited(dense(changes, limit - 1), RUNS).epsilon > 1
    assert audited(dense(changes, limit), RUNS).epsilon <= 1


def test_noise_that_two_tables_share_is_caught() -> None:
    found = audited(shared(4, 3, 2 * 2), 5000)
    assert found.epsilon > 3
    assert audited(dense([2, 0, 0, 0], 4), 5000, claim=0.5).ratio <= 1  # either table alone


def test_noise_that_is_shared_in_another_proportion_is_caught() -> None:
    def draw(rng: np.random.Generator, runs: int, there: bool) -> np.ndarray:
        noise = laplace(rng, 4, (runs, 1))
        return np.column_stack([20 + there + 3 * noise, 50 + there + 2 * noise, noise * 0])

    assert audited(draw, 5000).epsilon > 3


def test_a_dropped_half_is_caught_at_the_share_of_the_choice() -> None:
    assert audited(chooser(rate=1), RUNS, claim=1.0).epsilon > 1
    assert audited(chooser(rate=1 / 2), RUNS, claim=1.0).epsilon <= 1
    # The slack of a whole release hides it.
    assert audited(chooser(rate=1), RUNS, claim=4.0).ratio < 1


def test_a_threshold_off_by_one_is_caught_at_its_delta() -> None:
    """l = 2 at ε = 2 and δ = 1/100: T = 6, where δ′ = 0.0098; T = 5 has 0.027."""
    asked = {"claim": 2.0, "delta": 0.01}
    wrong, right = discovery(5, 1, own=2), discovery(6, 1, own=2)
    assert audited(wrong, RUNS, **asked).epsilon > 2
    assert audited(right, RUNS, **asked).epsilon <= 2
    caught = audited(wrong, RUNS, aim="delta", **asked)
    assert caught.delta_bound > 0.01
    assert 0.004 < audited(right, RUNS, aim="delta", alpha=1e-4, **asked).delta_bound <= 0.01


def test_an_outcome_of_a_private_choice_is_learned_within() -> None:
    """Bound and noise follow from the choice: pooled, the cells blur."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> np.ndarray:
        bound = rng.choice([1, 4, 9], runs)
        noise = [laplace(rng, one / 0.5, 2) for one in bound]
        return np.column_stack([bound, bound[:, None] * (8 + there) + np.array(noise)])

    blurred = audited(draw, 8000)
    learned = audited(draw, 8000, strata=(0,))
    assert blurred.ratio < learned.ratio <= 1
    assert learned.ratio > 0.7
    assert "given cell 0" in learned.event


def test_an_event_has_no_condition_that_says_nothing() -> None:
    found = audited(dense([1] + [0] * 9, 1), 20_000)
    assert found.event in {
        "cell 0 is at least 21: likelier with the user",
        "cell 0 is at most 20: likelier without the user",
    }


def test_the_same_runs_have_the_same_certificate() -> None:
    mechanism = cut(dense([1, 1, 0, 0], 2, base=9), 10)
    assert audited(mechanism, 1000) == audited(mechanism, 1000)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"alpha": 0.0}, "alpha must lie between 0 and 1"),
        ({"events": 0}, "events above 0"),
        ({"names": ("a", "b")}, "one column for each name"),
        ({"held_out": Runs(np.zeros((19, 1), np.int64), np.zeros((200, 1), np.int64))}, "20 runs"),
    ],
)
def test_what_cannot_be_certified_is_refused(change: dict, said: str) -> None:
    runs = [Runs(*(np.zeros((200, 1), np.int64) for _ in range(2))) for _ in range(2)]
    asked = {"training": runs[0], "held_out": runs[1], "names": ("a",), "claim": 1, "alpha": 0.1}
    with pytest.raises(UsageError, match=said):
        certify(**{**asked, **change})


def test_runs_of_training_are_not_held_out() -> None:
    both = Runs(*(np.zeros((400, 1), np.int64) for _ in range(2)))
    half = Runs(both.with_user[:200], both.without[:200])
    rest = Runs(both.with_user[200:], both.without[200:])
    assert certify(half, rest, ("a",), claim=1, alpha=0.1).epsilon == 0
    with pytest.raises(UsageError, match="other runs"):
        certify(half, both, ("a",), claim=1, alpha=0.1)


# ---- The bounds on a probability against exact binomial tails ------------------------------------


CASES = [(k, n) for n in (1, 2, 7, 60) for k in sorted({0, 1, n // 3, n - 1, n}) if k <= n]
ALPHAS = (0.25, 0.0005, 1e-7)


def tail(k: int, n: int, p: Fraction) -> Fraction:
    """Pr[Bin(n, p) ≥ k]."""
    return sum((comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), Fraction(0))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("k", "n"), CASES)
def test_the_lower_bound_is_the_largest_that_is_valid(k: int, n: int, alpha: float) -> None:
    bound = Fraction(float(at_least(k, n, alpha)))
    if k == 0:
        assert bound == 0
        return
    assert tail(k, n, bound) <= Fraction(alpha)
    assert tail(k, n, min(bound * (1 + Fraction(1, 10**7)), Fraction(1))) > Fraction(alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("k", "n"), CASES)
def test_the_upper_bound_is_the_smallest_that_is_valid(k: int, n: int, alpha: float) -> None:
    bound = Fraction(float(at_most(k, n, alpha)))
    if k == n:
        assert bound == 1
        return
    assert 1 - tail(k + 1, n, bound) <= Fraction(alpha)
    assert 1 - tail(k + 1, n, bound * (1 - Fraction(1, 10**7))) > Fraction(alpha)


@pytest.mark.parametrize("k", [1, 17, 12_345, 25_000, 49_990])
def test_many_runs_against_balls(k: int) -> None:
    n, alpha = 50_000, 1e-6
    before, ctx.prec = ctx.prec, 200
    try:

        def beyond(seen: int, p: float) -> arb:
            return arb(p).beta_lower(arb(seen), arb(n - seen + 1), regularized=True)

        low, high = float(at_least(k, n, alpha)), float(at_most(k, n, alpha))
        assert beyond(k, low) <= arb(alpha)
        assert beyond(k, low * (1 + 1e-6)) > arb(alpha)
        assert 1 - beyond(k + 1, high) <= arb(alpha)
        assert 1 - beyond(k + 1, high * (1 - 1e-6)) > arb(alpha) or high == 1
    finally:
        ctx.prec = before


def test_arrays_are_bounded_one_by_one() -> None:
    seen = np.array([0, 3, 10])
    assert at_least(seen, 10, 0.01).tolist() == [float(at_least(k, 10, 0.01)) for k in seen]
    assert at_most(seen, 10, 0.01).tolist() == [float(at_most(k, 10, 0.01)) for k in seen]
