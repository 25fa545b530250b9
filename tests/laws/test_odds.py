"""ε as odds: what a belief becomes, rounded up and never down."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.laws.conversion import PRIORS, odds, odds_words, percent


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "0.5", "1", "2.948", "8"])
def test_it_is_bayes_rule_rounded_up(epsilon: str, prior: Fraction) -> None:
    p, e = float(prior), exp(float(epsilon))
    exact = p * e / (1 - p + p * e)
    step = 0.001 if exact < 0.999 else 1e-6
    assert exact <= float(odds(Epsilon.of(epsilon), prior)) <= exact + step


def test_certainty_is_said_only_where_it_is_near() -> None:
    half = Fraction(1, 2)
    assert odds(Fraction(10), half) == Fraction(999955, 10**6)
    assert odds(Fraction(100), half) == odds(Fraction(10**6), half) == 1
    assert odds(Fraction(0), half) == half


def test_in_words() -> None:
    assert percent(Fraction(999955, 10**6)) == "99.9955%"
    assert "one of 50% at most 62.3%" in odds_words(Epsilon.of("0.5"))


def test_what_is_no_belief() -> None:
    for prior in (Fraction(0), Fraction(1), 0.5):
        with pytest.raises(ct.UsageError, match="a belief is"):
            odds(Fraction(1), prior)  # type: ignore[arg-type]
    with pytest.raises(ct.UsageError, match="negative"):
        odds(Fraction(-1), Fraction(1, 2))
