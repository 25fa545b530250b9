"""A price that is charged as one and spent table by table: each once, never more than the whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdtally.core.privacy import Delta, Epsilon, Price, PrivacyUnit, Rho
from crowdtally.curator.converse import (
    IN_STEPS,
    WHOLE,
    Account,
    Asking,
    Conversation,
    Facts,
    Steps,
)
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.questions import Noisy, Question
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.ledger import Charge, Ledger, Part
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.engine import Dropped

EPSILON, DELTA = Fraction(3, 2), Delta.of("1e-6")
GRANTED = rho_of(EPSILON, DELTA)
LITTLE = Fraction(1, 10**30)


def pure(name: str, epsilon: Fraction, **more: Any) -> Part:
    return Part(name, Epsilon(epsilon), "discrete-laplace", **more)


def zcdp(name: str, rho: Fraction, **more: Any) -> Part:
    return Part(name, None, "discrete-gaussian", rho=Rho(rho), **more)


class Asks(Question):
    """Some parts, and whether noise was drawn."""

    def __init__(self, *parts: Part) -> None:
        self._parts, self.drawn = parts, False

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def draw(self, exact: Any, draws: Draws) -> Noisy:
        self.drawn = True
        return Noisy(())


def answered(account: Account, asked: list[tuple[Part, ...]]) -> list[bool]:
    """Which questions were drawn; the first that is not paid for stops the release."""
    questions = [Asks(*parts) for parts in asked]

    def asking() -> Asking:
        for question in questions:  # noqa: UP028 - a tuple cannot be sent answers
            yield question
        return Facts()

    talk = Conversation(asking(), lambda _: Read(None, Dropped(0, 0, 0)))
    with suppress(CrowdtallyError):
        talk.finish(account, SystemDraws())
    return [question.drawn for question in questions]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as opened:
        yield opened


def account_of(ledger: Ledger, kind: str) -> Account:
    """In ε; in ρ; in ε that may be turned; in ε and δ for a ρ that the dataset cannot count."""
    whole = Epsilon(EPSILON)
    if kind == "rho":
        part = Part("auto", None, IN_STEPS, rho=Rho(GRANTED))
        charge = Charge.by_rho("release", [part], {})
    else:
        delta = Delta() if kind == "epsilon" else DELTA
        part = Part("auto", whole, IN_STEPS, {}, delta)
        if kind == "as one":
            facts = {"rho": str(GRANTED), "parts": ["auto"], IN_STEPS: True}
            part = Part("release", whole, WHOLE, facts, delta)
        charge = Charge("release", whole, (part,), delta=delta)
    return Account.of(ledger.reserve("town", PrivacyUnit("user", "who"), charge, new_dataset=True))


THIRD = EPSILON / 3
REST = rho_of(EPSILON - THIRD, DELTA)
"""What is granted once a third of ε is spent."""
IN_RHO = GRANTED / 3
CASES: list[tuple[str, list[tuple[Part, ...]], int]] = [
    ("epsilon", [(pure("sizes", THIRD),), (pure("items", EPSILON - THIRD),)], 2),
    ("epsilon", [(pure("sizes", THIRD),), (pure("items", EPSILON - THIRD + LITTLE),)], 1),
    ("epsilon", [(pure("sizes", EPSILON + LITTLE),)], 0),
    ("epsilon", [(pure("sizes", THIRD), pure("items", EPSILON - THIRD + LITTLE))], 0),
    ("epsilon", [(pure("sizes", EPSILON),), (pure("items", LITTLE),)], 1),
    ("epsilon", [(pure("items", THIRD),), (pure("items", THIRD),)], 1),
    ("epsilon", [(pure("items", THIRD), pure("items", THIRD))], 0),
    ("epsilon", [(pure("items", THIRD),), ()], 1),
    ("epsilon", [(zcdp("items", LITTLE),)], 0),
    ("epsilon", [(pure("items", THIRD, delta=DELTA),)], 0),
    ("epsilon", [(pure("items", THIRD, selects=True),)], 0),
    ("rho", [(zcdp("sizes", IN_RHO),), (zcdp("items", GRANTED - IN_RHO),)], 2),
    ("rho", [(zcdp("sizes", IN_RHO),), (zcdp("items", GRANTED - IN_RHO + LITTLE),)], 1),
    ("rho", [(pure("sizes", LITTLE),)], 0),
    ("rho", [(zcdp("sizes", IN_RHO, delta=DELTA),)], 0),
    ("turned", [(pure("sizes", THIRD),), (zcdp("items", REST),)], 2),
    ("turned", [(pure("sizes", THIRD),), (zcdp("items", REST + LITTLE),)], 1),
    ("turned", [(pure("sizes", THIRD),), (zcdp("items", REST),), (zcdp("head", LITTLE),)], 2),
    ("turned", [(zcdp("items", GRANTED),)], 1),
    ("turned", [(zcdp("items", LITTLE),), (pure("head", LITTLE),)], 1),
    ("turned", [(pure("sizes", THIRD),), (pure("items", EPSILON - THIRD),)], 2),
    ("turned", [(pure("sizes", EPSILON + LITTLE),)], 0),
    ("turned", [(pure("sizes", THIRD, delta=DELTA),)], 0),
    ("as one", [(zcdp("sizes", IN_RHO),), (zcdp("items", GRANTED - IN_RHO),)], 2),
    ("as one", [(zcdp("sizes", IN_RHO),), (zcdp("items", GRANTED - IN_RHO + LITTLE),)], 1),
    ("as one", [(zcdp("sizes", IN_RHO),), (zcdp("sizes", IN_RHO),)], 1),
    ("as one", [(pure("sizes", LITTLE),)], 0),
    ("as one", [()], 0),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "asked", "number"), CASES)
def test_a_table_is_drawn_for_what_is_left(
    kind: str, asked: list[tuple[Part, ...]], number: int, ledger: Ledger
) -> None:
    """What is not paid for is refused before its noise is drawn."""
    drawn = answered(account_of(ledger, kind), asked)
    assert drawn == [place < number for place in range(len(asked))]


def spent(steps: Steps, prices: list[Price]) -> list[Price]:
    """The prices that are paid."""
    return [
        price
        for place, price in enumerate(prices)
        if steps.pay(
            pure(f"{place}", price.value)
            if isinstance(price, Epsilon)
            else zcdp(f"{place}", price.value)
        )
    ]


SHARES = st.fractions(Fraction(1, 1000), Fraction(1), max_denominator=1000)


@given(st.lists(SHARES, max_size=8))
def test_prices_add_up_to_no_more_than_the_whole(shares: list[Fraction]) -> None:
    paid = spent(Steps(Epsilon(EPSILON), Delta()), [Epsilon(share) for share in shares])
    left = EPSILON
    for share in shares:
        left -= share if share <= left else 0
    assert sum(price.value for price in paid) == EPSILON - left


@given(st.lists(SHARES, max_size=3), st.lists(SHARES, min_size=1, max_size=6))
def test_a_price_is_turned_once_into_what_the_rest_grants(
    first: list[Fraction], later: list[Fraction]
) -> None:
    """Whatever was spent in ε before and in ρ after it: together they keep ε and δ."""
    prices: list[Price] = [Epsilon(share * EPSILON) for share in first]
    prices += [Rho(share * GRANTED) for share in later] + [Epsilon(LITTLE)]
    paid = spent(Steps(Epsilon(EPSILON), DELTA), prices)
    in_epsilon = sum((p.value for p in paid if isinstance(p, Epsilon)), Fraction(0))
    in_rho = sum((p.value for p in paid if isinstance(p, Rho)), Fraction(0))
    assert in_epsilon <= EPSILON
    if in_rho:
        assert in_rho <= rho_of(EPSILON - in_epsilon, DELTA)
        assert delta_of(in_rho, EPSILON - in_epsilon) <= DELTA.value
        assert paid[-1] != Epsilon(LITTLE), "epsilon is spent no more"


def test_a_charge_that_is_not_for_steps_opens_none() -> None:
    assert Steps.of(pure("items", EPSILON)) is None
    assert Steps.of(Part("release", Epsilon(EPSILON), WHOLE, {"rho": "1/9"}, DELTA)) is None
    assert Steps.of(Part("auto", Epsilon(EPSILON), IN_STEPS)) is not None
