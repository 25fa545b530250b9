"""Certified ball arithmetic (python-flint's ``arb``), and real numbers known by smaller balls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

from flint import arb, ctx, fmpq

from crowdtally.errors import UsageError

# The precision of arb belongs to the process, not to a thread. If a thread outside this lock
# changes it, balls get wider or narrower, never wrong.
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


def as_ball(value: Fraction | int) -> arb:
    """The ball of a rational at the precision in force.

    >>> as_ball(Fraction(1, 2)).is_exact(), as_ball(Fraction(1, 3)).is_exact()
    (True, False)
    """
    return arb(fmpq(value.numerator, value.denominator))


def certified_ceiling(function: Callable[[], arb]) -> int:
    """⌈x⌉ of a number x that ``function`` encloses at the precision in force.

    The caller must know that x is not an integer, so that some precision decides: for a logarithm
    of e^(−rational) this follows from Lindemann's theorem.

    >>> certified_ceiling(lambda: as_ball(2).sqrt())
    2
    """
    bits = 128
    while True:
        with precision(bits):
            ball = function()
            least, most = ball.lower().ceil().unique_fmpz(), ball.upper().ceil().unique_fmpz()
        if least is not None and least == most:
            return int(least)
        bits *= 2


# A number such as e^(−1/10) has no exact machine form, and a float in its place changes the law.
# Here it is a function from a precision to a ball around it, with a hashable key that names it
# exactly. A comparison with it asks for smaller balls until it is certain.

Ball = Callable[[int], arb]


# Bits with which a comparison starts, and after which it gives up: a number that near to 0 or 1 was
# meant to be 0 or 1, and its author must write that.
_FIRST = 128
_PATIENCE = 1 << 14


def rational(value: object, name: str) -> Fraction:
    """``value`` as a Fraction if it is an exact rational; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise UsageError(f"{name} must be an exact Fraction or integer: received {type(value)}.")
    return Fraction(value)


@dataclass(frozen=True)
class Real:
    """One real number. Equal keys mean the same number."""

    key: Hashable
    """Caches are keyed by it."""
    function: Ball = field(compare=False, repr=False)
    """From a precision in bits, which is in force during the call, to a ball around the number."""

    @classmethod
    def exact(cls, value: Fraction | int) -> Self:
        value = rational(value, "an exact number")
        return cls(value, lambda bits: as_ball(value))

    @classmethod
    def ball(cls, key: Hashable, function: Ball) -> Self:
        """The number that ``function`` encloses; ``key`` names it and nothing else."""
        return cls(("ball", key), function)

    def enclose(self, bits: int) -> arb:
        """A ball around the number with a relative precision of ``bits`` bits, if it has one.

        Cancellation inside the function costs bits, so the working precision grows. A number that
        may be 0 has no relative precision: the growth stops.
        """
        work = bits + 32
        while True:
            with precision(work):
                ball = self.function(work)
            if ball.rel_accuracy_bits() >= bits or work > _PATIENCE + 16 * bits:
                return ball
            work *= 2


Probability = Fraction | Real


def as_probability(p: Probability) -> Probability:
    """``p`` if it certainly lies in [0, 1]; a ball that is exactly 0 or 1 becomes that Fraction."""
    if isinstance(p, Real):
        ball = p.enclose(_FIRST)
        if ball == 0 or ball == 1:
            return Fraction(int(ball == 1))
        inside = ball > 0 and (ball < 1 or p.enclose(_PATIENCE) < 1)
    else:
        p = rational(p, "a probability")
        inside = 0 <= p <= 1
    if not inside:
        raise UsageError("a probability must lie in [0, 1], certainly: this one does not.")
    return p


@dataclass(frozen=True)
class Rate(Real):
    """The rate x > 0 of a geometric law Pr[G=k] ∝ e^(−xk).

    >>> Rate.exact(Fraction(1, 10)) == Rate.exact(Fraction(2, 20))
    True
    """

    def __post_init__(self) -> None:
        if not self.enclose(_FIRST) > 0:
            raise UsageError(
                "the rate of a geometric law must be greater than 0, certainly: this one is not."
            )

    @classmethod
    def of_probability(cls, p: Probability) -> Rate:
        """The rate −log(1−p): G then counts the failures before a success of probability p.

        >>> Rate.of_probability(Fraction(1, 2)).enclose(64).overlaps(as_ball(2).log())
        True
        """
        p = as_probability(p)
        if isinstance(p, Real):
            real = p
            return cls(("log", real.key), lambda bits: -(-real.enclose(bits)).log1p())
        if p in (0, 1):
            raise UsageError("skipping needs a probability between 0 and 1, both excluded.")
        if p <= Fraction(1, 2):
            return cls(("log", p), lambda bits: -(-as_ball(p)).log1p())
        return cls(("log", p), lambda bits: -as_ball(1 - p).log())  # 1−p before it is rounded


def as_rate(rate: Rate | Fraction) -> Rate:
    return rate if isinstance(rate, Rate) else Rate.exact(rational(rate, "a rate"))
