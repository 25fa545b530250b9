"""Draws of a test's own: silent, scripted, spelled out, or written down with who asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from crowdtally.curator.choices.selection import OtherMass
from crowdtally.curator.questions import ChooseLimit, ScaledChoice
from crowdtally.curator.request.discover import UnknownTable
from crowdtally.curator.table import Measured, Table
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.noise.source import WordSource

# ---- Draws without noise, so that two releases can be compared cell by cell ----------------------


class SilentDraws(SystemDraws):
    """All noise is zero, and the best candidate wins."""

    def geometric(self, rate: Any, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def interval(self, rate: Any, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Any, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)

    def choose(self, scores: Any, rate: Any) -> int:
        return max(range(len(scores)), key=lambda place: scores[place])


# ---- Word sources for tests: scripted to the bit, or seeded. They exist nowhere else -------------


ONES = 2**64 - 1


class Scripted:
    """Gives out the words it was given, in order, and fails the test that asks for more."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)
        self.used = 0

    def words(self, n: int, /) -> np.ndarray:
        assert self.used + n <= len(self._words), "the script ran out of words"
        self.used += n
        return np.array(self._words[self.used - n : self.used], dtype=np.uint64)


class Seeded:
    """Repeatable words for tests that compare two runs."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, n: int, /) -> np.ndarray:
        return self._generator.integers(0, 2**64, size=n, dtype=np.uint64)


# ---- Draws that keep a book: every law a release draws from, and the part it is drawn for --------
#
# The numbers themselves come from production's samplers. Which part asks is noted by wrapping the
# steps: the popularity, the choice of the bounds, each table of counts, and the two halves of a
# discovery. A draw outside all of them has no part, which no honest release has.


@dataclass(frozen=True)
class Drawn:
    """One request for random numbers."""

    part: str | None
    """The part of the release that asked; None where no step was at work."""
    law: str
    """The method of ``Draws``."""
    parameter: Any
    """Its scale, rate or probability; for arrays of them, one for each number."""
    size: int
    """How many numbers, cells or candidates."""


class Recording(Draws):
    """Notes each request, then answers it as production does, from ``words`` if they are given."""

    def __init__(self, words: WordSource | None = None) -> None:
        self.drawn: list[Drawn] = []
        self._inner = SystemDraws(words)
        self._part: str | None = None

    def of(self, part: str) -> list[Drawn]:
        """What was drawn for one part."""
        return [drawn for drawn in self.drawn if drawn.part == part]

    @contextmanager
    def during(self, part: str) -> Iterator[None]:
        """What is drawn inside belongs to ``part``."""
        outer, self._part = self._part, part
        try:
            yield
        finally:
            self._part = outer

    def _note(self, law: str, parameter: Any, size: int) -> None:
        self.drawn.append(Drawn(self._part, law, parameter, size))

    def geometric(self, rate: Any, size: int) -> Any:
        self._note("geometric", rate, size)
        return self._inner.geometric(rate, size)

    def laplace(self, scale: Fraction, size: int) -> Any:
        self._note("laplace", scale, size)
        return self._inner.laplace(scale, size)

    def interval(self, rate: Fraction, size: int) -> Any:
        self._note("interval", rate, size)
        return self._inner.interval(rate, size)

    def gaussian(self, variance: Fraction, size: int) -> Any:
        self._note("gaussian", variance, size)
        return self._inner.gaussian(variance, size)

    def gaussian_beyond(self, variance: Fraction, least: int, sides: Any, size: int) -> Any:
        self._note("gaussian_beyond", (variance, least, sides), size)
        return self._inner.gaussian_beyond(variance, least, sides, size)

    def choose_among(self, scores: Any, multiplicities: Any, rate: Fraction) -> int:
        self._note("choose_among", rate, len(scores))
        return self._inner.choose_among(scores, multiplicities, rate)

    def bernoulli(self, p: Any, size: int) -> Any:
        self._note("bernoulli", p, size)
        return self._inner.bernoulli(p, size)

    def bernoulli_each(self, numerators: Any, denominators: Any) -> Any:
        pairs = zip(numerators.tolist(), denominators.tolist(), strict=True)
        chances = tuple(Fraction(above, below) for above, below in pairs)
        self._note("bernoulli_each", chances, len(chances))
        return self._inner.bernoulli_each(numerators, denominators)

    def hits(self, p: Any, cells: int) -> Any:
        self._note("hits", p, cells)
        return self._inner.hits(p, cells)

    def choose(self, scores: Any, rate: Fraction) -> int:
        self._note("choose", rate, len(scores))
        return self._inner.choose(scores, rate)

    def uniforms_below(self, bounds: Any) -> Any:
        self._note("uniforms_below", tuple(bounds.tolist()), len(bounds))
        return self._inner.uniforms_below(bounds)


_STEPS: tuple[tuple[Any, str, Callable[..., str]], ...] = (
    (ChooseLimit, "draw", lambda *_: "choose"),
    (ScaledChoice, "draw", lambda *_: "choose"),
    (Table, "publish", lambda table, *_: str(table.name)),
    (Measured, "publish", lambda table, *_: str(table.name)),
    (UnknownTable, "select", lambda table, *_: str(table.name)),
    (OtherMass, "draw", lambda *_: "total"),
)
"""Where each step is called from, its name there, and from its arguments the part it draws for."""


@contextmanager
def recorded(words: WordSource | None = None) -> Iterator[Recording]:
    """A recording that knows, while this lasts, which step is at work."""
    recording = Recording(words)
    with ExitStack() as stack:
        for place, name, part_of in _STEPS:
            wrapped = _noting(recording, getattr(place, name), part_of)
            stack.enter_context(patch.object(place, name, wrapped))
        yield recording


def _noting(
    recording: Recording, step: Callable[..., Any], part_of: Callable[..., str]
) -> Callable[..., Any]:
    def noted(*given: Any, **named: Any) -> Any:
        with recording.during(part_of(*given)):
            return step(*given, **named)

    return noted


# ---- Draws that spell themselves out: what is released tells by which draws it was made ----------
#
# The i-th geometric draw is handed out as 2^room·5^i. A released integer is then read like a
# number in a notation: its low bits are the exact count, its base-5 digits (−2 … 2) the
# coefficient of each draw. Production code runs on plain integers and notices nothing.


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
