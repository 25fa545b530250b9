"""How numbers, names and expressions are written in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

_FEW = 3


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
    """An expression as it was typed; what a terminal could obey is spelled out.

    >>> code("rating >= 4"), code("a\\x1b[2J")
    ('`rating >= 4`', "`'a\\\\x1b[2J'`")
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


def _clipped(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 30 else f"{text[:30]}…"
