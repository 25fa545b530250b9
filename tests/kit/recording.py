"""Draws that keep a book: every law a release draws from, and the part it is drawn for.

The numbers themselves come from production's samplers. Which part asks is noted by wrapping the
steps: the popularity, the choice of the bounds, each table of counts, and the two halves of a
discovery. A draw outside all of them has no part, which no honest release has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from crowdtally.curator.choices.selection import OtherMass
from crowdtally.curator.methods.tables import ChooseLimit, ChooseTheta, ChooseThetaAndScaling
from crowdtally.curator.request.discover import UnknownTable
from crowdtally.curator.table import Measured, Table
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.noise.source import WordSource


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
    (ChooseLimit, "release", lambda *_: "choose"),
    (ChooseTheta, "release", lambda *_: "choose"),
    (ChooseThetaAndScaling, "release", lambda *_: "choose"),
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
