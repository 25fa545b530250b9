"""Exact rationals, whole numbers, 64-bit arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import UsageError

# Exact numbers from what people type.
#
# A rational goes from the user's string to the noise table without ever being a float. A Python
# float means its shortest decimal, which is what its author typed: ``0.1`` is 1/10.

Number = str | int | float | Fraction

# Beyond these a number is a slip of the keyboard, and its digits alone could fill the memory.
_MAX_EXPONENT = 400
_MAX_DIGITS = 1000
_MAX_BITS = 3500  # of a numerator or denominator: what 1,000 digits and an exponent can mean
_EXACT, _KEPT = 700, 60
_PLACES = 360  # decimal places: what is smaller than anything that a person can type is not kept
_MAX_RECORDED = 8600  # a ratio of the longest integers that Python reads
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE](?P<exponent>[+-]?\d+))?", re.ASCII)
_RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
LARGEST = Fraction(10) ** 309


def exact(value: object, name: str) -> Fraction:
    """The rational that ``value`` denotes; ``name`` is what a message calls it.

    >>> exact("1/3", "epsilon"), exact(0.1, "epsilon"), exact("1e-9", "delta")
    (Fraction(1, 3), Fraction(1, 10), Fraction(1, 1000000000))
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Rational):
        raise UsageError(_not_a_number(value, name))
    if isinstance(value, float):
        value = repr(float(value))
    number = _parse(value, name) if isinstance(value, str) else Fraction(value)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MAX_BITS:
        raise UsageError(f"{name} has more than {_MAX_DIGITS:,} digits: give a shorter number.")
    if abs(number) >= LARGEST:
        raise UsageError(
            f"{name} is too large: received {_clip(value)}; give a number below 1e308."
        )
    return number


def _parse(text: str, name: str) -> Fraction:
    text = text.strip()
    decimal = _DECIMAL.fullmatch(text)
    if (not decimal and not _RATIO.fullmatch(text)) or len(text) > _MAX_DIGITS:
        raise UsageError(_not_a_number(text, name))
    if decimal and abs(int(decimal["exponent"] or 0)) > _MAX_EXPONENT:
        raise UsageError(
            f"{name} is too {'small' if '-' in decimal['exponent'] else 'large'}: "
            f"received {_clip(text)}; give a number between 1e-308 and 1e308."
        )
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise UsageError(_not_a_number(text, name)) from None


def recorded(text: str) -> Fraction:
    """The number that :func:`show` wrote: what is computed may be longer than what a person types.

    Raises:
        ValueError: it is no exact number.

    >>> recorded("1/3"), recorded("1e-9")
    (Fraction(1, 3), Fraction(1, 1000000000))
    """
    decimal = _DECIMAL.fullmatch(text)
    if len(text) > _MAX_RECORDED or not (decimal or _RATIO.fullmatch(text)):
        raise ValueError("not an exact number")
    if decimal and len(decimal["exponent"] or "") > 4:
        raise ValueError("an exponent without measure")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("a ratio to nothing") from None


def _not_a_number(value: object, name: str) -> str:
    return (
        f"{name} must be an exact finite number such as 0.1, 1/3 or 1e-6: received {_clip(value)}."
    )


def _clip(value: object) -> str:
    """What was typed; of anything else the type alone, since it may be a frame of records."""
    if value is not None and not isinstance(value, str | bool | int | float | Rational):
        return f"a {type(value).__name__}"
    text = str(value)
    return repr(text if len(text) <= 40 else text[:40] + "…")


