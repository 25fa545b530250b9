"""Exact laws in certified arithmetic: all runs of a function, losses, divergences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from math import exp, isqrt
from typing import Any

import numpy as np
from flint import arb, arb_poly, ctx

from crowdtally.laws.balls import Real, as_ball, precision
from crowdtally.noise.exponential import interval
from kit.draws import Choice, Form

# ---- Exact brackets for e^(−y) in plain integers: an arithmetic that shares nothing with arb -----
#
# Numbers are integers in units of 2^−PLACES; every operation rounds outwards.


PLACES = 2048
ONE = 1 << PLACES
Bracket = tuple[int, int]


def floor_ceil(value: Fraction) -> Bracket:
    scaled = value * ONE
    return scaled.numerator // scaled.denominator, -(-scaled.numerator // scaled.denominator)


@lru_cache
def exp_neg(y: Fraction) -> Bracket:
    """A bracket of e^(−y), y ≥ 0: alternating Taylor sums of y/2^h ≤ 1/512, then h squarings."""
    halvings = (2 * y.numerator // y.denominator).bit_length() + 8  # quicker than more terms
    low_y, high_y = floor_ceil(y / 2**halvings)
    low, high = _taylor(high_y)[0], _taylor(low_y)[1]
    for _ in range(halvings):
        low, high = low * low >> PLACES, -(-high * high >> PLACES)
    return max(low, 0), high


def _taylor(y: int) -> Bracket:
    """Terms y^n/n! fall, so the truncated alternating sum errs by less than the next term."""
    total, term, n = ONE, ONE, 0
    while term:
        n += 1
        term = (term * y >> PLACES) // n  # rounded down once more, and still the same number
        total += -term if n % 2 else term
    return total - 2 * n - 2, total + 2 * n + 2  # each floored term errs by at most 2 units


class ExactDigit:
    """Boundaries b(k) = (1−α^(k+1))/T of Pr[D=k] ∝ α^k, from a bracket of α = e^(−y)."""

    def __init__(self, alpha: Bracket, highest: bool, boundaries: int) -> None:
        powers = [alpha]
        while len(powers) < 256:
            low, high = powers[-1]
            powers.append((low * alpha[0] >> PLACES, -(-high * alpha[1] >> PLACES)))
        total = (ONE, ONE) if highest else (ONE - powers[255][1], ONE - powers[255][0])
        self.highest = highest
        self.boundaries = [
            ((ONE - high) * ONE // total[1], -(-(ONE - low) * ONE // total[0]))
            for low, high in powers[: boundaries if highest else 255]
        ]

    def digit(self, words: list[int], width: int = 64) -> int | None:
        """The digit of U = 0.w₁w₂…, if the boundaries' brackets and U's interval decide it."""
        head = 0
        for word in words:
            head = head << width | word
        shift = PLACES - width * len(words)
        assert shift >= 0
        low, high = head << shift, (head + 1) << shift
        passed = sum(1 for _, upper in self.boundaries if upper <= low)
        if passed < len(self.boundaries):
            return passed if high <= self.boundaries[passed][0] else None
        assert not self.highest, "more boundaries are needed"
        return 255

    def probability(self, k: int) -> float:
        """Pr[D=k] to the last bits of a float."""
        above = self.boundaries[k][0] if k < len(self.boundaries) else ONE
        below = self.boundaries[k - 1][0] if k else 0
        return float(Fraction(above - below, ONE))


# ---- Every possible run of a randomised function, with its probability ---------------------------
#
# A run asks an :class:`Enumerated` for its draws; each draw is one of finitely many options. The
# function is run once per sequence of options, so its output law is computed, not estimated.
# Options with little probability are left out, and what they weigh together is reported.


class _Fork(BaseException):
    def __init__(self, options: list[tuple[Any, float]]) -> None:
        self.options = options


@dataclass(frozen=True)
class Law:
    probabilities: dict[Hashable, float]
    left_out: float

    def misfit(self, exact: Callable[[Any], float]) -> float:
        """The largest amount by which an outcome is too likely, or is missing, beyond doubt."""
        return max(
            max(p - exact(outcome), exact(outcome) - p - self.left_out)
            for outcome, p in self.probabilities.items()
        )


def law(run: Callable[[Enumerated], Hashable], reach: int = 12, floor: float = 1e-7) -> Law:
    found: dict[Hashable, float] = defaultdict(float)
    stack: list[tuple[tuple[Any, ...], float]] = [((), 1.0)]
    while stack:
        choices, probability = stack.pop()
        try:
            found[run(Enumerated(choices, reach))] += probability
        except _Fork as fork:
            for option, p in fork.options:
                if probability * p >= floor:
                    stack.append(((*choices, option), probability * p))
    return Law(dict(found), 1 - sum(found.values()))


class Enumerated:
    """A ``Draws`` that follows a script and asks for the next option where it ends."""

    def __init__(self, choices: tuple[Any, ...], reach: int) -> None:
        self._choices, self._used, self._reach = choices, 0, reach

    def _choose(self, options: list[tuple[Any, float]]) -> Any:
        if self._used == len(self._choices):
            raise _Fork(options)
        self._used += 1
        return self._choices[self._used - 1]

    def _coin(self, p: float) -> bool:
        if p in (0.0, 1.0):
            return p == 1.0
        return self._choose([(True, p), (False, 1 - p)])

    def geometric(self, rate: Fraction, size: int) -> np.ndarray:
        alpha = exp(-rate)
        options = [(k, (1 - alpha) * alpha**k) for k in range(self._reach)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def laplace(self, scale: Fraction, size: int) -> np.ndarray:
        options = [(k, laplace(scale, k)) for k in range(-self._reach, self._reach + 1)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def gaussian(self, variance: Fraction, size: int) -> np.ndarray:
        options = [(k, gaussian(variance, k)) for k in range(-self._reach, self._reach + 1)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def gaussian_beyond(self, variance: Fraction, least: int, sides: str, size: int) -> np.ndarray:
        kept = [
            k
            for k in range(-self._reach, self._reach + 1)
            if (abs(k) if sides == "two" else k) >= least
        ]
        weights = [gaussian(variance, k) for k in kept]
        options = [(k, weight / sum(weights)) for k, weight in zip(kept, weights, strict=True)]
        return np.array([self._choose(options) for _ in range(size)], dtype=np.int64)

    def choose_among(self, scores: Any, multiplicities: Any, rate: Fraction) -> int:
        best = max(score for score, n in zip(scores, multiplicities, strict=True) if n)
        weights = [
            n * exp(rate * (score - best)) for score, n in zip(scores, multiplicities, strict=True)
        ]
        return int(self._choose([(i, w / sum(weights)) for i, w in enumerate(weights) if w]))

    def uniforms_below(self, bounds: np.ndarray) -> np.ndarray:
        drawn = [self._choose([(k, 1 / n) for k in range(n)]) for n in bounds.tolist()]
        return np.array(drawn, dtype=np.uint64)

    def interval(self, rate: Fraction, size: int) -> np.ndarray:
        return interval(self.geometric, self.choose_among, self.uniforms_below, rate, size)

    def bernoulli(self, p: Any, size: int) -> np.ndarray:
        chance = as_float(p)
        return np.array([self._coin(chance) for _ in range(size)], dtype=np.bool_)

    def bernoulli_each(self, numerators: np.ndarray, denominators: np.ndarray) -> np.ndarray:
        pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
        return np.array([self._coin(a / b) for a, b in pairs], dtype=np.bool_)

    def hits(self, p: Any, cells: int) -> np.ndarray:
        chance = as_float(p)
        assert 0 <= chance <= 1, "that is no probability"
        return np.array([i for i in range(cells) if self._coin(chance)], dtype=np.int64)


def as_float(p: Any) -> float:
    return float(p.enclose(128)) if isinstance(p, Real) else float(p)


def laplace(scale: Fraction, k: int) -> float:
    alpha = exp(-1 / scale)
    return (1 - alpha) / (1 + alpha) * alpha ** abs(k)


@cache
def gaussian(variance: Fraction, k: int) -> float:
    total = sum(exp(-(j**2) / (2 * variance)) for j in range(-60, 61))
    return exp(-(k**2) / (2 * variance)) / total


# ---- The privacy loss between two output laws, in certified arithmetic ---------------------------
#
# The loss of D against D′ is the supremum, over outcomes, of log Pr[outcome | D] / Pr[outcome |
# D′].
#
# - c + G − G′ with draws of its own, of one rate x, is discrete Laplace around c. Between c and c′
#   its loss is exactly x·|c − c′|: a rational, reached at every outcome beyond both.
# - Outcomes that share no draw are independent, so their losses add up.
# - A choice is exponential over listed scores; its log-ratio is a ball.
# - Outcomes of any other shape are enumerated over cut draws, with bounds on each probability.
#   That can certify a violation, never its absence.


_BITS = 128
_ENUMERATED = 1024
INFINITE = arb("inf")


@dataclass(frozen=True)
class LawLoss:
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


def loss(first: LawLoss, second: LawLoss) -> Loss:
    """The loss of the first against the second on one path."""
    with precision(_BITS):
        total = _steering_loss(first, second)
        for one, other in zip(first.choices, second.choices, strict=True):
            total += _choice_loss(one, other)
        return total + _forms_loss(first, second)


def losses(first: Mapping[object, LawLoss], second: Mapping[object, LawLoss]) -> list[Loss]:
    """The loss, both ways, on each path of a release whose paths themselves are released."""
    if first.keys() != second.keys():
        return [ENDLESS]
    pairs = [(first[path], second[path]) for path in first]
    return [loss(*laws) for pair in pairs for laws in (pair, pair[::-1])]


def _forms_loss(first: LawLoss, second: LawLoss) -> Loss:
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


def _block_loss(block: Sequence[int], first: LawLoss, second: LawLoss) -> Loss:
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


def _steering_loss(first: LawLoss, second: LawLoss) -> Loss:
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


def enumerated_loss(block: Sequence[int], first: LawLoss, second: LawLoss) -> Loss:
    """A certified lower bound: Pr ≥ what was enumerated, and ≤ that plus all the rest."""
    sure, _ = _enumerate(block, first)
    possible, rest = _enumerate(block, second)
    low = arb(0)
    for outcome, mass in sure.items():
        ratio = (mass.lower() / (possible.get(outcome, arb(0)) + rest).upper()).log().lower()
        low = ratio if ratio > low else low
    return between(low, INFINITE)


def _enumerate(block: Sequence[int], law: LawLoss) -> tuple[dict[tuple[int, ...], arb], arb]:
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


# ---- The hockey-stick divergence between two releases with Gaussian noise, in certified
#      arithmetic
#
# Two releases of neighbouring databases, with one sampling key, are tables of exact counts plus
# independent discrete Gaussian noise; counts differ by a vector v_t in table t. With S_t = Σ
# v_ti·k_i for the noise k of the first, the ratio of the two probabilities of one outcome is
#
#     e^L,   L = Σ_t (|v_t|² − 2·S_t) / (2σ_t²),
#
# so that Σ (P − e^ε·Q)⁺ = E[(1 − e^(ε−L))⁺]: a sum over the values of the S_t, whose laws are
# products of polynomials with ball coefficients. What is left out of each law is added as if all
# of it were lost, so that the result is never too small.


BITS = 128
_WIDE = 11
"""Standard deviations of one cell's noise that are looked at; beyond it is less than 1e-25."""


