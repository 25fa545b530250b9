"""Draws of each sampler, and numbers of each law."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from same import seams
from same.stage import Scene, Stage
from same.texts import numbers_of

_RATES = (Fraction(1, 3), Fraction(7, 2), Fraction(1, 1000))
_SHARES = (Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000))


def _drawn(stage: Stage) -> None:
    some = np.array([1, 5, 9]), np.array([2, 6, 10])
    bounds = np.array([3, 17, 10**6])
    scores = np.array([1, 4, 2])
    for number, rate in enumerate(_RATES):
        for name, draw in {
            "geometric": lambda d, r=rate: d.geometric(r, 40),
            "laplace": lambda d, r=rate: d.laplace(1 / r, 40),
            "interval": lambda d, r=rate: d.interval(r, 8),
            "gaussian": lambda d, r=rate: d.gaussian(1 / r, 40),
            "beyond": lambda d, r=rate: d.gaussian_beyond(1 / r, 3, "two", 20),
            "beyond, one side": lambda d, r=rate: d.gaussian_beyond(1 / r, 3, "one", 20),
            "bernoulli": lambda d, r=rate: d.bernoulli(r / 4, 60),
            "each": lambda d, _=rate: d.bernoulli_each(*some),
            "hits": lambda d, r=rate: d.hits(r / 40, 500),
            "choose": lambda d, r=rate: [d.choose(scores, r) for _ in range(20)],
            "among": lambda d, r=rate: [d.choose_among(scores, bounds, r) for _ in range(20)],
            "uniforms": lambda d, _=rate: [*d.uniforms_below(bounds), *d.uniforms_below(bounds)],
        }.items():
            stage.seed(f"{name} {number}")
            stage.note(f"{name} {number}", *_shown(draw))


def _shown(draw: Any) -> Iterator[str]:
    yield from numbers_of(np.asarray(draw(seams.draws())).tolist())


def _laws(stage: Stage) -> None:
    for number, law in enumerate(seams.laws()):
        stage.note(f"{law.kind} {number}", str(law.to_json()), *numbers_of(_of_law(law)))


def _of_law(law: Any) -> Iterator[Any]:
    yield from (law.std(), law.std(seams.combination(5.0, 2.0)))
    for level in _SHARES:
        yield from (law.half_width(level), law.half_width(level, 6))
        yield law.reach(level, seams.combination(5.0, 2.0))
    yield from (law.floor(lines) for lines in (1, 6))
    yield from (law.tail(width) for width in (0, 3, 20, 90))
    yield from law.log_probabilities(np.arange(-4, 5)).tolist()
    if hasattr(law, "cut"):
        yield from (law.cut(share / 10) for share in _SHARES)


def _conversion(stage: Stage) -> None:
    zcdp = seams.zcdp()
    for rho in (Fraction(1, 1000), Fraction(1, 8), Fraction(3)):
        for other in (Fraction(1, 10**9), Fraction(1, 50)):
            stage.note(
                f"rho {rho} with {other}", str(zcdp.epsilon_of(rho, other)),
                str(zcdp.delta_of(rho, 100 * other)), str(zcdp.rho_of(rho, other)),
            )  # fmt: skip


def scenes() -> Iterator[Scene]:
    """Samplers, laws, and the way between two kinds of loss."""
    yield Scene("draws", _drawn, quick=True)
    yield Scene("laws", _laws, quick=True)
    yield Scene("conversion", _conversion, quick=True)
