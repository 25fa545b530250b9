"""How numbers, names and expressions are written in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

_FEW = 3
_DIGITS = Context(prec=30)
_NEAR_1 = Decimal("0.1")
WRITTEN = 100_000
"""An ε up to which e^ε is a number that can be written down."""


def number(value: int) -> str:
    """A whole number with its thousands told apart.

    >>> number(1234567), number(10**20)
    ('1,234,567', '100,000,000,000,000,000,000')
    """
    return f"{value:,}"


def amount(value: float) -> str:
    """A number of any kind, as exact as a person needs it.

    >>> amount(13), amount(6.272154), amount(1250000.5)
    ('13', '6.27', '1,250,000')
    """
    if value == int(value) or abs(value) >= 1000:
        return number(int(value))
    return f"{value:.3g}"


def several(count: int, one: str, many: str | None = None) -> str:
    """``1 cell``, ``32 cells``.

    >>> several(1, "cell"), several(2, "entry", "entries")
    ('1 cell', '2 entries')
    """
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def listed(parts: Iterable[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *first, end = parts
    return f"{', '.join(first)} {last} {end}" if first else end


def code(expression: str) -> str:
    r"""An expression as it was typed; what a terminal could obey is spelled out.

    >>> code("rating >= 4"), code("a\x1b[2J")
    ('`rating >= 4`', "`'a\\x1b[2J'`")
    """
    text = " ".join(expression.split())
    return f"`{text if text.isprintable() else repr(text)}`"


def examples(values: Sequence[Any] | None) -> str:
    """The first values of a list, after a colon; nothing where they are not at hand.

    >>> examples(["Mon", "Tue"]), examples(range(120)), examples(None)
    (": 'Mon', 'Tue'", ': 0, 1, 2, …', '')
    """
    if not values:
        return ""
    shown = [_clipped(value) for value in values[:_FEW]]
    return ": " + ", ".join(shown) + (", …" if len(values) > _FEW else "")


def power_of_e(epsilon: Fraction, times: int = 1) -> str:
    """e^ε, or a multiple: to three digits below 1,000, else whole, else by a power of ten.

    Near 1, where three digits would say that nothing is learnt, to two digits of what exceeds it.

    >>> power_of_e(Fraction(1)), power_of_e(Fraction(10)), power_of_e(Fraction(100))
    ('2.72', '22,026', '2.7·10^43')
    >>> power_of_e(Fraction(1, 1000)), power_of_e(Fraction(1, 20))
    ('1.0010', '1.051')
    """
    if epsilon > WRITTEN:
        return "a number of tens of thousands of digits"
    power = _DIGITS.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    value = times * _DIGITS.exp(power)
    if value - 1 < _NEAR_1:
        return f"{value:.{1 - (value - 1).adjusted()}f}"
    if value < 1000:
        return f"{value:.3g}"
    if value < 10**9:
        return number(int(value.to_integral_value()))
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10^{int(exponent)}"


def _clipped(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 30 else f"{text[:30]}…"
