"""How a reader writes numbers: 1,234.5 or 1.234,5 or 1 234,5, as a browser's languages say.

Pages that are files are read by anybody, and keep to a narrow space and a point. A server knows
from the header Accept-Language who reads; Babel knows how they write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

THIN = "\N{NARROW NO-BREAK SPACE}"
_LONGEST = 200
"""Letters of the header that are read."""


@dataclass(frozen=True)
class Numerals:
    """A way to write numbers."""

    group: str = THIN
    """Between groups of digits."""
    decimal: str = "."
    """Before the digits after the point."""
    first: int = 3
    """Digits of the last group before the point."""
    further: int = 3
    """Digits of the groups before that one."""

    def written(self, plain: str) -> str:
        """A plain number, such as ``-1234.5``; its sign stays.

        >>> Numerals(".", ",").written("1234567.5"), Numerals(",", ".", 3, 2).written("1234567")
        ('1.234.567,5', '12,34,567')
        """
        whole, point, after = plain.partition(".")
        sign = whole[: len(whole) - len(whole.lstrip("-\N{MINUS SIGN}"))]
        digits, parts = whole[len(sign) :], list[str]()
        size = self.first
        while len(digits) > size:
            parts.append(digits[-size:])
            digits, size = digits[:-size], self.further
        grouped = self.group.join([digits, *reversed(parts)])
        return f"{sign}{grouped}{self.decimal + after if point else ''}"


PLAIN = Numerals()
"""Of pages that anybody may read."""
_numerals: ContextVar[Numerals] = ContextVar("numerals", default=PLAIN)


def current() -> Numerals:
    """How numbers are written now."""
    return _numerals.get()


@contextmanager
def written_as(numerals: Numerals) -> Iterator[None]:
    """Write numbers like this."""
    before = _numerals.set(numerals)
    try:
        yield
    finally:
        _numerals.reset(before)


@lru_cache(256)
def of_reader(accepted: str) -> Numerals:
    """How somebody with this header Accept-Language writes numbers.

    >>> of_reader("de-DE,de;q=0.9").written("1234.5"), of_reader("en-US").written("1234.5")
    ('1.234,5', '1,234.5')
    """
    from babel import Locale
    from babel.core import UnknownLocaleError

    for name in _preferred(accepted[:_LONGEST]):
        try:
            locale = Locale.parse(name, sep="-")
        except (UnknownLocaleError, ValueError, TypeError):
            continue
        symbols, form = locale.number_symbols.get("latn"), locale.decimal_formats[None]
        if symbols is None:
            continue
        first, further = form.grouping
        return Numerals(symbols["group"], symbols["decimal"], first, further)
    return PLAIN


def _preferred(accepted: str) -> list[str]:
    """The languages of a header, the best first.

    >>> _preferred("fr;q=0.2, de-CH, *;q=0.1, en;q=oops")
    ['de-CH', 'fr']
    """
    found: list[tuple[float, int, str]] = []
    for part in accepted.split(","):
        name, _, quality = part.strip().partition(";")
        text = quality.strip().removeprefix("q=") or "1"
        try:
            weight = float(text)
        except ValueError:
            continue
        if name and name != "*" and weight > 0:
            found.append((-weight, len(found), name.strip()))
    return [name for _, _, name in sorted(found)]
