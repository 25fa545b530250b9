"""The privacy loss between two output laws, in certified arithmetic.

The loss of D against D′ is the supremum, over outcomes, of log Pr[outcome | D] / Pr[outcome | D′].

- c + G − G′ with draws of its own, of one rate x, is discrete Laplace around c. Between c and c′
  its loss is exactly x·|c − c′|: a rational, reached at every outcome beyond both.
- Outcomes that share no draw are independent, so their losses add up.
- A choice is exponential over listed scores; its log-ratio is a ball.
- Outcomes of any other shape are enumerated over truncated draws, with bounds on each probability.
  That can certify a violation, never its absence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from flint import arb

from crowdtally.laws.balls import as_ball, precision
from kit.tracing import Choice, Form

_BITS = 128
_ENUMERATED = 1024
INFINITE = arb("inf")


@dataclass(frozen=True)
class Law:
    """The law of all that one path of a release puts out, given what steered it."""

    forms: tuple[Form, ...]
    """Every released integer, in a fixed order."""
    rates: tuple[Fraction, ...]
    """The rate of each geometric draw."""
    choices: tuple[Choice, ...] = ()
    """The choices on this path, in order."""
    steering: tuple[tuple[Form, int], ...] = ()
    """Released integers that later steps read: their form, and the value they are held at."""
    steering_rates: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class Loss:
    """A number of at least ``least`` + ``low`` and at most ``most`` + ``high``."""

    least: Fraction
    most: Fraction
    low: arb
    high: arb

    @property
    def exact(self) -> Fraction | None:
        """The number, where it is a known rational."""
        known = self.low == 0 and self.high == 0 and self.least == self.most
        return self.least if known else None

    def certainly_at_most(self, epsilon: Fraction) -> bool:
        if self.high == 0:
            return self.most <= epsilon
        return bool(self.high <= as_ball(epsilon - self.most))

    def certainly_exceeds(self, epsilon: Fraction) -> bool:
        if self.low == 0:
            return self.least > epsilon
        return bool(self.low > as_ball(epsilon - self.least))

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.least + other.least,
            self.most + other.most,
            self.low + other.low,
            self.high + other.high,
        )

    def __str__(self) -> str:
        low, high = float(as_ball(self.least) + self.low), float(as_ball(self.most) + self.high)
        return str(low) if low == high else f"between {low} and {high}"


def rational(least: Fraction, most: Fraction | None = None) -> Loss:
    return Loss(least, least if most is None else most, arb(0), arb(0))


def between(low: arb, high: arb) -> Loss:
    return Loss(Fraction(0), Fraction(0), low, high)


ENDLESS = between(INFINITE, INFINITE)
"""Some outcome is possible under one law alone, or its ratio has no bound."""


def loss(first: Law, second: Law) -> Loss:
    """The loss of the first against the second on one path."""
    with precision(_BITS):
        total = _steering_loss(first, second)
        for one, other in zip(first.choices, second.choices, strict=True):
            total += _choice_loss(one, other)
        return total + _forms_loss(first, second)


def losses(first: Mapping[object, Law], second: Mapping[object, Law]) -> list[Loss]:
    """The loss, both ways, on each path of a release whose paths themselves are released."""
    if first.keys() != second.keys():
        return [ENDLESS]
    pairs = [(first[path], second[path]) for path in first]
    return [loss(*laws) for pair in pairs for laws in (pair, pair[::-1])]


def _forms_loss(first: Law, second: Law) -> Loss:
    if len(first.forms) != len(second.forms):
        return ENDLESS
    total = rational(Fraction(0))
    shapes = tuple(tuple(f.coefficients for f in law.forms) for law in (first, second))
    for block in _blocks(*shapes):
        total += _block_loss(block, first, second)
    return total


Shape = tuple[tuple[tuple[int, int], ...], ...]


@cache
def _blocks(first: Shape, second: Shape) -> tuple[tuple[int, ...], ...]:
    """Positions that share a draw, directly or not, under one law or the other."""
    blocks: list[tuple[set[int], set[tuple[int, int]]]] = []
    for place, pair in enumerate(zip(first, second, strict=True)):
        draws = {(law, draw) for law, terms in enumerate(pair) for draw, _ in terms}
        touched = [block for block in blocks if block[1] & draws]
        blocks = [block for block in blocks if not block[1] & draws]
        places = {place}.union(*(block[0] for block in touched))
        blocks.append((places, draws.union(*(block[1] for block in touched))))
    return tuple(tuple(sorted(places)) for places, _ in blocks)


def _block_loss(block: Sequence[int], first: Law, second: Law) -> Loss:
    if len(block) > 1:
        return enumerated_loss(block, first, second)
    (place,) = block
    one, other = first.forms[place], second.forms[place]
    rates = [_laplace_rate(one, first.rates), _laplace_rate(other, second.rates)]
    if rates[0] is not None and rates[1] is not None:
        # Of two rates the smaller has the heavier tail, without bound in one of the directions.
        distance = abs(one.constant - other.constant)
        return rational(rates[0] * distance) if rates[0] == rates[1] else ENDLESS
    if not one.coefficients or not other.coefficients:
        return rational(Fraction(0)) if one == other else ENDLESS
    return enumerated_loss(block, first, second)


def _laplace_rate(form: Form, rates: Sequence[Fraction]) -> Fraction | None:
    """The rate x where the form is c + G − G′ with both of rate x."""
    if [abs(factor) for _, factor in form.coefficients] != [1, 1]:
        return None
    (one, sign), (other, opposite) = form.coefficients
    return rates[one] if sign == -opposite and rates[one] == rates[other] else None


def _steering_loss(first: Law, second: Law) -> Loss:
    """At the held values, from below; over all values, from above."""
    most, held = Fraction(0), Fraction(0)
    for (one, value), (other, same) in zip(first.steering, second.steering, strict=True):
        rates = (_laplace_rate(one, first.steering_rates),
                 _laplace_rate(other, second.steering_rates))  # fmt: skip
        if value != same or rates[0] is None or rates[0] != rates[1]:
            return ENDLESS
        most += rates[0] * abs(one.constant - other.constant)
        held += rates[0] * (abs(value - other.constant) - abs(value - one.constant))
    return rational(held, most)


def _choice_loss(one: Choice, other: Choice) -> Loss:
    if one == other:
        return rational(Fraction(0))
    if len(one.scores) != len(other.scores) or one.picked != other.picked:
        return ENDLESS
    ratio = _log_probability(one) - _log_probability(other)
    return between(ratio.lower(), ratio.upper())


def _log_probability(choice: Choice) -> arb:
    best = max(choice.scores)
    rate = as_ball(choice.rate)
    total = sum(((s - best) * rate).exp() for s in choice.scores)
    return (choice.scores[choice.picked] - best) * rate - total.log()


def enumerated_loss(block: Sequence[int], first: Law, second: Law) -> Loss:
    """A certified lower bound: Pr ≥ what was enumerated, and ≤ that plus all the rest."""
    sure, _ = _enumerate(block, first)
    possible, rest = _enumerate(block, second)
    low = arb(0)
    for outcome, mass in sure.items():
        ratio = (mass.lower() / (possible.get(outcome, arb(0)) + rest).upper()).log().lower()
        low = ratio if ratio > low else low
    return between(low, INFINITE)


def _enumerate(block: Sequence[int], law: Law) -> tuple[dict[tuple[int, ...], arb], arb]:
    """Each outcome's mass over draws below a cut, and the mass of all the others."""
    forms = [law.forms[place] for place in block]
    draws = sorted({draw for form in forms for draw, _ in form.coefficients})
    cut = max(2, round(_ENUMERATED ** (1 / max(len(draws), 1))))
    masses: dict[tuple[int, ...], arb] = {}
    for values, mass in _values(draws, law.rates, cut):
        outcome = tuple(form.at(values) for form in forms)
        masses[outcome] = masses.get(outcome, arb(0)) + mass
    inside = arb(1)
    for draw in draws:
        inside *= 1 - (-as_ball(law.rates[draw]) * cut).exp()
    return masses, 1 - inside


def _values(
    draws: Sequence[int], rates: Sequence[Fraction], cut: int
) -> Iterator[tuple[dict[int, int], arb]]:
    peak = arb(1)
    for draw in draws:
        peak *= -(-as_ball(rates[draw])).expm1()
    for values in product(range(cut), repeat=len(draws)):
        weight = sum((rates[d] * v for d, v in zip(draws, values, strict=True)), Fraction(0))
        yield dict(zip(draws, values, strict=True)), peak * (-as_ball(weight)).exp()
