"""Conditions on cells: values of single axes, joined by *and* and *or*; and the boxes they make.

A condition has no *not*: it is pushed down to the values (De Morgan), where it is a complement. A
**box** is a set of values on each axis, that is all cells with a value from each. Every condition
is a union of disjoint boxes, so its cells are counted exactly, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from crowdtally.core.deadline import go_on
from crowdtally.errors import UsageError
from crowdtally.reader.lookup import Mask

MOST_BOXES = 1000
"""Boxes beyond which a condition is refused: each is one question to a table."""


@dataclass(frozen=True, eq=False)
class Among:
    """The value on one axis is one of some. Compared by identity: masks may be long."""

    axis: str
    """The axis."""
    mask: Mask
    """Which positions of its list are meant."""


@dataclass(frozen=True)
class Every:
    """All parts hold."""

    parts: tuple[Condition, ...]
    """At least two, none of them constant."""


@dataclass(frozen=True)
class Some:
    """At least one part holds."""

    parts: tuple[Condition, ...]
    """At least two, none of them constant."""


Condition = bool | Among | Every | Some

Box = Mapping[str, Mask]
"""The values meant on each axis; an axis that is not named is meant whole."""


def every(parts: Iterable[Condition]) -> Condition:
    """All of these conditions."""
    return _joined(_merged(parts, Every), Every)


def some(parts: Iterable[Condition]) -> Condition:
    """At least one of these conditions."""
    return _joined(_merged(parts, Some), Some)


def negated(condition: Condition) -> Condition:
    """The cells for which the condition does not hold."""
    match condition:
        case bool():
            return not condition
        case Among(axis, mask):
            return Among(axis, ~mask)
        case Every(parts):
            return some(map(negated, parts))
        case Some(parts):
            return every(map(negated, parts))


def pieces(condition: Condition) -> Iterator[Among]:
    """The conditions on single axes that it is made of."""
    match condition:
        case Among():
            yield condition
        case Every(parts) | Some(parts):
            for part in parts:
                yield from pieces(part)


def boxes(condition: Condition, order: Sequence[str]) -> list[Box]:
    """Disjoint boxes that hold exactly the cells of the condition, decided axis by axis.

    The values of the first axis fall into classes that no test tells apart. Each class leaves a
    condition on the other axes; classes that leave the same one go together.

    Args:
        condition: on axes of ``order``.
        order: the axes; boxes that differ in the last one only do not occur.

    >>> a, b = Among("a", np.array([True, False])), Among("b", np.array([False, True]))
    >>> len(boxes(some([a, b]), ["a", "b"]))
    2
    """
    return _split(condition, order, {})


def _split(
    condition: Condition, order: Sequence[str], known: dict[Condition, list[Box]]
) -> list[Box]:
    """The boxes of what is left to decide; ``known`` holds those of conditions met before."""
    go_on()
    if isinstance(condition, bool):
        return [{}] if condition else []
    if condition in known:
        return known[condition]
    named = {test.axis for test in pieces(condition)}
    axis = next(name for name in order if name in named)
    found: list[Box] = [
        {axis: mask, **box}
        for left, mask in _cases(condition, axis)
        for box in _split(left, order, known)
    ]
    if len(found) > MOST_BOXES or len(known) > 10 * MOST_BOXES:
        raise UsageError(
            f"the condition falls into more than {MOST_BOXES} separate boxes of cells: ask for "
            "parts of it and add them up."
        )
    known[condition] = found
    return found


def _cases(condition: Condition, axis: str) -> list[tuple[Condition, Mask]]:
    """What is left of the condition, for which values of one axis."""
    if isinstance(condition, Among):  # the last step of all others too: nothing to tell apart
        return [(True, condition.mask)] if condition.mask.any() else []
    about = list({test: None for test in pieces(condition) if test.axis == axis})
    outcomes = np.stack([test.mask for test in about])
    _, firsts, classes = np.unique(
        np.packbits(outcomes, axis=0), axis=1, return_index=True, return_inverse=True
    )
    cases: dict[Condition, list[int]] = {}
    for number, first in enumerate(firsts):
        known = dict(zip(about, outcomes[:, first].tolist(), strict=True))
        left = _given(condition, known)
        if left is not False:
            cases.setdefault(left, []).append(number)
    return [(left, np.isin(classes.ravel(), numbers)) for left, numbers in cases.items()]


def _given(condition: Condition, known: Mapping[Among, bool]) -> Condition:
    """The condition where the outcome of these tests is known."""
    match condition:
        case Among():
            return known.get(condition, condition)
        case Every(parts):
            return _joined([_given(part, known) for part in parts], Every)
        case Some(parts):
            return _joined([_given(part, known) for part in parts], Some)
    return condition


def _joined(parts: Iterable[Condition], kind: type[Every] | type[Some]) -> Condition:
    """The parts as one condition, constants and nesting of the same kind resolved."""
    absorbing = kind is Some
    flat: list[Condition] = []
    for part in parts:
        if isinstance(part, bool):
            if part is absorbing:
                return absorbing
        elif isinstance(part, kind):
            flat.extend(part.parts)
        else:
            flat.append(part)
    distinct = tuple(dict.fromkeys(flat))
    if not distinct:
        return not absorbing
    return distinct[0] if len(distinct) == 1 else kind(distinct)


def _merged(parts: Iterable[Condition], kind: type[Every] | type[Some]) -> list[Condition]:
    """The same parts with those on one axis made one test, and tests without a doubt constant."""
    masks: dict[str, list[Mask]] = {}
    others: list[Condition] = []
    for part in parts:
        for piece in part.parts if isinstance(part, kind) else (part,):
            if isinstance(piece, Among):
                masks.setdefault(piece.axis, []).append(piece.mask)
            else:
                others.append(piece)
    join = np.logical_and if kind is Every else np.logical_or
    merged = [_decided(axis, reduce(join, found)) for axis, found in masks.items()]
    return [*merged, *others]


def _decided(axis: str, mask: Mask) -> Condition:
    if mask.all():
        return True
    return Among(axis, mask) if mask.any() else False
