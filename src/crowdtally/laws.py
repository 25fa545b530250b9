"""The discrete Laplace law in closed form: neutral ground, nothing is drawn here.

X has scale b if Pr[X=k] = (1−α)/(1+α)·α^|k| over all integers k, with α = e^(−1/b). The scale is an
exact rational. Certified ball arithmetic (``arb``) carries it through, so that 1e-300 and 1e300 are
scales like any other, and an integer such as :func:`laplace_interval` is right, not nearly right.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike, NDArray

from crowdtally.errors import UsageError

# The precision of arb is one variable of the whole process, not of a thread. A thread outside this
# lock that changes it makes balls wider or narrower than wished, never wrong.
_precision_lock = threading.RLock()


def _fresh_lock() -> None:
    """In a forked child: the thread that may hold the lock does not exist there."""
    global _precision_lock
    _precision_lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_fresh_lock)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Ball arithmetic with ``bits`` bits inside the block, one thread at a time."""
    with _precision_lock, ctx.workprec(bits):
        yield


def number(value: Fraction | int) -> arb:
    """The ball of a rational at the precision in force.

    >>> number(Fraction(1, 2)).is_exact(), number(Fraction(1, 3)).is_exact()
    (True, False)
    """
    return arb(fmpq(value.numerator, value.denominator))


def _checked(scale: Fraction) -> Fraction:
    if not isinstance(scale, Fraction | int) or isinstance(scale, bool):
        raise UsageError(f"a noise scale must be an exact Fraction: received {type(scale)}.")
    if scale <= 0:
        raise UsageError("a noise scale must be greater than 0.")
    return Fraction(scale)


def laplace_std(scale: Fraction) -> float:
    """The standard deviation √(2α)/(1−α).

    >>> round(laplace_std(Fraction(10)), 4)
    14.1362
    """
    with precision(128):
        rate = 1 / number(_checked(scale))
        return float(arb(2).sqrt() * (-rate / 2).exp() / -(-rate).expm1())


def laplace_tail(scale: Fraction, width: int) -> float:
    """Pr[|X| > width] = 2α^(width+1)/(1+α).

    >>> round(laplace_tail(Fraction(1), 2), 6)
    0.072795
    """
    if width < 0:
        return 1.0
    with precision(128):
        rate = 1 / number(_checked(scale))
        return float(2 * (-rate * (width + 1)).exp() / (1 + (-rate).exp()))


def laplace_interval(scale: Fraction, level: Fraction = Fraction(19, 20)) -> int:
    """The least integer w ≥ 0 with Pr[|X| ≤ w] ≥ level: the half-width of a noise interval.

    With t = b·log(2/((1−level)(1+α))) the condition is w+1 ≥ t. For rational b and level, t is
    never an integer: 2α^(w+1) = (1−level)(1+α) would make α algebraic, and e^(−1/b) is not
    (Lindemann). So some precision always tells on which side of w+1 it lies.

    >>> laplace_interval(Fraction(10)), laplace_interval(Fraction(1, 100))
    (30, 0)
    """
    scale = _checked(scale)
    if not isinstance(level, Fraction | int) or not 0 <= level < 1:
        raise UsageError("the level of a noise interval is an exact Fraction in [0, 1).")
    bits = 128
    while True:
        with precision(bits):
            b = number(scale)
            t = b * (2 / (number(1 - Fraction(level)) * (1 + (-1 / b).exp()))).log()
            least, most = t.lower().ceil().unique_fmpz(), t.upper().ceil().unique_fmpz()
        if least is not None and least == most:
            return max(int(least) - 1, 0)
        bits *= 2


def laplace_log_pmf(scale: Fraction, values: ArrayLike) -> NDArray[np.float64]:
    """The floats log Pr[X=k] = log tanh(1/(2b)) − |k|/b for each integer k of ``values``.

    >>> laplace_log_pmf(Fraction(2), [0, -1, 1]).round(4)
    array([-1.4068, -1.9068, -1.9068])
    """
    with precision(128):
        rate = 1 / number(_checked(scale))
        alpha = (-rate).exp()
        # log(1−α), without cancellation where α is close to 1, and 0 where it is negligible
        rise = (-(-rate).expm1()).log() if scale > 1 else (-alpha).log1p()
        peak, slope = float(rise - alpha.log1p()), float(rate)
    distance = np.abs(np.asarray(values)).astype(np.float64)
    fall = np.zeros_like(distance)
    with np.errstate(over="ignore"):
        np.multiply(distance, slope, out=fall, where=distance > 0)  # inf·0 would not be 0
    return np.asarray(peak - fall, dtype=np.float64)


def laplace_pmf(scale: Fraction, values: ArrayLike) -> NDArray[np.float64]:
    """Pr[X=k] for each integer k of ``values``, as floats.

    >>> float(laplace_pmf(Fraction(3), range(-200, 201)).sum().round(9))
    1.0
    """
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(laplace_log_pmf(scale, values)), dtype=np.float64)
