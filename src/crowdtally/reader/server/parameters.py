"""Query parameters, declared once for pages, JSON and OpenAPI; and forms that offer them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.axes import AxisLookup
from crowdtally.web.pages import value as shown_value

MOST_FIELDS = 400
LONGEST_SHOWN = 60
"""Letters of a parameter that a message repeats."""


@dataclass(frozen=True)
class Parameter:
    name: str
    words: str
    schema: Mapping[str, Any]
    """Its JSON schema; that of an array where it may stand several times."""

    @property
    def several(self) -> bool:
        return self.schema.get("type") == "array"


def texts(name: str, words: str) -> Parameter:
    return Parameter(name, words, {"type": "array", "items": {"type": "string"}})


class Asked:
    """The parameters of one request; unknown ones are refused.

    >>> known = [Parameter("k", "", {"type": "integer"})]
    >>> Asked.of("k=5", known).whole("k", 10, most=100)
    5
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], known: Sequence[Parameter]) -> None:
        by_name = {one.name: one for one in known}
        found: dict[str, list[str]] = {}
        for name, value in pairs:
            if name not in by_name:
                shown = name[:LONGEST_SHOWN]
                raise UsageError(
                    f"there is no parameter {shown!r} here. {did_you_mean(shown, by_name)}"
                )
            if value:  # what a form leaves empty was not asked for
                found.setdefault(name, []).append(value)
        for name, values in found.items():
            if len(values) > 1 and not by_name[name].several:
                raise UsageError(f"{name!r} is given {len(values)} times: give it once.")
        self._found = found

    @classmethod
    def of(cls, query: str, known: Sequence[Parameter]) -> Asked:
        try:
            pairs = parse_qsl(
                query, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
            )
        except UnicodeDecodeError:
            raise UsageError("the address is not UTF-8: type the text anew.") from None
        except ValueError:
            raise UsageError(
                f"the address has more than {MOST_FIELDS} parameters: ask for fewer values."
            ) from None
        return cls(pairs, known)

    def text(self, name: str, default: str | None = None) -> str | None:
        """A text; the default where it is not asked for."""
        values = self._found.get(name)
        return default if values is None else values[0]

    def texts(self, name: str) -> list[str]:
        return list(self._found.get(name, ()))

    def whole(self, name: str, default: int, *, most: int) -> int:
        """A whole number from 1 to ``most``."""
        text = self.text(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
            shown = text[:LONGEST_SHOWN]
            raise UsageError(f"{name!r} is a whole number from 1 to {most}: received {shown!r}.")
        return int(text)

    def choice(self, name: str, options: Sequence[str]) -> str:
        """One of a few words; the first where none is asked for."""
        text = self.text(name, options[0]) or options[0]
        if text not in options:
            shown = text[:LONGEST_SHOWN]
            raise UsageError(
                f"{name!r} is {' or '.join(options)}: received {shown!r}. "
                f"{did_you_mean(shown, options)}"
            )
        return text

    def pairs(self, name: str) -> dict[str, list[str]]:
        """``COLUMN=VALUE`` each: the values of each column."""
        found: dict[str, list[str]] = {}
        for text in self.texts(name):
            column, equals, value = text.partition("=")
            if not equals or not column:
                raise UsageError(
                    f"{name!r} is NAME=VALUE, such as day=Friday: received "
                    f"{text[:LONGEST_SHOWN]!r}."
                )
            found.setdefault(column, []).append(value)
        return found

    def query(self, **changed: object) -> str:
        """The same question as the end of an address, with some parameters changed.

        None leaves one out, a list gives it several times.
        """
        kept = {name: values for name, values in self._found.items() if name not in changed}
        for name, value in changed.items():
            if value is not None:
                kept[name] = list(map(str, value)) if isinstance(value, list) else [str(value)]
        return urlencode([(name, one) for name, values in kept.items() for one in values])


# Forms in which values of contexts are ticked.

FEW = 31
"""Values that are ticked one by one; more are a list, and very many are typed."""
MANY = 500


@dataclass(frozen=True)
class Option:
    typed: str
    """As it stands in an address: ``day=Friday``."""
    words: str
    chosen: bool


@dataclass(frozen=True)
class Choice:
    name: str
    column: str
    options: tuple[Option, ...]
    """Its values in the order of the list; where they are typed, those that were asked for."""
    kind: str

    @property
    def chosen(self) -> list[Option]:
        return [one for one in self.options if one.chosen]


def choices(axes: Iterable[AxisLookup], asked: Mapping[str, list[str]]) -> list[Choice]:
    return [_choice(axis, asked.get(axis.name, [])) for axis in axes]


def _choice(axis: AxisLookup, wanted: list[str]) -> Choice:
    kind = "ticks" if len(axis) <= FEW else "list" if len(axis) <= MANY else "typed"
    values = wanted if kind == "typed" else [str(one) for one in axis.axis.values.tolist()]
    ticked = set(wanted)
    options = tuple(
        Option(f"{axis.name}={one}", shown_value(one, 40), one in ticked) for one in values
    )  # fmt: skip
    return Choice(shown_value(axis.name, 40), axis.name, options, kind)


def where_words(asked: Mapping[str, list[str]], most: int = 4) -> str:
    """The contexts of a question: ``day = Saturday or Sunday``; empty for all.

    >>> where_words({"day": ["Saturday", "Sunday"]})
    'day = Saturday or Sunday'
    """
    parts = []
    for name, values in asked.items():
        named = " or ".join(shown_value(one, 40) for one in values[:most])
        more = f" or {len(values) - most} more" if len(values) > most else ""
        parts.append(f"{shown_value(name, 40)} = {named}{more}")
    return ", ".join(parts)


# Messages tell what to type; for people who click, they are reworded.

_CLICKED = (
    (r",? with --context \S+=VALUE(?: --context \S+=VALUE)*(?: \(in Python [^()]*\))?",
     " by ticking it"),
    (r"\bask --by popular\b", "choose what is popular"),
    (r"\bleave out --raw \(in Python raw=True\)", "leave out raw=yes"),
    (r",? with `crowdtally sum RELEASE --where CONDITION`", " under Sums"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), words) for pattern, words in _CLICKED)
_LONG = 2000
"""Letters from which on a sentence is cut."""


def for_readers(words: str) -> str:
    """The same for people who look at a page.

    >>> for_readers("name one, with --context day=VALUE (in Python day=VALUE).")
    'Name one by ticking it.'
    """
    found = words if len(words) <= _LONG else f"{words[:_LONG]}…"
    for pattern, instead in _PATTERNS:
        found = pattern.sub(instead, found)
    return found[:1].upper() + found[1:]
