"""Datasets that count by zCDP: what each charge costs, what is left, and what is refused."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.errors import UsageError
from crowdtally.laws.balls import as_ball, precision
from crowdtally.laws.conversion import delta_of, epsilon_of, rho_of, rounded_up, selection_rho
from crowdtally.ledger import (
    Asked,
    Balance,
    Charge,
    Created,
    DamagedLedgerError,
    Ledger,
    LimitSet,
    Loss,
    OverBudgetError,
    Part,
    Reserved,
    TooMuchAtOnceError,
    Voided,
    ZeroConcentrated,
)
from crowdtally.ledger.accountants import delta_at
from crowdtally.ledger.balance import after
from crowdtally.ledger.events import parse, record
from kit.ledgers import USER, charge, publish

RULE = ZeroConcentrated()
BILLIONTH = Fraction(1, 10**9)
LIMIT = Loss(Fraction(1), BILLIONTH)
FRESH = Balance("d", USER, "zcdp", Loss(), LIMIT)


def gaussian(rho: object, delta: object = 0, name: str = "items") -> Part:
    """A table with Gaussian noise; with a δ, one of unknown cells."""
    return Part(name, None, "discrete-gaussian", {"sigma2": "9"}, Delta.of(delta), rho=Rho.of(rho))


def pure(epsilon: object, delta: object = 0, name: str = "counts") -> Part:
    return Part(name, Epsilon.of(epsilon), "discrete-laplace", {}, Delta.of(delta))


def selection(epsilon: object, name: str = "bound") -> Part:
    return Part(name, Epsilon.of(epsilon), "exponential", selects=True)


def of(*parts: Part, release: str = "release-1") -> Charge:
    return Charge.by_rho(release, parts)


def charged(balance: Balance, *parts: Part) -> Balance:
    return after(balance, balance.dataset, Reserved(USER, of(*parts), Asked()))


# --- what a charge costs ------------------------------------------------------------------------


def test_what_each_kind_of_part_costs() -> None:
    assert RULE.cost(of(gaussian("0.01"))) == Loss(rho=Fraction(1, 100))
    assert RULE.cost(of(gaussian("0.01", "1e-10"))) == Loss(
        delta=Fraction(1, 10**10), rho=Fraction(1, 100)
    )
    assert RULE.cost(of(selection("0.4"))) == Loss(rho=Fraction(2, 100))
    assert RULE.cost(of(pure("0.2"))) == Loss(Fraction(1, 5), pure_rho=Fraction(2, 100))
    assert RULE.cost(of(pure("0.2", "1e-9"))).delta == BILLIONTH


def test_parts_add_up_each_in_its_own_sum() -> None:
    mixed = of(
        gaussian("0.01", "1e-10"), gaussian("0.02", "1e-10", "edges"), selection("0.4"),
        pure("0.2"), pure("0.1", name="edges"),
    )  # fmt: skip
    assert RULE.cost(mixed) == Loss(
        Fraction(3, 10), Fraction(2, 10**10), Fraction(5, 100), Fraction(25, 1000)
    )


def test_a_charge_of_pure_epsilon_costs_what_it_states() -> None:
    parts = (pure("0.2"), selection("0.4"))
    stated = Charge("r", Epsilon.of(1), parts, Delta.of("1e-9"))
    # 0.2 is a table's, 0.4 a selection's, and 0.4 nobody named: that is one more pure part.
    assert RULE.cost(stated) == Loss(
        Fraction(6, 10), BILLIONTH, Fraction(2, 100), Fraction(2, 100) + Fraction(8, 100)
    )
    with pytest.raises(UsageError, match="State at least their sum"):
        RULE.cost(Charge("r", Epsilon.of("0.5"), parts))


@pytest.mark.parametrize(
    "short",
    [
        {"rho": Rho.of("0.0299")},
        {"epsilon": Epsilon.of("0.19")},
        {"epsilon": None},
        {"delta": Delta.of("1e-11")},
    ],
)
def test_the_total_must_cover_the_parts(short: dict[str, object]) -> None:
    whole = of(gaussian("0.01", "1e-10"), selection("0.4"), pure("0.2"))
    assert whole.rho == Rho.of("0.03")
    with pytest.raises(UsageError, match="State at least their sum"):
        RULE.cost(replace(whole, **short))  # type: ignore[arg-type]


def test_what_is_stated_beyond_the_parts_is_charged() -> None:
    whole = replace(of(gaussian("0.01"), pure("0.2")), rho=Rho.of("0.05"), epsilon=Epsilon.of(1))
    assert RULE.cost(whole) == Loss(
        Fraction(1), Fraction(0), Fraction(5, 100), Fraction(2, 100) + Fraction(32, 100)
    )


def test_a_part_is_one_thing() -> None:
    for wrong in (
        {"epsilon": None},
        {"epsilon": Epsilon.of(1), "rho": Rho.of(1)},
        {"epsilon": None, "rho": Rho.of(1), "selects": True},
        {"epsilon": Epsilon.of(1), "delta": Delta.of("0.01"), "selects": True},
    ):
        with pytest.raises(UsageError, match="part 'x'"):
            Part(**{"name": "x", "mechanism": "m", **wrong})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="total rho"):
        Charge("r", Epsilon.of(1), (gaussian(1),))
    with pytest.raises(UsageError, match="an epsilon or a rho"):
        Charge("r", None, (pure(1),))


# --- a selection, by enumeration ----------------------------------------------------------------


def law(scores: tuple[int, ...], rate: Fraction) -> list[arb]:
    weights = [(as_ball(rate) * score).exp() for score in scores]
    total = sum(weights, arb(0))
    return [weight / total for weight in weights]


def renyi(one: list[arb], two: list[arb], order: Fraction) -> arb:
    a = as_ball(order)
    moments = sum((p**a * q ** (1 - a) for p, q in zip(one, two, strict=True)), arb(0))
    return moments.log() / (a - 1)


ORDERS = [Fraction(101, 100), Fraction(3, 2), Fraction(2), Fraction(7), Fraction(60)]
PEOPLE = [(0, 0, 1), (1, 0, 0), (1, 1, 0), (1, 1, 1), (0, 1, 2)]
"""Which candidates a person votes for, so that a score counts votes."""


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_a_selection_by_counts_costs_what_is_charged(epsilon: Fraction) -> None:
    """All databases of up to two people, one more person: scores move one way, so without ½."""
    charged_rho = as_ball(selection_rho(Epsilon(epsilon)).value)
    votes = [vote for vote in PEOPLE if max(vote) <= 1]
    with precision(128):
        for size in (0, 1, 2):
            for people in itertools.combinations_with_replacement(votes, size):
                before = tuple(map(sum, zip((0, 0, 0), *people, strict=True)))
                for vote in votes:
                    more = tuple(map(sum, zip(before, vote, strict=True)))
                    one, two = law(before, epsilon), law(more, epsilon)
                    for order in ORDERS:
                        most = charged_rho * as_ball(order)
                        assert renyi(one, two, order) <= most
                        assert renyi(two, one, order) <= most


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_a_selection_by_scores_that_move_either_way_needs_the_half(epsilon: Fraction) -> None:
    charged_rho = as_ball(selection_rho(Epsilon(epsilon)).value)
    beyond = 0
    with precision(128):
        for start in itertools.product(range(2), repeat=3):
            for step in itertools.product((-1, 0, 1), repeat=3):
                after_it = tuple(map(sum, zip(start, step, strict=True)))
                for order in ORDERS:
                    most = charged_rho * as_ball(order)
                    halved = law(start, epsilon / 2), law(after_it, epsilon / 2)
                    assert renyi(*halved, order) <= most
                    whole = law(start, epsilon), law(after_it, epsilon)
                    beyond += bool(renyi(*whole, order) > most)
    assert beyond > 100


def test_no_less_would_do_for_a_selection() -> None:
    epsilon = Fraction(1, 100)
    with precision(128):
        found = renyi(law((0, 0), epsilon), law((1, 0), epsilon), Fraction(101, 100))
        assert found > as_ball(epsilon**2 / 9)


# --- how it adds up -----------------------------------------------------------------------------


def exact_delta(steps: list[tuple[np.ndarray, np.ndarray]], epsilon: float) -> float:
    """The δ of independent steps by enumeration of all their outcomes, for one direction."""
    p, q = np.ones(1), np.ones(1)
    for one, two in steps:
        p, q = np.outer(p, one).ravel(), np.outer(q, two).ravel()
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


def coin(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Randomised response, the worst of pure ε."""
    law = np.array([exp(epsilon), 1.0]) / (1 + exp(epsilon))
    return law, law[::-1]


