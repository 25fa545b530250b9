"""Draws that say what was drawn and add nothing, or something made up: what is exact shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from crowdtally.core.layout import KINDS
from crowdtally.format import NoisyTable
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.noise.draws import SystemDraws


@dataclass(frozen=True)
class Drawn:
    """One call of a primitive whose law is known and tested by itself."""

    kind: str
    parameter: Fraction
    """The scale of discrete Laplace noise; the variance of Gaussian, the rate of interval noise."""
    size: int


def _nothing(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


@dataclass
class Seam(SystemDraws):
    """Instead of noise: zeros, or what ``made_up`` says for so many cells."""

    made_up: Callable[[int], np.ndarray] = _nothing
    drawn: list[Drawn] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()  # what is not made up is drawn

    def laplace(self, scale: Fraction, size: int) -> Any:
        self.drawn.append(Drawn("laplace", scale, size))
        return self.made_up(size)

    def refine(self, noise: Any, scale: Fraction) -> Any:
        self.drawn.append(Drawn("refined", scale, len(noise)))
        return self.made_up(len(noise))

    def gaussian(self, variance: Fraction, size: int) -> Any:
        self.drawn.append(Drawn("gaussian", variance, size))
        return self.made_up(size)

    def interval(self, rate: Fraction, size: int) -> Any:
        self.drawn.append(Drawn("interval", rate, size))
        return self.made_up(size)


def loss(one: NoisyTable, other: NoisyTable, drawn: Drawn) -> Fraction:
    """The largest log-ratio of the densities of count + noise, for two tables of exact counts.

    For independent discrete Laplace noise it is the L1 distance over the scale; for interval noise
    the rate times the distance's norm max z⁺ + max z⁻, in whole counts. For Gaussian noise it is
    the ρ of zCDP: the square of the L2 distance over twice the variance.
    """
    apart = one.values - other.values
    if drawn.kind == "gaussian":
        return Fraction(sum(int(x) ** 2 for x in apart.tolist())) / (2 * drawn.parameter)
    if drawn.kind == "laplace":
        return Fraction(int(np.abs(apart).sum())) / drawn.parameter
    law = one.law
    assert isinstance(law, IntervalNoise)
    pieces = law.phantoms + 1  # values are in units of 1/(D+1)
    norm = max(0, int(apart.max())) + max(0, int(-apart.min()))
    return drawn.parameter * Fraction(norm, pieces)


def costs(tables: Sequence[NoisyTable]) -> dict[str, Fraction]:
    """What each table adds: where it refines another, it costs what that did not cost yet."""
    alone = {table.name: cost(table) for table in tables}
    zero = Fraction(0)
    return {name: own - alone.get(KINDS[name].refines or "", zero) for name, own in alone.items()}


def cost(table: NoisyTable) -> Fraction:
    """What a table costs alone, by the law of its noise and the bound that it states."""
    if isinstance(table.law, IntervalNoise):
        return table.law.rate
    if isinstance(table.law, GaussianNoise):
        return Fraction(table.facts["sensitivity_squared"]) / (2 * table.law.variance)
    return Fraction(table.facts["sensitivity"]) / Fraction(table.law.scale)