@dataclass(frozen=True)
class Change:
    """What one user changes in a table, and the variance of its noise, in units."""

    variance: Fraction
    by: tuple[int, ...]
    """The changes of its cells, those that are not 0."""

    @classmethod
    def of(cls, variance: Fraction, by: Iterable[int]) -> Change:
        return cls(variance, tuple(sorted(abs(int(one)) for one in by if one)))

    @property
    def squares(self) -> int:
        return sum(one**2 for one in self.by)


def divergence(changes: Sequence[Change], epsilon: Fraction) -> arb:
    """Σ (P − e^ε·Q)⁺, or a little more, as a ball."""
    held, ctx.prec = ctx.prec, BITS
    try:
        laws = [_sums(change) for change in changes]
        lost = sum((left for _, left in laws), arb(0))
        total = arb(0)
        for place in product(*(law for law, _ in laws)):
            loss = sum((one.loss for one in place), Fraction(0))
            if loss <= epsilon:
                continue
            chance = arb(1)
            for one in place:
                chance *= one.chance
            total += chance * (1 - _ball(epsilon - loss).exp())
        return total + lost
    finally:
        ctx.prec = held


@dataclass(frozen=True)
class _Value:
    """One value of S_t."""

    loss: Fraction
    chance: arb


@cache
def _sums(change: Change) -> tuple[tuple[_Value, ...], arb]:
    """The values of S_t with their probabilities, and what is left out."""
    reach = _WIDE * (isqrt(int(change.variance)) + 2)
    weights, left = _weights(change.variance, reach)
    law, lowest = arb_poly([1]), 0
    for by in change.by:
        spread = [arb(0)] * (2 * reach * by + 1)
        spread[::by] = weights
        law, lowest = law * arb_poly(spread), lowest - reach * by
    values = tuple(
        _Value((change.squares - 2 * Fraction(lowest + place)) / (2 * change.variance), chance)
        for place, chance in enumerate(law.coeffs())
    )
    return values, left * len(change.by)


@cache
def _weights(variance: Fraction, reach: int) -> tuple[list[arb], arb]:
    """Pr[k] for |k| ≤ reach, from its definition, and the rest: less than a geometric series."""
    rate = 1 / (2 * variance)
    raw = [_ball(-rate * k * k).exp() for k in range(reach + 2)]
    rest = 2 * raw[reach + 1] / (1 - _ball(-rate * (2 * reach + 3)).exp())
    inside = raw[0] + 2 * sum(raw[1 : reach + 1], arb(0))
    total = inside.union(inside + rest)
    return [raw[abs(k)] / total for k in range(-reach, reach + 1)], rest / inside


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator
