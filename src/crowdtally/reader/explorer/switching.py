"""Forms in which values of contexts are ticked: what they offer, and what is ticked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crowdtally.reader.lookup import AxisLookup
from crowdtally.web.pages import value

FEW = 31
"""Values that are ticked one by one; more are a list, and very many are typed."""
MANY = 500


@dataclass(frozen=True)
class Option:
    """One value."""

    typed: str
    """As it stands in an address: ``day=Friday``."""
    words: str
    """As it is shown."""
    chosen: bool
    """Whether it was asked for."""


@dataclass(frozen=True)
class Choice:
    """The values of one column."""

    name: str
    """The column, as it is shown."""
    column: str
    """The column itself."""
    options: tuple[Option, ...]
    """Its values in the order of the list; where they are typed, those that were asked for."""
    kind: str
    """``ticks``, ``list`` or ``typed``."""

    @property
    def chosen(self) -> list[Option]:
        """What was asked for."""
        return [one for one in self.options if one.chosen]


def choices(axes: Iterable[AxisLookup], asked: Mapping[str, list[str]]) -> list[Choice]:
    """What a form offers of each column."""
    return [_choice(axis, asked.get(axis.name, [])) for axis in axes]


def _choice(axis: AxisLookup, wanted: list[str]) -> Choice:
    kind = "ticks" if len(axis) <= FEW else "list" if len(axis) <= MANY else "typed"
    values = wanted if kind == "typed" else [str(one) for one in axis.axis.values.tolist()]
    ticked = set(wanted)
    options = tuple(
        Option(f"{axis.name}={one}", value(one, 40), one in ticked) for one in values
    )  # fmt: skip
    return Choice(value(axis.name, 40), axis.name, options, kind)


def where_words(asked: Mapping[str, list[str]], most: int = 4) -> str:
    """Where somebody looks: ``day = Saturday or Sunday``; empty for everywhere.

    >>> where_words({"day": ["Saturday", "Sunday"]})
    'day = Saturday or Sunday'
    """
    parts = []
    for name, values in asked.items():
        named = " or ".join(value(one, 40) for one in values[:most])
        more = f" or {len(values) - most} more" if len(values) > most else ""
        parts.append(f"{value(name, 40)} = {named}{more}")
    return ", ".join(parts)
