"""Skip sampling where a single hit is already unlikely: gaps would have millions of digits.

See the last paragraph of skip.md.
"""

from __future__ import annotations

from flint import arb

from crowdtally.laws.balls import Probability, Real, as_ball
from crowdtally.noise.bernoulli import bernoulli
from crowdtally.noise.source import WordSource


def rare_hits(p: Probability, cells: int, source: WordSource) -> list[int]:
    """Returns which of 0..cells−1 are included, each independently with probability exactly ``p``.

    Whether there is any hit is one coin. Where there is one, the cells are halved: a coin says
    whether the first half holds a hit, given that the whole does.

    Args:
        p: in (0, 1).
        cells: how many cells there are.
        source: where the words come from.
    """
    found: list[int] = []
    parts = [(0, cells, False)]  # where a part starts, its cells, whether it surely holds a hit
    while parts:
        start, length, holds = parts.pop()
        if not holds and (length == 0 or not bernoulli(_any(p, length), 1, source)[0]):
            continue
        if length == 1:
            found.append(start)
            continue
        half = length // 2
        first = bool(bernoulli(_any_of_half(p, half, length), 1, source)[0])
        parts.append((start + half, length - half, not first))
        if first:
            parts.append((start, half, True))
    return found


def _any(p: Probability, cells: int) -> Real:
    """1 − (1−p)^cells: the probability of at least one hit."""
    return Real.ball(("any", _key(p), cells), lambda bits: _any_ball(p, cells, bits))


def _any_of_half(p: Probability, half: int, cells: int) -> Real:
    """The probability of a hit among the first ``half`` cells, given one among all."""
    return Real.ball(
        ("any of half", _key(p), half, cells),
        lambda bits: _any_ball(p, half, bits) / _any_ball(p, cells, bits),
    )


def _any_ball(p: Probability, cells: int, bits: int) -> arb:
    chance = p.enclose(bits) if isinstance(p, Real) else as_ball(p)
    return -(cells * (-chance).log1p()).expm1()


def _key(p: Probability) -> object:
    return p.key if isinstance(p, Real) else p
