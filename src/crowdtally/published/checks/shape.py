"""The shape of JSON, declared: a few kinds of shape, and one function that walks them.

A shape is data. ``faults(shape, value)`` yields a sentence for each place where the value does not
have the shape, so a caller can stop at the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Any

from crowdtally.core.numbers import recorded
from crowdtally.published.words import received


@dataclass(frozen=True)
class Leaf:
    """A single value."""

    words: str
    """What it must be, for a message."""
    fits: Callable[[Any], bool]
    """Whether a value is that."""


@dataclass(frozen=True)
class Each:
    """A list whose elements all have one shape."""

    of: Shape
    """The shape of an element."""
    least: int = 0
    """How many elements it has at least."""


@dataclass(frozen=True)
class Named:
    """An object whose names are free and whose values all have one shape."""

    of: Shape
    """The shape of a value."""


@dataclass(frozen=True)
class Fields:
    """An object with known fields; others are left alone, so that later versions may add some."""

    required: Mapping[str, Shape]
    """Fields that must be there."""
    optional: Mapping[str, Shape] = field(default_factory=dict)
    """Fields that may be there."""


@dataclass(frozen=True)
class Tagged:
    """An object whose shape depends on the text in one of its fields."""

    tag: str
    """The field."""
    cases: Mapping[str, Shape]
    """The shape for each text that it may hold."""


@dataclass(frozen=True)
class Having:
    """An object whose shape depends on whether it has a certain field."""

    name: str
    """The field."""
    then: Shape
    """The shape where it is there."""
    otherwise: Shape
    """The shape where it is not."""


@dataclass(frozen=True)
class OrNull:
    """A shape, or null."""

    of: Shape
    """The shape where it is not null."""


Shape = Leaf | Each | Named | Fields | Tagged | Having | OrNull


def faults(shape: Shape, value: Any, where: str = "") -> Iterator[str]:
    """What is wrong with ``value``, place by place; nothing where it has the shape.

    >>> list(faults(Fields({"a": Each(whole_leaf(1))}), {"a": [3, 0]}))
    ['a[1] must be a whole number of at least 1, and is 0']
    """
    match shape:
        case Leaf():
            if not shape.fits(value):
                yield _wrong(where, shape.words, value)
        case Each():
            yield from _each(shape, value, where)
        case OrNull():
            yield from () if value is None else faults(shape.of, value, where)
        case _ if not isinstance(value, dict):
            yield _wrong(where, "an object", value)
        case Named():
            for name, inner in value.items():
                yield from faults(shape.of, inner, _inside(where, name))
        case Fields():
            yield from _fields(shape, value, where)
        case Tagged():
            yield from _tagged(shape, value, where)
        case Having():
            chosen = shape.then if shape.name in value else shape.otherwise
            yield from faults(chosen, value, where)


def _each(shape: Each, value: Any, where: str) -> Iterator[str]:
    if not isinstance(value, list) or len(value) < shape.least:
        yield _wrong(where, f"a list of at least {shape.least} elements", value)
        return
    for place, inner in enumerate(value):
        yield from faults(shape.of, inner, f"{where}[{place}]")


def _fields(shape: Fields, value: Mapping[str, Any], where: str) -> Iterator[str]:
    for name, inner in shape.required.items():
        if name in value:
            yield from faults(inner, value[name], _inside(where, name))
        else:
            yield f"it lacks {_inside(where, name)!r}"
    for name, inner in shape.optional.items():
        if name in value:
            yield from faults(inner, value[name], _inside(where, name))


def _tagged(shape: Tagged, value: Mapping[str, Any], where: str) -> Iterator[str]:
    tag = value.get(shape.tag)
    if shape.tag not in value:
        yield f"it lacks {_inside(where, shape.tag)!r}"
    elif isinstance(tag, str) and tag in shape.cases:
        yield from faults(shape.cases[tag], value, where)
    else:
        yield _wrong(_inside(where, shape.tag), choice(*shape.cases).words, tag)


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, words: str, value: object) -> str:
    return f"{where or 'its content'} must be {words}, and is {received(value)}"


# ---- kinds of single values ---------------------------------------------------------------------


def is_text(value: object) -> bool:
    """Whether it is text that UTF-8 can write: JSON can spell half a character."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def choice(*texts: str) -> Leaf:
    """One of some texts."""
    return Leaf(" or ".join(map(repr, texts)), lambda value: is_text(value) and value in texts)


def whole_leaf(least: int, most: int | None = None) -> Leaf:
    """A whole number within limits."""
    ends = f"of at least {least}" if most is None else f"from {least} to {most}"

    def fits(value: object) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return least <= value and (most is None or value <= most)

    return Leaf(f"a whole number {ends}", fits)


def rational(words: str, fits: Callable[[Fraction], bool]) -> Leaf:
    """An exact number as text, such as ``"1/3"``."""

    def is_one(value: object) -> bool:
        try:
            return isinstance(value, str) and fits(recorded(value))
        except ValueError:
            return False

    return Leaf(words, is_one)


def maybe(leaf: Leaf) -> Leaf:
    """The same, or null."""
    return Leaf(f"{leaf.words}, or null", lambda value: value is None or leaf.fits(value))


def is_measure(value: object) -> bool:
    """Whether it is a finite number of at least 0, for people to read."""
    if isinstance(value, float):
        return isfinite(value) and value >= 0
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
