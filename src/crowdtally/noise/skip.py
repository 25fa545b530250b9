"""Skip sampling: each of N cells is included independently, at the cost of the included ones.

``skip.md`` has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

import numpy as np
from flint import arb

from crowdtally.errors import UsageError
from crowdtally.laws.balls import Probability, Rate, Real, as_ball, as_probability, precision
from crowdtally.noise.bernoulli import bernoulli
from crowdtally.noise.geometric import BLOCK, Integers, geometric
from crowdtally.noise.source import WordSource


def rare_hits(p: Probability, cells: int, source: WordSource) -> list[int]:
    """As ``hits`` for p in (0, 1), where one hit is unlikely: gaps would have millions of digits.

    One coin decides whether there is any hit. If so, the cells are halved: a coin decides whether
    the first half holds a hit, given that the whole does.
    """
    included: list[int] = []
    parts = [(0, cells, False)]  # where a part starts, its cells, whether it surely holds a hit
    while parts:
        start, length, holds = parts.pop()
        if not holds and (length == 0 or not bernoulli(_any(p, length), 1, source)[0]):
            continue
        if length == 1:
            included.append(start)
            continue
        half = length // 2
        first = bool(bernoulli(_any_of_half(p, half, length), 1, source)[0])
        parts.append((start + half, length - half, not first))
        if first:
            parts.append((start, half, True))
    return included


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


# Up to this many cells a position and one more saturated gap stay in int64.
_VECTOR_CELLS = 1 << 61
# With fewer expected hits one coin decides, almost always, that there is none.
_RARE = 2.0**-32


def hits(p: Probability, cells: int, source: WordSource) -> Integers:
    """Returns which of 0..cells−1 are included, each independently with probability exactly ``p``.

    Sorted and distinct. Time and memory are those of the answer: ``cells`` may be 10^30.

    >>> from crowdtally.noise.source import system_words
    >>> from fractions import Fraction
    >>> hits(Fraction(1), 4, system_words()), hits(Fraction(0), 4, system_words())
    (array([0, 1, 2, 3]), array([], dtype=int64))
    """
    blocks = list(hit_blocks(p, cells, source))
    return np.concatenate([np.empty(0, dtype=_kind(int(cells))), *blocks])


def hit_blocks(p: Probability, cells: int, source: WordSource) -> Iterator[Integers]:
    """Returns the same law block by block, for answers that need not be held at once."""
    if isinstance(cells, bool) or not isinstance(cells, int | np.integer) or cells < 0:
        raise UsageError("the number of cells must be a non-negative integer.")
    cells, p = int(cells), as_probability(p)
    if p == 0:
        return
    if p == 1:
        yield from _all(cells)
        return
    if _expected(p, cells) < _RARE:
        yield np.array(rare_hits(p, cells, source), dtype=_kind(cells))
        return
    rate = Rate.of_probability(p)
    last = -1
    while True:
        wanted = _block_size(p, cells - 1 - last)
        block, done = _walk(last, geometric(rate, wanted, source), cells)
        yield block
        if done:
            return
        last = int(block[-1])


def _walk(last: int, gaps: Integers, cells: int) -> tuple[Integers, bool]:
    """The hits to which ``gaps`` lead from ``last``, up to the end; and whether it was reached.

    A gap of ``cells`` leads past the end from anywhere, so longer ones are cut to it. Then the
    first position past the end is below 2^63; those behind it, which may wrap, are not read.
    """
    if cells > _VECTOR_CELLS:
        return _walk_python(last, gaps, cells)
    steps = np.minimum(gaps, cells).astype(np.int64) + 1
    steps[0] += last
    positions = np.cumsum(steps)
    past = positions >= cells
    end = int(past.argmax()) if past.any() else positions.size
    return positions[:end], end < positions.size


def _walk_python(last: int, gaps: Integers, cells: int) -> tuple[Integers, bool]:
    positions = list(accumulate((gap + 1 for gap in gaps.tolist()), initial=last))[1:]
    inside = [position for position in positions if position < cells]
    return np.array(inside, dtype=_kind(cells)), len(inside) < len(positions)


def _block_size(p: Probability, left: int) -> int:
    """About the number of gaps that will be needed, from public numbers.

    Gaps past the end are independent of the hits before it, so the law does not depend on it.
    """
    expected = min(_expected(p, left), float(BLOCK))
    return min(BLOCK, int(expected + 4 * math.sqrt(expected)) + 16)


def _expected(p: Probability, cells: int) -> float:
    with precision(64):
        chance = p.enclose(64) if isinstance(p, Real) else as_ball(p)
        return float(chance * cells)


def _kind(cells: int) -> type:
    return np.int64 if cells <= 1 << 63 else object


def _all(cells: int) -> Iterator[Integers]:
    if cells > _VECTOR_CELLS:
        raise UsageError("with probability 1 every cell is a hit, and there are more than 2^61.")
    for start in range(0, cells, BLOCK):
        yield np.arange(start, min(start + BLOCK, cells), dtype=np.int64)
