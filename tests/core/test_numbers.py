"""Exact numbers: what people type is what the noise table gets, to the last digit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.numbers import LARGEST, exact, show
from crowdtally.core.privacy import Delta, Epsilon
from crowdtally.errors import UsageError

positive = st.fractions(min_value=Fraction(1, 10**40), max_value=10**40)


@settings(deadline=None)
@given(st.fractions() | st.fractions(max_denominator=10**6))
def test_shown_and_read_again(number: Fraction) -> None:
    assert exact(show(number), "x") == number


@settings(deadline=None)
@given(st.integers(-(10**300), 10**300), st.integers(0, 200))
def test_decimals_are_shown_and_read_again(digits: int, places: int) -> None:
    number = Fraction(digits, 10**places)
    assert exact(show(number), "x") == number


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_its_shortest_decimal(number: float) -> None:
    assert exact(number, "x") == Fraction(Decimal(repr(number)))


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_a_decimal_as_typed(number: Decimal) -> None:
    assert exact(str(number), "x") == Fraction(number)


def test_what_people_type() -> None:
    cases = {
        "0.1": Fraction(1, 10), "1/3": Fraction(1, 3), ".5": Fraction(1, 2), "5.": Fraction(5),
        "1e-9": Fraction(1, 10**9), "1E3": Fraction(1000), " 2 ": Fraction(2), "+1": Fraction(1),
        "-0": Fraction(0), "2/6": Fraction(1, 3), "5e-324": Fraction(5, 10**324),
    }  # fmt: skip
    assert {text: exact(text, "x") for text in cases} == cases
    assert exact(0.1, "x") * 10 == 1, "a float is not its binary expansion"
    assert sum([exact(0.1, "x")] * 10) == 1
    assert exact(Fraction(1, 7), "x") == Fraction(1, 7)
    assert exact(np.float64(0.1), "x") == Fraction(1, 10)


def test_shown_shortly() -> None:
    cases = {
        Fraction(1, 10): "0.1", Fraction(1, 3): "1/3", Fraction(1, 10**9): "1e-9",
        Fraction(499999999, 10**9): "0.499999999", Fraction(2): "2", Fraction(-1, 4): "-0.25",
        Fraction(10**20): "1e20", Fraction(1, 3 * 10**9): "1/3000000000", Fraction(0): "0",
        Fraction(12345, 10**12): "1.2345e-8",
    }  # fmt: skip
    assert {number: show(number) for number in cases} == cases


@pytest.mark.parametrize(
    "text",
    ["", "abc", "NaN", "nan", "inf", "-inf", "Infinity", "1/0", "1/2/3", "1,5", "1e", "e5", "0x10",
     "1_000", "١", "1 000", "--1", "1/3.5", "1e5/3", "½", None, True, [], 1j, b"1", Decimal(1),
     float("nan"), float("inf"), "9" * 1001],
)  # fmt: skip
def test_not_a_number(text: object) -> None:
    with pytest.raises(UsageError, match="the share must be an exact finite number"):
        exact(text, "the share")


@pytest.mark.parametrize("text", ["1e309", "1e400", "1e401", 10**309, "-1e400", "9" * 400])
def test_too_large(text: object) -> None:
    with pytest.raises(UsageError, match="x is too large: received"):
        exact(text, "x")


def test_ends() -> None:
    assert exact("1e308", "x") < LARGEST
    assert exact("1e-400", "x") > 0
    with pytest.raises(UsageError, match="too small"):
        exact("1e-401", "x")
    with pytest.raises(UsageError, match="too large"):
        exact("1e99999999999999999999", "x")
    with pytest.raises(UsageError) as caught:
        exact("7" * 5000, "x")
    assert len(str(caught.value)) < 200, "a message repeats no more than the start of it"


@settings(deadline=None)
@given(positive, positive)
def test_epsilon(first: Fraction, second: Fraction) -> None:
    assert Epsilon.of(show(first)).value == first
    assert (Epsilon(first) < Epsilon(second)) == (first < second)
    assert (Epsilon(first) * second).value == first * second
    assert Epsilon.of(str(Epsilon(first))) == Epsilon(first)
    assert hash(Epsilon(first)) == hash(Epsilon.of(show(first)))


@pytest.mark.parametrize("number", [0, -1, "0", "-0", "-1/3", 0.0, -0.0, -5e-324])
def test_epsilon_is_positive(number: object) -> None:
    with pytest.raises(UsageError, match="greater than 0"):
        Epsilon.of(number)


def test_epsilon_refuses_floats_inside() -> None:
    with pytest.raises(UsageError, match="must be a Fraction"):
        Epsilon(0.1)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        Epsilon.of("1") * Fraction(0)
    assert Epsilon.of(Epsilon.of("1/3")).value == Fraction(1, 3)
    assert ct.Epsilon is Epsilon


def test_delta() -> None:
    assert Delta().value == 0
    assert Delta.of("1e-9").value == Fraction(1, 10**9)
    assert str(Delta.of("1e-9")) == "1e-9"
    for wrong in (1, "1", "1.5", -1, "-1e-9"):
        with pytest.raises(UsageError, match="at least 0 and below 1"):
            Delta.of(wrong)


def test_a_number_of_too_many_digits_is_refused() -> None:
    """Whatever shows or records it would fail, perhaps after the charge."""
    for number in (Fraction(1, 3**5000), 2 + Fraction(1, 10**1100)):
        with pytest.raises(UsageError, match="more than 1,000 digits"):
            ct.Epsilon.of(number)
