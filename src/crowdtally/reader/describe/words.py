"""Numbers, names and expressions in sentences, and who is protected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from crowdtally.format import Published

_FEW = 3
_DIGITS = Context(prec=30)
_NEAR_1 = Decimal("0.1")
WRITTEN = 100_000
"""An ε up to which e^ε is a number that can be written down."""


def number(value: int) -> str:
    """A whole number with commas between thousands.

    >>> number(1234567), number(10**20)
    ('1,234,567', '100,000,000,000,000,000,000')
    """
    return f"{value:,}"


def amount(value: float) -> str:
    """A number of any kind, as exact as a person needs it.

    >>> amount(13), amount(6.272154), amount(1250000.5)
    ('13', '6.27', '1,250,000')
    """
    whole = value == int(value) or abs(value) >= 1000
    return number(int(value)) if whole else f"{value:.3g}"


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


def who(published: Published) -> str:
    return "user" if published.guarantee.unit == "user" else "person"


def whom_lines(published: Published) -> Iterator[str]:
    """The unit of protection, and what is not together in it."""
    yield _unit(published)
    yield f"Compared are {published.guarantee.neighbours}."


def of_several(published: Published) -> str:
    """What k of them together lose at most, as a multiple of what one does."""
    promised = published.guarantee
    if promised.rho is not None:
        unknown = ", and more than k times δ" if published.domain.is_discovered else ""
        return f"k² times ρ{unknown}"
    return "k times ε, and k·e^((k−1)ε) times δ" if promised.delta else "k times ε"


def statement(published: Published) -> str:
    """What the publisher states about rows without an id, in a sentence; nothing where none is."""
    records = published.records
    if records.bounded_to is None:
        return ""
    one = records.bounded_to == 1
    once = ", and no two of them in one cell," if records.cells_once else ""
    return (
        f"That nobody has more than {number(records.bounded_to)} {'row' if one else 'rows'}{once} "
        "is the publisher's statement: the program cannot check it, and all of the promise rests "
        "on it."
    )


_ALONE = "Somebody with several ids is several users, each protected for itself: k ids, {several}."
_UNITS = {
    "user": "Users. Rows {alike} {columns} are one user's, and all of them are protected together. "
    f"{_ALONE}",
    "same-person": "Persons. A table of the curator's says which values of {columns} are one "
    "person's ids, and all records of a person, under all of them, are protected together. The "
    "release does not show that table: it is as good as whoever made it.",
    "bounded-elsewhere": "Persons, with all of their rows together. No column says whose a row is. "
    "{statement} Whoever has k times as many rows has {several}.",
    "row": "Persons, each of them one row. Whoever has several rows is protected for each of them "
    "alone: k rows, {several}.",
    "person": "Persons. A row stands for as many of them as its weight {column!r} says, and one "
    "person of them is protected. Whoever is in several rows is protected for each of them alone.",
}


def _unit(published: Published) -> str:
    promised, records = published.guarantee, published.records
    columns = [repr(name) for name in records.user] if records else [repr(promised.column)]
    if promised.unit not in _UNITS:
        return f"Units of the kind {promised.unit!r}."
    return _UNITS[promised.unit].format(
        alike="that agree in" if len(columns) > 1 else "with one value of",
        columns=listed(columns) if columns else "",
        several=of_several(published),
        statement=statement(published),
        column=promised.column,
    )