def noise(rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Discrete Gaussian noise on a count that differs by one: σ² = 1/(2ρ)."""
    reach = int(12 / sqrt(2 * rho)) + 3
    values = np.arange(-reach, reach + 2)
    laws = [np.exp(-((values - shift) ** 2) * rho) for shift in (0, 1)]
    return laws[0] / laws[0].sum(), laws[1] / laws[1].sum()


def test_interleaved_histories_lose_no_more_than_is_said() -> None:
    for epsilons, rhos in [([0.5], [0.05]), ([0.1] * 6, [0.02]), ([0.3, 1.0], [0.05, 0.02])]:
        parts = [pure(str(epsilon)) for epsilon in epsilons] + [gaussian(str(r)) for r in rhos]
        spent = RULE.cost(of(*parts))
        steps = [coin(epsilon) for epsilon in epsilons] + [noise(rho) for rho in rhos]
        for epsilon in (0.0, 0.2, 0.8, 1.5, 2.5):
            said = float(delta_at(spent, Fraction(epsilon)))
            both = steps, [(two, one) for one, two in steps]
            for way in both:
                assert exact_delta(way, epsilon) <= said * (1 + 1e-9) + 1e-12


def test_one_charge_is_judged_by_the_smaller_of_two_bounds() -> None:
    few = RULE.cost(of(gaussian("0.01"), pure("0.5")))
    for epsilon in (Fraction(1, 2), Fraction(3, 2)):
        assert delta_at(few, epsilon) == min(
            delta_of(Fraction(135, 1000), epsilon),
            delta_of(Fraction(1, 100), epsilon - Fraction(1, 2)),
        )
    assert delta_at(few, Fraction(1, 4)) == delta_of(Fraction(135, 1000), Fraction(1, 4))
    spent = RULE.cost(of(gaussian("0.01", "3e-10"), gaussian("0.01", "3e-10", "edges")))
    assert delta_at(spent, Fraction(1)) == Fraction(6, 10**10) + delta_of(
        Fraction(2, 100), Fraction(1)
    )


def test_many_charges_are_judged_by_a_bound_that_holds_whoever_chooses() -> None:
    """Pure ε beside ρ counts as ρ, although one charge of both would fit by taking ε off first."""
    mixed = of(gaussian("0.002"), pure("0.5"))
    cost = RULE.cost(mixed)
    assert RULE.fits_alone(cost, LIMIT)
    assert not RULE.fits(Loss(), cost, LIMIT)
    half = charged(FRESH, pure("0.5"))
    assert half.reported == Loss(Fraction(1, 2), BILLIONTH)
    assert half.remaining == Loss(Fraction(1, 2))
    with pytest.raises(OverBudgetError, match="No ρ is left"):
        charged(half, gaussian("1e-6"))
    first = charged(FRESH, gaussian("0.002"))
    with pytest.raises(OverBudgetError):
        charged(first, pure("0.5"))
    little = charged(first, pure("0.1"))  # as ρ: 0.005
    assert little.reported.epsilon == rounded_up(epsilon_of(Fraction(7, 1000), BILLIONTH))


def coins(epsilon: float, limit: Loss) -> float:
    """The most δ that anybody gets who tosses coins, each chosen after the last one fell.

    A coin of ε_i shows the truth with odds e^ε_i; it is charged as pure ε_i, or as ρ = ε_i²/2. Of
    all histories that the limit allows, the best next coin is looked for from the last one back.
    """
    step = 0.2

    @cache
    def fits(fifths: int, pure_rho: int, rho: int) -> bool:
        spent = Loss(Fraction(fifths, 5), rho=Fraction(rho, 50), pure_rho=Fraction(pure_rho, 50))
        return RULE.fits(spent, Loss(), limit)

    @cache
    def best(loss: int, *sums: int) -> float:
        found = max(0.0, 1 - exp(epsilon - step * loss))
        for size in (1, 3):
            truth = 1 / (1 + exp(-step * size))
            for more in ((size, size**2, 0), (0, 0, size**2)):
                after = tuple(map(sum, zip(sums, more, strict=True)))
                if fits(*after):
                    up, down = (best(loss + way * size, *after) for way in (1, -1))
                    found = max(found, truth * up + (1 - truth) * down)
        return found

    return best(0, 0, 0, 0)


def test_no_choice_of_amounts_beats_the_limit() -> None:
    limit = Loss(Fraction(1), Fraction(1, 20))
    assert 1e-4 < coins(1.0, limit) <= 0.05


def test_delta_of_unknown_cells_needs_a_part_of_the_limit_for_itself() -> None:
    assert RULE.fits_alone(RULE.cost(of(gaussian("0.01", "1e-10"))), LIMIT)
    for part in (gaussian("0.001", "1e-12"), pure("0.1", "1e-12")):
        with pytest.raises(OverBudgetError, match="ledger limit d --rho R --delta D"):
            charged(FRESH, part)
    own = replace(FRESH, limit=Loss(delta=BILLIONTH, rho=Fraction(1, 100)))
    spent = charged(own, gaussian("0.001", "1e-12"))
    with pytest.raises(UsageError, match="--rho R --delta D in place of --epsilon"):
        after(spent, "d", LimitSet(LIMIT, None, "why"))
    after(spent, "d", LimitSet(own.limit, LIMIT, "a limit of single releases"))
    moved = replace(spent, limit=LIMIT)  # by a program that asked nobody
    assert moved.remaining == Loss()
    with pytest.raises(OverBudgetError, match="used up"):
        charged(moved, gaussian("1e-9"))


parts = st.one_of(
    st.builds(
        gaussian,
        st.fractions(Fraction(1, 10**6), Fraction(1, 100), max_denominator=10**6),
        st.sampled_from([0, 0, Fraction(1, 10**12)]),  # δ₂ beside (ε, δ) is refused
    ),
    st.builds(pure, st.fractions(Fraction(1, 10**3), Fraction(1, 4), max_denominator=1000)),
    st.builds(selection, st.fractions(Fraction(1, 10**3), Fraction(1, 4), max_denominator=1000)),
)


@given(st.lists(st.lists(parts, min_size=1, max_size=3), min_size=1, max_size=6), st.randoms())
def test_any_order_of_charges_and_voids_ends_at_the_same_sums(
    charges: list[list[Part]], random: object
) -> None:
    free = replace(FRESH, limit=None)
    shuffled = list(charges)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = two = free
    for kept in charges:
        one = charged(one, *kept)
    for kept in shuffled:
        two = charged(two, *kept)
        extra = charged(two, gaussian("1/7", "1e-12"), pure("1/3"), selection("1/9"))
        cost = RULE.cost(of(gaussian("1/7", "1e-12"), pure("1/3"), selection("1/9")))
        assert after(extra, "d", Voided("1-00000000", "nothing left", cost)) == two
    assert one == two
    assert one.fields() == two.fields()


@settings(max_examples=25)
@given(st.lists(parts, max_size=6))
def test_what_remains_fits_and_a_little_more_does_not(history: list[Part]) -> None:
    balance = FRESH
    for part in history:
        try:
            balance = charged(balance, part)
        except OverBudgetError:
            continue
    left = balance.remaining
    assert left is not None
    if left.rho:
        assert charged(balance, gaussian(left.rho)).reported.epsilon <= LIMIT.epsilon * Fraction(
            10**12 + 1, 10**12
        )
    more = left.rho + rho_of(*_both(LIMIT)) / 10**10
    with pytest.raises(OverBudgetError):
        charged(balance, gaussian(more))
    if left.epsilon:
        charged(balance, pure(left.epsilon))
    with pytest.raises(OverBudgetError):
        charged(balance, pure(left.epsilon + Fraction(1, 10**9)))


def _both(limit: Loss) -> tuple[Fraction, Fraction]:
    return limit.epsilon, limit.delta


def test_all_of_an_epsilon_delta_budget_can_be_granted_as_rho() -> None:
    granted = rho_of(Epsilon.of(1), Delta.of("1e-9"))
    assert FRESH.remaining == Loss(Fraction(1), rho=granted)
    whole = charged(FRESH, gaussian(granted))
    assert whole.reported.delta == BILLIONTH
    assert Fraction(999999999, 10**9) < whole.reported.epsilon <= 1
    assert whole.remaining is not None
    assert whole.remaining.rho == 0
    with pytest.raises(OverBudgetError, match=r"used up\. Whoever keeps the limits can change"):
        charged(whole, gaussian("1e-6"))


def test_what_is_reported_is_rounded_up() -> None:
    for rho in ("0.001", "0.007", "1/77"):
        spent = charged(FRESH, gaussian(rho))
        true = epsilon_of(spent.spent.rho, BILLIONTH)
        assert true <= spent.reported.epsilon <= true * (1 + Fraction(1, 10**11))


def test_pure_epsilon_alone_fills_its_budget_exactly() -> None:
    balance = FRESH
    for _ in range(10):
        balance = charged(balance, pure("0.1"))
    assert balance.spent.epsilon == 1
    # As ρ they are 0.05, which at that δ is more than 1: one after the other is the better bound.
    with pytest.raises(OverBudgetError):
        charged(balance, pure("1e-9"))


def test_a_limit_of_rho() -> None:
    balance = replace(FRESH, limit=Loss(rho=Fraction(1, 10)))
    balance = charged(balance, gaussian("0.05"), selection("0.4"), pure("0.2"))
    assert balance.reported == Loss(rho=Fraction(9, 100))
    assert balance.remaining is not None
    assert balance.remaining.rho == Fraction(1, 100)
    charged(balance, gaussian("0.01"))
    with pytest.raises(OverBudgetError, match=r"ρ of at most 0.01"):
        charged(balance, gaussian("0.0100001"))
    with pytest.raises(OverBudgetError, match="a method without δ"):
        charged(balance, gaussian("0.001", "1e-12"))
    allowed = replace(balance, limit=Loss(delta=BILLIONTH, rho=Fraction(1, 10)))
    assert charged(allowed, gaussian("0.01", "1e-9")).spent.delta == BILLIONTH
    with pytest.raises(OverBudgetError):
        charged(allowed, gaussian("0.01", "2e-9"))


def test_what_a_single_release_may_cost() -> None:
    by_epsilon = replace(FRESH, each=Loss(Fraction(1, 2), BILLIONTH))
    charged(by_epsilon, gaussian(rho_of(Fraction(1, 2), BILLIONTH)))
    with pytest.raises(TooMuchAtOnceError, match=r"at most ε = 0.5"):
        charged(by_epsilon, gaussian("0.01"))
    by_rho = replace(FRESH, each=Loss(rho=Fraction(1, 1000)))
    charged(by_rho, gaussian("0.001"))
    with pytest.raises(TooMuchAtOnceError, match=r"at most ρ = 0.001, .* asks for 0.002"):
        charged(by_rho, gaussian("0.002"))
    with pytest.raises(TooMuchAtOnceError, match=r"at most δ = 0"):
        charged(by_rho, gaussian("0.001", "1e-12"))


def test_words() -> None:
    spent = charged(FRESH, gaussian("0.002"), pure("0.1"))
    said = spent.describe()
    assert said.startswith("Dataset 'd': spent so far ε = 0.67")
    assert "δ = 1e-9 (ρ = 0.002, pure ε = 0.1) of ε = 1, δ = 1e-9" in said
    assert "; remaining ρ = 0.00" in said
    assert ", or else pure ε = 0.1" in said
    assert spent.warning() is None
    nearly = charged(spent, pure("0.1"))
    assert (nearly.warning() or "").startswith("89%")
    assert "of the ε that dataset 'd' may ever spend is spent" in (nearly.warning() or "")
    assert "--epsilon E --delta D" in replace(FRESH, limit=None).describe()
    in_rho = charged(replace(FRESH, limit=Loss(rho=Fraction(1, 100))), gaussian("0.009"))
    assert (in_rho.warning() or "").startswith("90% of the ρ")


# --- what is recorded ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        Reserved(USER, of(gaussian("0.01", "1e-9"), selection("0.1"), pure("1/3")), Asked()),
        Reserved(USER, of(gaussian("0.01")), Asked(request_id="x")),
        Reserved(USER, Charge("r", Epsilon.of(1), (selection("0.1"),)), Asked()),
        Created(USER, "zcdp", Loss(delta=BILLIONTH, rho=Fraction(1, 3))),
        Created(USER, "zcdp", LIMIT, Loss(rho=Fraction(1, 3))),
        LimitSet(Loss(rho=Fraction(1, 3)), None, "why"),
        Voided("1-00000000", "why", Loss(Fraction(1), rho=Fraction(2), pure_rho=Fraction(3))),
    ],
)
def test_events_are_read_as_they_were_written(event: object) -> None:
    written = record(event)  # type: ignore[arg-type]
    assert parse(json.loads(json.dumps(written))) == event
    for version in range(1, 6):  # a field of another version is refused
        if version != written["version"]:
            with pytest.raises(Exception, match=r"unknown event|without the fields"):
                parse({**written, "version": version})


@pytest.mark.parametrize(
    "change",
    [
        {"rho": "0"},
        {"rho": "-1/100"},
        {"rho": 1},
        {"selects": 1},
        {"selects": None},
        {"epsilon": "1/10"},
        {"more": "1"},
    ],
)
def test_a_part_that_was_changed_is_refused(change: dict[str, object]) -> None:
    written = json.loads(json.dumps(record(Reserved(USER, of(gaussian("0.01")), Asked()))))
    written["parts"][0] |= change
    with pytest.raises(DamagedLedgerError):
        parse(written)


def test_an_amount_says_nothing_of_zcdp_where_there_is_none() -> None:
    fields = FRESH.fields()
    assert fields["spent"] == {"epsilon": "0", "delta": "0"}
    with pytest.raises(ValueError, match="other fields"):
        Balance.read("d", {**fields, "spent": {"epsilon": "0", "delta": "0", "rho": "0"}})
    spent = charged(FRESH, gaussian("0.005"), pure("0.1")).fields()
    assert spent["spent"] == {
        "epsilon": "1/10", "delta": "0", "rho": "1/200", "pure_rho": "1/200"
    }  # fmt: skip
    assert Balance.read("d", spent).fields() == spent


# --- the ledger ---------------------------------------------------------------------------------


@pytest.fixture
def books(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "ledger.sqlite", create=True)


def test_a_dataset_from_its_first_charge_to_a_void(books: Ledger) -> None:
    books.create("d", rho="0.1", delta="1e-9")
    first = books.reserve("d", USER, of(gaussian("0.002", "1e-10"), selection("0.02")))
    publish(books, first.id)
    before = books.balance("d")
    second = books.reserve("d", USER, charge("0.1", release="pure"))
    assert second.after.spent == before.spent + Loss(Fraction(1, 10), pure_rho=Fraction(1, 200))
    third = books.reserve("d", USER, of(gaussian("0.001"), release="third"))
    for reservation in (third, second):
        books.void(reservation.id, "nothing left the machine")
    assert books.balance("d") == before
    assert before.fields() == books.balance("d").fields()
    assert books.verify().ok
    assert books.charges("d")[0].charge.rho == Rho.of("0.00205")


def test_checking_judges_as_charging_does(books: Ledger) -> None:
    books.create("d", epsilon=1, delta="1e-9", accountant="zcdp")
    left = books.check("d", USER, rho="0.01").remaining
    assert left is not None
    books.check("d", USER, rho=left.rho)
    with pytest.raises(OverBudgetError):
        books.check("d", USER, rho=left.rho * 2)
    with pytest.raises(OverBudgetError):
        books.check("d", USER, "0.5", rho=left.rho / 2)
    many = of(*(pure("0.02", name=str(n)) for n in range(60)))
    books.check("d", USER, many)  # as ρ: one part of 1.2 would not fit
    with pytest.raises(OverBudgetError):
        books.check("d", USER, "1.2")
    assert books.reserve("d", USER, many).after.spent.epsilon == Fraction(12, 10)


def test_a_request_that_is_made_again(books: Ledger) -> None:
    books.create("d", epsilon=1, delta="1e-9", accountant="zcdp")
    asked = Asked(request_id="week-1")
    first = books.reserve("d", USER, of(gaussian("0.002"), pure("0.1")), asked=asked)
    again = books.reserve("d", USER, of(gaussian("0.002"), pure("0.1")), asked=asked)
    assert again.taken_up
    assert (again.before.spent, again.after) == (first.before.spent, first.after)
    with pytest.raises(UsageError, match=r"--rho was 0.002 and is 0.003"):
        books.reserve("d", USER, of(gaussian("0.003"), pure("0.1")), asked=asked)


def test_a_release_with_rho_can_make_its_dataset(books: Ledger) -> None:
    books.check("new", USER, rho="0.01", new_dataset=True)
    made = books.reserve("new", USER, of(gaussian("0.01")), new_dataset=True)
    assert made.after.accountant == "zcdp"
    assert made.after.limit is None
    pure_one = books.reserve("other", USER, charge("0.1"), new_dataset=True)
    assert pure_one.after.accountant == "sequential"


def test_rho_is_not_added_to_pure_epsilon(books: Ledger) -> None:
    books.create("d", epsilon=1, delta="1e-9")
    head = books.head()
    for refused in (
        lambda: books.reserve("d", USER, of(gaussian("0.01"))),
        lambda: books.check("d", USER, rho="0.01"),
        lambda: books.set_limit("d", rho="0.01", reason="why"),
        lambda: books.set_limit("d", each_rho="0.01", reason="why"),
    ):
        with pytest.raises(UsageError, match=r"--epsilon E --delta D --accountant zcdp"):
            refused()
    assert books.head() == head
    selected = Charge("r", Epsilon.of("0.3"), (pure("0.1"), selection("0.2")))
    assert books.reserve("d", USER, selected).after.spent == Loss(Fraction(3, 10))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 1}, "needs a delta above 0"),
        ({"epsilon": 1, "delta": "0.11"}, "above 1/10 is refused"),
        ({"epsilon": 1, "delta": 1}, "below 1"),
        ({"epsilon": 1, "delta": "1e-9", "rho": 1}, "received both"),
        ({"rho": 1, "accountant": "sequential"}, "rho does not add"),
        ({"rho": 0}, "rho must be greater than 0"),
        ({"rho": 1, "delta": "0.2"}, "above 1/10 is refused"),
        ({"rho": 1, "each_epsilon": 1}, "needs a delta above 0"),
        ({"epsilon": 1, "delta": "1e-9", "accountant": "zdcp"}, "Did you mean 'zcdp'"),
    ],
)
def test_limits_that_make_no_sense(books: Ledger, wrong: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        books.create("d", **{"accountant": "zcdp", **wrong})  # type: ignore[arg-type]
    assert books.names() == []
    assert books.head().number == 0


def test_limits_are_changed_from_one_kind_to_the_other(books: Ledger) -> None:
    books.create("d", rho="0.1")
    assert books.balance("d").accountant == "zcdp"
    books.reserve("d", USER, of(gaussian("0.01")))
    changed = books.set_limit("d", epsilon=1, delta="1e-9", each_rho="0.001", reason="why")
    assert changed.reported.delta == BILLIONTH
    assert changed.each == Loss(delta=BILLIONTH, rho=Fraction(1, 1000))
    with pytest.raises(UsageError, match="needs a delta"):
        books.set_limit("d", epsilon=2, reason="why")
    lifted = books.set_limit("d", epsilon=None, each_epsilon=None, reason="why")
    assert lifted.limit is None
    assert lifted.reported == Loss(rho=Fraction(1, 100))
    assert books.verify().ok


def test_a_limit_below_what_was_spent_leaves_nothing(books: Ledger) -> None:
    books.create("d", epsilon=1, delta="1e-9", accountant="zcdp")
    books.reserve("d", USER, of(gaussian("0.01")))
    for limit in ({"epsilon": "0.1", "delta": "1e-9"}, {"rho": "0.001"}):
        low = books.set_limit("d", reason="why", **limit)  # type: ignore[arg-type]
        assert low.remaining is not None
        assert low.remaining.rho == low.remaining.epsilon == 0
        assert "remaining nothing" in low.describe()
        low.warning()
        with pytest.raises(OverBudgetError, match="used up"):
            books.reserve("d", USER, of(gaussian("1e-9")))


def test_float_search_agrees_with_what_is_left() -> None:
    """ρ left after a mixed history, by a search in floats over orders."""
    u = np.geomspace(1e-4, 1e6, 40_000)
    logs = u * np.log1p(-1 / (1 + u)) - np.log1p(u)

    def least(rho: float, epsilon: float) -> float:
        return float((u * ((1 + u) * rho - epsilon) + logs).min())

    parts = gaussian("0.003"), pure("0.05"), pure("0.1"), selection("0.01")
    balance = charged(FRESH, *parts)
    spent, room = balance.spent, log(1e-9)
    low, high = 0.0, 1.0
    for _ in range(60):
        more = (low + high) / 2
        fits = least(float(spent.rho + spent.pure_rho) + more, 1.0) <= room
        low, high = (more, high) if fits else (low, more)
    assert balance.remaining is not None
    assert abs(float(balance.remaining.rho) - low) < 3e-9  # the orders have gaps
