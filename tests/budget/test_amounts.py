"""Exact amounts as text."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.core.numbers import short
from crowdtally.ledger.amounts import LONGEST, for_people, from_text, is_long, to_text


@given(st.fractions())
def test_text_and_back(amount: Fraction) -> None:
    assert from_text(to_text(amount)) == amount


@given(st.integers(1, 10**1200), st.integers(1, 10**1200))
def test_a_long_sum_is_rounded_up_and_hardly(top: int, bottom: int) -> None:
    exact = Fraction(top, bottom)
    found = short(exact)
    assert max(len(str(exact.numerator)), len(str(exact.denominator))) > 700 or found == exact
    assert found >= exact
    assert found - exact <= max(exact / 10**58, Fraction(1, 10**360))
    assert len(str(found.denominator)) <= 700
    assert from_text(to_text(found)) == found


@pytest.mark.parametrize("power", [699, 700, 701, 4301, 20_000])
def test_digits_are_counted_at_powers_of_ten(power: int) -> None:
    for number in (10**power - 1, 10**power, 10**power + 1):
        digits = power + (number >= 10**power)
        assert (short(Fraction(1, number)) == Fraction(1, number)) == (digits <= 700)
        assert is_long(Fraction(number)) == (digits + 1 > LONGEST)


def test_what_is_less_than_anybody_types_is_rounded_up_too() -> None:
    assert short(Fraction(1, 10**998)) == Fraction(1, 10**360)


def test_a_text_that_no_amount_has_is_not_read() -> None:
    with pytest.raises(ValueError, match="more digits than any"):
        from_text("1/" + "3" * 4000)


@pytest.mark.parametrize(
    "text",
    [
        "2/4",
        "1/1",
        "01",
        "+1",
        "-0",
        "1/0",
        " 1",
        "1 ",
        "0.1",
        "1e3",
        "",
        "1/-3",
        "١",
        None,
        1,
        1.0,
    ],
)
def test_only_the_canonical_form_is_read(text: object) -> None:
    with pytest.raises(ValueError, match=r"canonical|lowest"):
        from_text(text)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(5) / 10**324, "5e-324"),
        (Fraction(10) ** 308, "1e308"),
        (Fraction(1, 3), "1/3 (about 0.333333333333)"),
        (1 - Fraction(1, 10**9), "0.999999999"),
        (1 - Fraction(5) / 10**324, "about 1"),
        (Fraction(0), "0"),
    ],
)
def test_people_see_small_amounts(amount: Fraction, shown: str) -> None:
    assert for_people(amount) == shown
