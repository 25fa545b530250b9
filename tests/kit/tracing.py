"""Draws that spell themselves out: what is released tells by which draws it was made.

The i-th geometric draw is handed out as 2^room·5^i. A released integer is then read like a number
in a notation: its low bits are the exact count, its base-5 digits (−2 … 2) the coefficient of each
draw. Production code runs on plain integers and notices nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from crowdtally.noise.draws import Draws

_BASE = 5
_LARGEST = 2**62  # beyond it dense publishing would leave 64 bits


class Unreadable(AssertionError):
    """A released value is not a count plus a small combination of draws."""


@dataclass(frozen=True)
class Form:
    """A released integer as ``constant`` + Σ coefficient·draw."""

    constant: int
    coefficients: tuple[tuple[int, int], ...]
    """(number of the draw, its coefficient), ascending; none is zero."""

    def at(self, draws: Mapping[int, int]) -> int:
        return self.constant + sum(factor * draws[number] for number, factor in self.coefficients)


@dataclass(frozen=True)
class Choice:
    """One run of the exponential mechanism: Pr[i] ∝ exp(rate·scores[i])."""

    scores: tuple[int, ...]
    rate: Fraction
    picked: int


class Tracer(Draws):
    """Traces which draws end up where.

    Args:
        room: bits that the exact counts may take.
        pinned: draws that get a value of their own instead of a place in the notation.
        script: what each choice picks, in order; 0 where the script has ended.
    """

    def __init__(
        self, room: int = 8, pinned: Mapping[int, int] | None = None, script: Sequence[int] = ()
    ) -> None:
        self.rates: list[Fraction] = []
        """The rate of each draw."""
        self.choices: list[Choice] = []
        self._room, self._pinned, self._script = room, dict(pinned or {}), tuple(script)
        self._places: list[int] = []

    def geometric(self, rate: Any, size: int) -> Any:
        assert isinstance(rate, Fraction), "only rational rates are traced"
        first = len(self.rates)
        self.rates += [rate] * size
        return np.array([self._value(first + i) for i in range(size)], dtype=np.int64)

    def choose(self, scores: Any, rate: Fraction) -> int:
        listed = tuple(int(score) for score in scores)
        place = len(self.choices)
        picked = self._script[place] if place < len(self._script) else 0
        self.choices.append(Choice(listed, rate, picked))
        return picked

    def _untraced(self, *_: Any) -> Any:
        raise NotImplementedError("this primitive is not traced: teach the tracer its law")

    bernoulli: Any = _untraced
    bernoulli_each: Any = _untraced
    gaussian: Any = _untraced
    gaussian_beyond: Any = _untraced
    hits: Any = _untraced
    uniforms_below: Any = _untraced
    choose_among: Any = _untraced

    def read(self, value: int) -> Form:
        """The form of a released value."""
        half = 1 << (self._room - 1)
        constant = (value + half) % (2 * half) - half
        rest = (value - constant) >> self._room
        coefficients = []
        for number in self._places:
            digit = (rest + _BASE // 2) % _BASE - _BASE // 2
            rest = (rest - digit) // _BASE
            if digit:
                coefficients.append((number, digit))
        if rest:
            raise Unreadable("a released value is not a count plus draws")
        return Form(constant, tuple(coefficients))

    def _value(self, number: int) -> int:
        if number in self._pinned:
            return self._pinned[number]
        value: int = (1 << self._room) * _BASE ** len(self._places)
        assert value * _BASE < _LARGEST, "too many draws for 64 bits: use fewer cells or less room"
        self._places.append(number)
        return value


def every_choice(run: Callable[[tuple[int, ...]], Tracer]) -> Iterator[Tracer]:
    """Run once for every way in which the choices can fall out."""
    pending: list[tuple[int, ...]] = [()]
    while pending:
        script = pending.pop()
        tracer = run(script)
        yield tracer
        picked = tuple(choice.picked for choice in tracer.choices)
        for place in range(len(script), len(picked)):
            others = range(1, len(tracer.choices[place].scores))
            pending += [(*picked[:place], other) for other in others]
