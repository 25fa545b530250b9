"""Exact amounts, and what events cost."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.core.numbers import short
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit
from crowdtally.errors import UsageError
from crowdtally.ledger import (
    Balance,
    Charge,
    Created,
    Drawing,
    LedgerError,
    LimitSet,
    Loss,
    MarkedPublished,
    OverBudgetError,
    Part,
    Reserved,
    TooMuchAtOnceError,
    Voided,
    Withdrawn,
)
from crowdtally.ledger.accountants import accountant
from crowdtally.ledger.amounts import LONGEST, for_people, from_text, is_long, to_text
from crowdtally.ledger.balance import after
from kit.ledgers import ROW, SHA, USER, charge

# ---- What events cost: exact, by one unit, within a limit ----------------------------------------


def spend(balance: Balance, *amounts: object) -> Balance:
    for amount in amounts:
        balance = after(balance, balance.dataset, Reserved(USER, charge(amount)))
    return balance


def test_a_tenth_ten_times_fits_exactly_in_one() -> None:
    balance = spend(Balance("d", limit=Loss(Fraction(1))), *[0.1] * 10)
    assert balance.spent == Loss(Fraction(1))
    assert balance.remaining == Loss()
    with pytest.raises(OverBudgetError):
        spend(balance, "5e-324")


def test_a_hundred_thousand_small_spends_sum_exactly() -> None:
    balance, event = Balance("d", limit=Loss(Fraction(1, 3))), Reserved(USER, charge("1/300000"))
    for _ in range(100_000):
        balance = after(balance, "d", event)
    assert balance.spent.epsilon == Fraction(1, 3)
    with pytest.raises(OverBudgetError):
        after(balance, "d", event)


def test_nothing_rounds_to_free() -> None:
    balance = spend(Balance("d"), 1e308, "5e-324")
    assert balance.spent.epsilon == Fraction(10) ** 308 + Fraction(5) / 10**324
    assert spend(balance, "5e-324").spent.epsilon > balance.spent.epsilon


@pytest.mark.parametrize(
    "number", ["nan", float("nan"), "inf", float("inf"), 0, "0", -0.0, "-0", -1]
)
def test_numbers_that_are_no_budget(number: object) -> None:
    with pytest.raises(UsageError, match="epsilon"):
        charge(number)


def test_over_budget_says_requested_remaining_and_difference() -> None:
    balance = spend(Balance("taxi", limit=Loss(Fraction(1))), "0.9")
    with pytest.raises(OverBudgetError) as caught:
        spend(balance, "0.100000001")
    error = caught.value
    assert error.exit_code == 3
    assert error.requested.epsilon == Fraction("0.100000001")
    assert error.remaining.epsilon == Fraction("0.1")
    assert error.difference.epsilon == Fraction("1e-9")
    assert "requested 0.100000001, remaining 0.1, difference 1e-9" in str(error)
    assert "Nothing was charged" in str(error)
    assert "at most 0.1" in str(error)


def test_delta_has_a_limit_of_its_own() -> None:
    balance = Balance("d", limit=Loss(Fraction(1), Fraction(1, 10**6)))
    balance = after(balance, "d", Reserved(USER, charge("0.1", "1e-6")))
    with pytest.raises(OverBudgetError, match=r"δ: requested 1e-9, remaining 0, .*without δ"):
        after(balance, "d", Reserved(USER, charge("0.1", "1e-9")))
    assert spend(balance, "0.9").remaining == Loss()


def after_delta_was_spent(limit: Loss) -> Balance:
    """A limit set when δ = 1e-9 and ε = 1/2 were spent already."""
    spent = after(Balance("d"), "d", Reserved(USER, charge("1/2", "1e-9")))
    return after(spent, "d", LimitSet(limit, None, "why"))


def test_a_pure_request_is_judged_by_epsilon_alone() -> None:
    balance = after_delta_was_spent(Loss(Fraction(2)))
    balance.require(Loss(Fraction(3, 2)))
    balance = spend(balance, 1)
    assert balance.spent == Loss(Fraction(3, 2), Fraction(1, 10**9))
    with pytest.raises(OverBudgetError, match=r"ε: requested 1, .*ε of at most 0\.5\.") as caught:
        spend(balance, 1)
    assert "δ" not in str(caught.value)


def test_more_delta_than_the_limit_is_refused_with_a_hint_that_works() -> None:
    balance = after_delta_was_spent(Loss(Fraction(2)))
    with pytest.raises(OverBudgetError, match=r"remaining 0, .*a method without δ\. .*--delta D"):
        after(balance, "d", Reserved(USER, charge(1, "1e-12")))
    spend(balance, 1)
    wider = after_delta_was_spent(Loss(Fraction(2), Fraction(3, 10**9)))
    with pytest.raises(OverBudgetError, match=r"ε of at most 1\.5\. Ask for δ of at most 2e-9\. "):
        after(wider, "d", Reserved(USER, charge(2, "3e-9")))


@pytest.mark.parametrize(
    "other", [ROW, PrivacyUnit("user", "client"), PrivacyUnit("person", "user_id")], ids=str
)
def test_units_never_add_up(other: PrivacyUnit) -> None:
    """Users of another column are other users, though both are users."""
    balance = spend(Balance("d"), 1)
    with pytest.raises(UsageError, match=rf"'user:user_id'.*{other.key!r}.*--dataset"):
        after(balance, "d", Reserved(other, charge(1)))
    with pytest.raises(UsageError, match="--dataset"):
        balance.require_unit(other)


def test_a_limit_below_what_was_spent_leaves_nothing() -> None:
    balance = after(spend(Balance("d"), 2), "d", LimitSet(Loss(Fraction(1)), None, "why"))
    assert balance.remaining == Loss()
    with pytest.raises(OverBudgetError, match=r"used up") as caught:
        spend(balance, "1e-9")
    assert caught.value.difference.epsilon == Fraction("1e-9")


def test_a_single_release_has_a_limit_of_its_own() -> None:
    each = Loss(Fraction(1, 10), Fraction(1, 10**9))
    balance = after(None, "d", Created(USER, "sequential", None, each))
    assert balance.each == each
    balance = spend(balance, *[0.1] * 20)
    assert balance.spent == Loss(Fraction(2)), (
        "what fits exactly does, as often as there is a total"
    )
    with pytest.raises(
        TooMuchAtOnceError, match=r"ε = 0\.1, and this one asks for 0\.1000"
    ) as caught:
        spend(balance, "0.100000001")
    assert caught.value.exit_code == 3
    assert (caught.value.each, caught.value.dataset) == (each, "d")
    assert caught.value.requested == Loss(Fraction("0.100000001"))
    with pytest.raises(
        TooMuchAtOnceError, match=r"at most δ = 1e-9, .* asks for 2e-9\. Nothing was"
    ):
        after(balance, "d", Reserved(USER, charge("0.1", "2e-9")))
    after(balance, "d", Reserved(USER, charge("0.1", "1e-9")))


def test_both_limits_hold() -> None:
    limits = LimitSet(Loss(Fraction(1)), Loss(Fraction(3, 5)), "decided")
    balance = after(Balance("d"), "d", limits)
    with pytest.raises(TooMuchAtOnceError):
        spend(balance, "0.7")
    balance = spend(balance, "0.6")
    with pytest.raises(OverBudgetError):
        spend(balance, "0.5")
    assert spend(balance, "0.4").remaining == Loss()


def test_a_limit_set_replaces_all_limits() -> None:
    balance = after(Balance("d"), "d", LimitSet(Loss(Fraction(1)), Loss(Fraction(1, 2)), "a"))
    assert (balance.limit, balance.each) == (Loss(Fraction(1)), Loss(Fraction(1, 2)))
    balance = after(balance, "d", LimitSet(None, None, "lifted"))
    assert balance == Balance("d")


@pytest.mark.parametrize(
    "balance",
    [
        Balance("d"),
        Balance("d", USER, spent=Loss(Fraction(1, 3), Fraction(1, 10**9))),
        Balance("d", ROW, limit=Loss(Fraction(1)), each=Loss(Fraction(1, 2), Fraction(1, 10**6))),
        Balance("d", each=Loss(Fraction(1, 2))),
    ],
)
def test_recorded_and_read_back(balance: Balance) -> None:
    recorded = balance.fields()
    assert Balance.read("d", recorded) == balance
    assert recorded.keys() == {"unit", "accountant", "spent", "limit", "each"}
    with pytest.raises(ValueError, match="other fields"):
        Balance.read("d", {**recorded, "discount": "1"})


def test_what_happens_to_a_charge_without_a_cost_changes_no_sum() -> None:
    balance = spend(Balance("d", limit=Loss(Fraction(9)), each=Loss(Fraction(5))), 1)
    for event in (
        Drawing("1-00000000"),
        MarkedPublished("1-00000000", SHA),
        Withdrawn("1-00000000", "a wrong list"),
    ):
        assert after(balance, "d", event) == balance
        with pytest.raises(UsageError, match="no dataset 'd'"):
            after(None, "d", event)


@pytest.mark.parametrize(
    ("spent", "limit", "words"),
    [
        (("0.79999", 0), ("1", 0), None),
        (
            ("0.8", 0),
            ("1", 0),
            r"^80% of the ε that dataset 'd' may ever spend is spent: 0\.8 of 1",
        ),
        (("0.899", 0), ("1", 0), "^89% of the ε"),
        (("1", 0), ("1", 0), "^100% of the ε"),
        (("3", 0), ("1", 0), "^300% of the ε"),
        (("0.1", "8e-7"), ("1", "1e-6"), r"^80% of the δ that .*: 8e-7 of 1e-6"),
        (("0.1", "7.9e-7"), ("1", "1e-6"), None),
        (("0.1", "1e-9"), ("1", "0"), r"^more than all of the δ .*: 1e-9 of 0"),
        (("1e-324", 0), ("1", 0), None),
    ],
)
def test_a_warning_from_four_fifths_on(
    spent: tuple[str, str], limit: tuple[str, str], words: str | None
) -> None:
    balance = Balance("d", spent=Loss(*map(Fraction, spent)), limit=Loss(*map(Fraction, limit)))
    found = balance.warning()
    if words is None:
        assert found is None
    else:
        assert re.search(words, found or "")
    assert replace(balance, limit=None).warning() is None
    assert Balance("d", limit=Loss(Fraction(1))).warning() is None


def test_a_void_gives_back_exactly() -> None:
    balance = spend(Balance("d"), "1/3", "1/7")
    balance = after(balance, "d", Voided("1-00000000", "certain", Loss(Fraction(1, 3))))
    assert balance.spent.epsilon == Fraction(1, 7)
    balance = after(balance, "d", Reserved(USER, charge("1/3", "1e-9")))
    given_back = Loss(Fraction(1, 3), Fraction(1, 10**9))
    balance = after(balance, "d", Voided("2-00000000", "certain", given_back))
    assert balance.spent == Loss(Fraction(1, 7))


def test_parts_may_not_exceed_the_total() -> None:
    parts = [Part(name, Epsilon.of("0.6"), "discrete-laplace") for name in ("items", "edges")]
    made = Charge("r", Epsilon.of(1), tuple(parts))
    with pytest.raises(UsageError, match=r"sum to ε = 1.2.*total of ε = 1,"):
        after(Balance("d"), "d", Reserved(USER, made))
    hidden = Part("items", Epsilon.of(1), "threshold", delta=Delta.of("1e-9"))
    with pytest.raises(UsageError, match=r"δ = 1e-9"):
        after(Balance("d"), "d", Reserved(USER, Charge("r", Epsilon.of(1), (hidden,))))


def test_an_unknown_accountant_is_refused() -> None:
    with pytest.raises(LedgerError, match=r"'renyi'.*knows only sequential, zcdp"):
        accountant("renyi")
    with pytest.raises(LedgerError, match="'renyi'"):
        after(None, "d", Created(USER, "renyi", None))
    with pytest.raises(LedgerError, match="'renyi'"):
        after(None, "d", Created(USER, "renyi", Loss(Fraction(1))))


def test_descriptions() -> None:
    free = spend(Balance("my data"), "1/3")
    assert free.describe() == (
        "Dataset 'my data': spent so far ε = 1/3 (about 0.333333333333); no limit is set. "
        "To set one: crowdtally ledger limit 'my data' --epsilon E --reason TEXT"
    )
    limited = after(free, "my data", LimitSet(Loss(Fraction(1), Fraction(1, 10**6)), None, "why"))
    assert "of ε = 1, δ = 1e-6; remaining ε = 2/3" in limited.describe()
    assert "single" not in limited.describe()
    stepwise = replace(limited, each=Loss(Fraction(1, 2)))
    assert stepwise.describe() == f"{limited.describe()} A single release may cost ε = 0.5."


# ---- Exact amounts as text -----------------------------------------------------------------------


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
