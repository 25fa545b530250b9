"""Certified ball arithmetic (python-flint's ``arb``), at a precision that a block asks for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

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


def as_ball(value: Fraction | int) -> arb:
    """The ball of a rational at the precision in force.

    >>> as_ball(Fraction(1, 2)).is_exact(), as_ball(Fraction(1, 3)).is_exact()
    (True, False)
    """
    return arb(fmpq(value.numerator, value.denominator))


def certified_ceiling(function: Callable[[], arb]) -> int:
    """⌈x⌉ of a number x that is not an integer, so that some precision decides.

    Args:
        function: a ball around x, at the precision in force. That x is not an integer is the
            caller's to argue: for a logarithm of e^(−rational) it follows from Lindemann's theorem.

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
