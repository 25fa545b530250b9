"""The arithmetic of the enumeration itself, against laws that are known."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest

from kit.losses import ENDLESS, Law, Loss, enumerated_loss, loss, losses
from kit.tracing import Choice, Form, Tracer, Unreadable, every_choice

RATE = Fraction(1, 3)


def laplace(constant: int, draw: int = 0) -> Form:
    return Form(constant, ((draw, 1), (draw + 1, -1)))


def law(*forms: Form, rate: Fraction = RATE) -> Law:
    return Law(forms, (rate,) * 8)


def test_laplace_noise_loses_the_distance_times_the_rate() -> None:
    assert loss(law(laplace(0)), law(laplace(5))).exact == 5 * RATE


def test_losses_of_independent_outcomes_add_up() -> None:
    one = law(laplace(0), laplace(2, draw=2))
    other = law(laplace(1), laplace(0, draw=2))
    assert loss(one, other).exact == 3 * RATE


def test_enumeration_comes_close_to_the_exact_loss_from_below() -> None:
    one, other = law(laplace(2), rate=Fraction(1)), law(laplace(0), rate=Fraction(1))
    enumerated = enumerated_loss([0], one, other)
    assert not enumerated.certainly_exceeds(Fraction(2))
    assert enumerated.certainly_exceeds(Fraction(19, 10))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (law(Form(0, ())), law(Form(1, ()))),
        (law(Form(0, ())), law(laplace(0))),
        (law(laplace(0)), law(laplace(0), rate=RATE / 2)),
        (law(laplace(0)), law(laplace(0), laplace(0, draw=2))),
    ],
)
def test_outcomes_of_one_law_alone_lose_everything(one: Law, other: Law) -> None:
    assert loss(one, other) == ENDLESS
    assert loss(one, other).certainly_exceeds(Fraction(10**6))


def test_equal_constants_lose_nothing() -> None:
    assert loss(law(Form(3, ())), law(Form(3, ()))).exact == 0


def test_one_noise_on_two_counts_shows_their_difference() -> None:
    shared = [law(laplace(0), laplace(0)), law(laplace(1), laplace(0))]
    found = loss(*shared)
    assert found.certainly_exceeds(Fraction(2))
    assert not found.certainly_at_most(Fraction(100))


def test_one_sided_noise_makes_outcomes_impossible() -> None:
    one, other = law(Form(0, ((0, 1),))), law(Form(1, ((0, 1),)))
    assert loss(one, other).certainly_exceeds(Fraction(2))


def test_an_unknown_shape_is_never_certified() -> None:
    doubled = Form(0, ((0, 2), (1, -2)))
    assert not loss(law(doubled), law(doubled)).certainly_at_most(Fraction(10))
    assert not loss(law(doubled), law(doubled)).certainly_exceeds(Fraction(0))


def test_choices_lose_their_log_ratio() -> None:
    one, other = (Law((), (), (Choice(scores, RATE, 0),)) for scores in ((3, 0), (1, 0)))
    wanted = log(exp(1) / (exp(1) + 1)) - log(exp(1 / 3) / (exp(1 / 3) + 1))
    found = loss(one, other)
    assert found.certainly_at_most(Fraction(wanted) + Fraction(1, 10**9))
    assert found.certainly_exceeds(Fraction(wanted) - Fraction(1, 10**9))


def test_other_paths_lose_everything() -> None:
    assert losses({(0,): law()}, {(0,): law(), (1,): law()}) == [ENDLESS]


def test_steering_is_bounded_over_all_values_and_known_at_one() -> None:
    def steered(constant: int, value: int) -> Law:
        return Law((), (), (), ((laplace(constant), value),), (RATE,) * 2)

    assert loss(steered(1, 100), steered(0, 100)).exact == RATE
    backwards = loss(steered(0, 100), steered(1, 100))
    assert (backwards.least, backwards.most) == (-RATE, RATE)
    assert loss(steered(0, 1), steered(0, 2)) == ENDLESS


@pytest.mark.parametrize("value", [0, 7, -9, 100])
def test_the_tracer_reads_back_what_it_handed_out(value: int) -> None:
    tracer = Tracer()
    a, b, c = tracer.geometric(RATE, 3).tolist()
    assert tracer.read(value + a - 2 * c) == Form(value, ((0, 1), (2, -2)))
    assert tracer.read(value - b) == Form(value, ((1, -1),))
    with pytest.raises(Unreadable):
        tracer.read(a * c)


def test_every_way_a_choice_can_fall_out_is_taken_once() -> None:
    def run(script: tuple[int, ...]) -> Tracer:
        tracer = Tracer(script=script)
        if tracer.choose([0, 1, 2], RATE) == 1:
            tracer.choose([0, 1], RATE)
        return tracer

    taken = [tuple(choice.picked for choice in tracer.choices) for tracer in every_choice(run)]
    assert sorted(taken) == [(0,), (1, 0), (1, 1), (2,)]


def test_certainty_at_the_boundary() -> None:
    at = loss(law(laplace(0)), law(laplace(3)))
    assert at.certainly_at_most(Fraction(1))
    assert not at.certainly_exceeds(Fraction(1))
    assert not at.certainly_at_most(Fraction(10**30 - 1, 10**30))
    assert str(at) == "1.0"
    assert isinstance(at, Loss)
