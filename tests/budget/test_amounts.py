"""Exact amounts as text."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.budget.amounts import for_people, from_text, to_text


@given(st.fractions())
def test_text_and_back(amount: Fraction) -> None:
    assert from_text(to_text(amount)) == amount


@pytest.mark.parametrize("digits", [3999, 4000, 4001, 8000, 20_001])
def test_more_digits_than_python_converts_at_once(digits: int) -> None:
    amount = Fraction(10 ** (digits - 1) + 7, 3 ** (2 * digits))
    text = to_text(amount)
    assert len(text.split("/")[0]) == digits
    assert from_text(text) == amount
    assert from_text(to_text(-amount)) == -amount
    assert for_people(amount).startswith("about ")


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