def short(amount: Fraction) -> Fraction:
    """A sum that is not negative: exact up to 700 digits, else a little more, of 60 digits.

    A sum has the digits of all its parts: ten charges of coprime ratios would need 10,000 of them,
    and whatever shows or judges the sum would fail or take seconds, for everybody who charges
    later. Rounded **up**, it is at least what was spent; adding and taking back keep that order.
    ``postgres_functions.sql`` rounds in the same way.

    >>> short(Fraction(1, 3)), short(Fraction(1, 3**2000)) - Fraction(1, 3**2000) >= 0
    (Fraction(1, 3), True)
    """
    top, bottom = digits(amount.numerator), digits(amount.denominator)
    if max(top, bottom) <= _EXACT:
        return amount
    scale = 10 ** min(max(0, _KEPT + bottom - top), _PLACES)
    return Fraction(-(-amount.numerator * scale // amount.denominator), scale)


def digits(number: int) -> int:
    """How many decimal digits a number has; ``str`` refuses more than 4,300 of them."""
    found = number.bit_length() * 30103 // 100000  # log10(2), a little too large or exact
    while 10**found > number and found:
        found -= 1
    return found + 1


def show(number: Fraction) -> str:
    """The number exactly: as a decimal where a short one exists, else as a ratio.

    >>> show(Fraction(1, 10)), show(Fraction(1, 3)), show(Fraction(1, 10**9)), show(Fraction(2))
    ('0.1', '1/3', '1e-9', '2')
    """
    if number.denominator == 1:
        plain = str(number.numerator)
        stripped = plain.rstrip("0")
        zeros = len(plain) - len(stripped)
        return f"{stripped}e{zeros}" if zeros > 15 else plain
    twos = fives = 0
    rest = number.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    plain = str(abs(number.numerator) * 10**places // number.denominator)
    if rest != 1 or len(plain) > 30:
        return f"{number.numerator}/{number.denominator}"
    sign = "-" if number < 0 else ""
    if places - len(plain) >= 4:
        mantissa = plain[0] + ("." + plain[1:] if len(plain) > 1 else "")
        return f"{sign}{mantissa}e-{places - len(plain) + 1}"
    plain = plain.rjust(places + 1, "0")
    return f"{sign}{plain[:-places]}.{plain[-places:]}"


# Whole numbers that a person gave.


def is_whole(value: object) -> bool:
    """Whether it is a Python integer; True and False are not numbers here."""
    return isinstance(value, int) and not isinstance(value, bool)


def whole_number(value: object, name: str, least: int, most: int) -> int:
    """The number, or a UsageError unless it is whole and between ``least`` and ``most``.

    >>> whole_number(10, "--max-records", 1, 100)
    10
    """
    if not isinstance(value, int) or not is_whole(value) or not least <= value <= most:
        raise UsageError(
            f"{name} must be a whole number between {least} and {most}: received {received(value)}."
        )
    return value


def received(value: object) -> str:
    """What a message repeats of a parameter: a value that was typed, never a frame of records.

    >>> received("ten"), received(1.5), received([1])
    ("'ten'", '1.5', 'a list')
    """
    if value is None or isinstance(value, str | int | float | Fraction):
        return repr(value)
    return f"a {type(value).__name__}"


# Integers of any size in arrays: exact sums and products, and what falls together.

Integers = NDArray[Any]
"""int64 where all values fit, else Python integers in an object array."""

_HALF = 1 << 62
_SIGNED_64 = 1 << 63


def integers(values: object) -> Integers:
    """An array of integers: int64 where all fit, else Python integers; floats are refused."""
    # numpy turns a list that holds both 2^63 and a smaller integer into floats.
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if array.size == 0:
        return np.empty(array.shape, dtype=np.int64)
    if array.dtype == np.int64:
        return array
    if array.dtype.kind not in "iuO":
        raise UsageError(f"cells and counts must be integers: received {array.dtype}.")
    exact = array.tolist()
    if not all(isinstance(value, int | np.integer) for value in exact):
        raise UsageError("cells and counts must be integers: received other objects.")
    kind = np.int64 if all(-_SIGNED_64 <= v < _SIGNED_64 for v in exact) else object
    return np.array(exact, dtype=kind)


def as_kind(numbers: Integers, size: int) -> Integers:
    """Numbers of cells in the kind of array that all of 0..size−1 fit."""
    return numbers.astype(np.int64 if size <= _SIGNED_64 else object, copy=False)


def exact_sum(first: Integers, second: Integers | int) -> Integers:
    """``first + second`` without wrapping round."""
    if largest(first) < _HALF and largest(second) < _HALF:
        return np.asarray(first + second)
    return integers(first.astype(object) + second)


def exact_product(values: Integers, factor: int) -> Integers:
    """``values·factor`` without wrapping round."""
    # The factor itself must fit: numpy refuses a longer one even beside zeros or an empty array,
    # and then the records would decide whether there is a release.
    if abs(factor) < _SIGNED_64 and largest(values) * abs(factor) < _SIGNED_64:
        return np.asarray(values * factor)
    return np.asarray(values.astype(object) * factor)


def repeated(number: int, size: int) -> Integers:
    """``size`` times ``number``, in the kind of array that holds it, also where ``size`` is 0."""
    return np.full(size, number, dtype=np.int64 if abs(number) < _SIGNED_64 else object)


def largest(values: Integers | int) -> int:
    """The largest absolute value; 0 of none."""
    if isinstance(values, int):
        return abs(values)
    if values.dtype == object:
        return max((abs(int(v)) for v in values), default=0)
    return max(-int(values.min(initial=0)), int(values.max(initial=0)))


def positions(numbers: Integers, wanted: Integers) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each of ``wanted`` would stand in the ascending ``numbers``, and whether it does."""
    places = np.searchsorted(numbers, wanted)
    inside = np.minimum(places, max(len(numbers) - 1, 0))
    found = numbers[inside] == wanted if len(numbers) else np.zeros(len(wanted), dtype=np.bool_)
    return inside, np.asarray(found, dtype=np.bool_)


def within_64_bits(values: Integers) -> NDArray[np.int64]:
    """The values, those beyond 64 bits held at the nearer end.

    Noise can be beyond it. To hold noisy values there is post-processing, which costs nothing; to
    hold the noise before it is added would change its law.
    """
    if values.dtype == np.int64:
        return values
    ends = np.iinfo(np.int64)
    return np.array([min(max(int(v), ends.min), ends.max) for v in values], dtype=np.int64)


def saturating_sum(values: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """``values + shift``, held within 64 bits."""
    ends = np.iinfo(np.int64)
    within = np.clip(values, ends.min - min(shift, 0), ends.max - max(shift, 0))
    return np.asarray(within + shift, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Grouped:
    """Equal numbers brought together."""

    numbers: Integers
    """The distinct numbers, ascending."""
    order: NDArray[np.int64]
    """Positions of the given numbers, by number."""
    starts: NDArray[np.int64]
    """Where in ``order`` each distinct number begins."""

    def sums(self, values: Integers) -> Integers:
        """The sum of the values of each number."""
        if not len(self.starts):
            return values[:0]
        return np.asarray(np.add.reduceat(values[self.order], self.starts))

    def firsts(self, values: Integers) -> Integers:
        """One of the values of each number, where they are equal."""
        return values[self.order[self.starts]]


def group_equal(numbers: Integers) -> Grouped:
    """Bring equal numbers together."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    return Grouped(ordered[starts], order, starts)
