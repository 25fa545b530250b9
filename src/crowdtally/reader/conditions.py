"""Conditions on cells: parsed from text, as disjoint boxes, and on labels of items.

Conditions test values of single axes, joined by *and* and *or*. There is no *not*: it is pushed
down to the values (De Morgan), where it is a complement. A **box** is a set of values on each axis:
all cells with a value from each. Every condition is a union of disjoint boxes, so its cells are
counted exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.deadline import go_on
from crowdtally.core.domain import Axis
from crowdtally.core.registry import DEEPEST, nesting
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.answers.columns import LABELS, Labels
from crowdtally.reader.axes import Axes, AxisLookup, Mask, Value, column

MOST_BOXES = 1000
"""Boxes beyond which a condition is refused: each is one question to a table."""


@dataclass(frozen=True, eq=False)
class Among:
    """The value on one axis is one of some. Compared by identity: masks may be long."""

    axis: str
    mask: Mask
    """Which positions of its list are meant."""


@dataclass(frozen=True)
class Every:
    parts: tuple[Condition, ...]
    """At least two, none of them constant."""


@dataclass(frozen=True)
class Some:
    parts: tuple[Condition, ...]
    """At least two, none of them constant."""


Condition = bool | Among | Every | Some

Box = Mapping[str, Mask]
"""The values meant on each axis; an axis that is not named is meant whole."""


def every(parts: Iterable[Condition]) -> Condition:
    return _joined(_merged(parts, Every), Every)


def some(parts: Iterable[Condition]) -> Condition:
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


def replaced(condition: Condition, by: Callable[[Among], Condition]) -> Condition:
    """The condition with each test replaced by another condition."""
    match condition:
        case Among():
            return by(condition)
        case Every(parts):
            return every(replaced(part, by) for part in parts)
        case Some(parts):
            return some(replaced(part, by) for part in parts)
    return condition


def mirrored(condition: Condition, first: str, second: str) -> Condition:
    """The condition on a pair in one order or in the other: pairs are unordered."""
    other = {first: second, second: first}
    return some([condition, replaced(condition, lambda test: Among(other[test.axis], test.mask))])


def pieces(condition: Condition) -> Iterator[Among]:
    """The conditions on single axes that it is made of."""
    match condition:
        case Among():
            yield condition
        case Every(parts) | Some(parts):
            for part in parts:
                yield from pieces(part)


def boxes(condition: Condition, order: Sequence[str]) -> list[Box]:
    """Disjoint boxes that hold exactly the cells of the condition, axis by axis in ``order``.

    The values of the first axis fall into classes with equal outcomes of all tests. Each class
    leaves a condition on the other axes; classes that leave the same one become one box. So no two
    boxes differ in the last axis only.

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
        left = _given(condition, dict(zip(about, outcomes[:, first].tolist(), strict=True)))
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
    """The parts, those on one axis merged; tests that always or never hold become constants."""
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


@dataclass(frozen=True)
class Stated:
    """A condition, and the columns that it names.

    A test that always holds, such as ``age >= 0``, leaves no trace in the condition, but its column
    decides which table is asked.
    """

    condition: Condition
    named: frozenset[str]


def all_of(parts: Iterable[Stated]) -> Stated:
    found = list(parts)
    named = frozenset[str]().union(*(part.named for part in found))
    return Stated(every(part.condition for part in found), named)


# Parse a condition that a person typed. It is looked up in the public lists, never run.
#
# Understood are comparisons of a column with a value (``=``, ``!=``, ``<``, ``<=``, ``>``,
# ``>=``, ``BETWEEN``, ``IN``), joined by ``AND``, ``OR``, ``NOT`` and parentheses. Everything else
# is refused, so no text reaches an engine. ``<`` and the like follow the order of the public list.
#
# Anybody can send a condition to a server, so each token is read once and the time is linear in the
# length of the text. Parsers of full SQL backtrack, at worst twice for each bracket.

Lists = Mapping[str, AxisLookup]
MOST_TOKENS = 100_000
"""Words, values and signs of a condition."""

_TOKEN = re.compile(
    r"""
      (?P<blank>\s++)
    | (?P<word>[^\W\d]\w*+)
    | (?P<name>"(?:[^"]++|"")*+")
    | (?P<text>'(?:[^']++|'')*+')
    | (?P<number>[0-9][\w.]*+)
    | (?P<sign><=|>=|<>|!=|==|[=<>])
    | (?P<other>[^"'])
    """,
    re.VERBOSE,
)
_SIGNS = {"==": "=", "<>": "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_JOINING = frozenset({"and", "or", "not", "between", "in"})
_ENDS = frozenset({",", ")", ";", ""})
_DIGITS = 100
_SHOWN = 120
_EXAMPLE = "for example: age BETWEEN 30 AND 40 AND sex = 'F'"


class _Token(NamedTuple):
    kind: str
    """The group of the pattern; a word that joins is of the kind ``joining``."""
    text: str
    """As typed; a word that joins is in lower case."""
    start: int
    end: int


_END = _Token("end", "", 0, 0)


@dataclass(frozen=True)
class _Operand:
    """The tokens on one side of a comparison, whatever they are, from one place to another."""

    first: int
    after: int


def parse(text: str, lists: Lists) -> Stated:
    """The condition that the text states about these columns, or a UsageError that says why not."""
    if not isinstance(text, str):
        raise UsageError(f"a condition is text, {_EXAMPLE}: received a {type(text).__name__}.")
    if not text.strip():
        raise UsageError(f"the condition is empty: state one, {_EXAMPLE}; or none, for all cells.")
    return _Parser(text, lists).stated()


def compared(axis: AxisLookup, sign: str, value: Value) -> Condition:
    """The values of an axis that are =, !=, <, <=, > or >= a value, by the order of its list."""
    if sign in ("=", "!="):
        found = Among(axis.name, axis.among([value]))
        return found if sign == "=" else negated(found)
    low, high = (None, value) if sign in ("<", "<=") else (value, None)
    return Among(axis.name, axis.between(low, high, sign == ">", sign == "<"))


def _tokens(text: str) -> list[_Token]:
    """The tokens of a text; a quotation mark without its other one is refused."""
    found: list[_Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _unread(text)
        kind, words, place = str(match.lastgroup), match[0], match.end()
        if kind == "blank":
            continue
        if kind == "word" and words.lower() in _JOINING:
            kind, words = "joining", words.lower()
        found.append(_Token(kind, words, match.start(), place))
        if len(found) > MOST_TOKENS:
            raise UsageError(
                f"the condition has more than {MOST_TOKENS:,} words and values: ask for parts of "
                "it and add them up."
            )
    return found


def _unread(text: str) -> UsageError:
    return UsageError(
        f"the condition {_shown(text)!r} cannot be read. Text stands in single quotes, a name with "
        f"blanks or signs in double quotes; {_EXAMPLE}."
    )


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class _Parser:
    """Goes through the tokens once. ``sense`` is False inside an odd number of *nots*."""

    def __init__(self, text: str, lists: Lists) -> None:
        self._text, self._lists = text, lists
        self._tokens = _tokens(text)
        if nesting((token.text, False) for token in self._tokens)[0] > DEEPEST:
            raise UsageError(
                f"the condition is nested too deeply: at most {DEEPEST} parentheses may stand "
                "inside each other."
            )
        self._closing = self._pairs()
        self._at = 0
        self._named: set[str] = set()

    def _pairs(self) -> dict[int, int]:
        """Where each parenthesis is closed."""
        opened: list[int] = []
        found = {}
        for place, token in enumerate(self._tokens):
            if token.text == "(":
                opened.append(place)
            elif token.text == ")":
                if not opened:
                    raise _unread(self._text)
                found[opened.pop()] = place
        if opened:
            raise _unread(self._text)
        return found

    def stated(self) -> Stated:
        found = self._condition(self._any(True))
        if self._next.text == ";":
            raise UsageError(
                f"give one condition: received {_shown(self._text)!r}. Join several with AND or OR."
            )
        if self._next is not _END:
            raise _unread(self._text)
        return Stated(found, frozenset(self._named))

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _took(self, word: str) -> bool:
        """Whether this word that joins comes next; then it is passed."""
        found = self._next.kind == "joining" and self._next.text == word
        self._at += found
        return found

    def _any(self, sense: bool) -> Condition | _Operand:
        parts = [self._all(sense)]
        while self._took("or"):
            parts.append(self._all(sense))
        if len(parts) == 1:
            return parts[0]
        return (some if sense else every)([self._condition(part) for part in parts])

    def _all(self, sense: bool) -> Condition | _Operand:
        parts = [self._one(sense)]
        while self._took("and"):
            parts.append(self._one(sense))
        if len(parts) == 1:
            return parts[0]
        return (every if sense else some)([self._condition(part) for part in parts])

    def _one(self, sense: bool) -> Condition | _Operand:
        """A comparison, or what stands in parentheses, behind any number of *nots*."""
        go_on()
        said = False
        while self._took("not"):
            sense, said = not sense, True
        first = self._at
        if self._next.text == "(":
            found = self._group(sense)
            if not isinstance(found, _Operand):
                return found
        found = self._compared(self._operand(first), sense)
        return self._condition(found) if said else found

    def _group(self, sense: bool) -> Condition | _Operand:
        """What stands in parentheses: a condition, or one side of a comparison."""
        first, closing = self._at, self._closing[self._at]
        self._at += 1
        found = self._any(sense)
        if isinstance(found, _Operand):
            self._at = closing + 1
            return _Operand(first, self._at)
        if self._at != closing:
            raise _unread(self._text)
        self._at += 1
        return found

    def _operand(self, first: int) -> _Operand:
        """All from ``first`` up to a sign, a word that joins, a comma or an end."""
        while self._next.kind not in ("sign", "joining") and self._next.text not in _ENDS:
            self._at = self._closing.get(self._at, self._at) + 1
        if self._at == first:
            raise _unread(self._text)
        return _Operand(first, self._at)

    def _compared(self, left: _Operand, sense: bool) -> Condition | _Operand:
        """The comparison that begins with ``left``; ``left`` itself where there is none."""
        if self._next.kind == "sign":
            sign = self._next.text
            self._at += 1
            found = self._signed(left, _SIGNS.get(sign, sign), self._operand(self._at))
            return found if sense else negated(found)
        denied = self._took("not")
        if self._took("between"):
            found = self._between(self._column(left))
        elif self._took("in"):
            axis = self._column(left)
            found = Among(axis.name, axis.among(self._values(axis)))
        elif denied:
            raise _unread(self._text)
        else:
            return left
        return negated(found) if denied is sense else found

    def _between(self, axis: AxisLookup) -> Condition:
        low = self._value(self._operand(self._at), axis)
        if not self._took("and"):
            raise _unread(self._text)
        high = self._value(self._operand(self._at), axis)
        return Among(axis.name, axis.between(low, high, False, False))

    def _signed(self, left: _Operand, sign: str, right: _Operand) -> Condition:
        if self._literal(left) is not None and self._name(right) is not None:
            left, right, sign = right, left, _MIRRORED.get(sign, sign)
        axis = self._column(left)
        return compared(axis, sign, self._value(right, axis))

    def _values(self, axis: AxisLookup) -> list[Value]:
        closing = self._closing.get(self._at)
        if closing is None:
            raise _unread(self._text)
        found: list[Value] = []
        while self._at != closing:
            self._at += 1
            found.append(self._value(self._operand(self._at), axis))
            if self._next.text not in (",", ")"):
                raise _unread(self._text)
        self._at += 1
        return found

    def _condition(self, found: Condition | _Operand) -> Condition:
        """The condition; what compares nothing is refused."""
        if not isinstance(found, _Operand):
            return found
        raise UsageError(
            f"{self._typed(found)!r} is not a condition that is understood here. A condition "
            "compares a column with values by =, !=, <, <=, >, >=, BETWEEN or IN (…), joined by "
            f"AND, OR, NOT and parentheses; {_EXAMPLE}."
        )

    def _typed(self, operand: _Operand) -> str:
        first, last = self._tokens[operand.first], self._tokens[operand.after - 1]
        return _shown(self._text[first.start : last.end])

    def _inside(self, operand: _Operand) -> list[_Token]:
        """Its tokens, without parentheses around all of them."""
        first, after = operand.first, operand.after
        while self._closing.get(first) == after - 1:
            first, after = first + 1, after - 1
        return self._tokens[first:after]

    def _name(self, operand: _Operand) -> str | None:
        """The column that an operand names; None where it is something else."""
        match self._inside(operand):
            case [_Token("word", text)]:
                return text
            case [_Token("name", text)]:
                return text[1:-1].replace('""', '"')
        return None

    def _literal(self, operand: _Operand) -> Value | None:
        """The value that an operand is; None where it is something else."""
        match self._inside(operand):
            case [_Token("text", text)]:
                return text[1:-1].replace("''", "'")
            case [_Token("number", text)] if _is_whole(text):
                return int(text)
            case [_Token("other", "-"), _Token("number", text)] if _is_whole(text):
                return -int(text)
        return None

    def _column(self, operand: _Operand) -> AxisLookup:
        name = self._name(operand)
        if name is not None:
            self._named.add(name)
            return column(name, self._lists)
        typed = self._typed(operand)
        spelled = "".join(typed.split()).replace('"', "")
        if spelled in self._lists:
            raise UsageError(f'write the name {spelled!r} in double quotes: "{spelled}".')
        raise UsageError(
            f"a condition starts with a column of the release: received {typed!r}. Functions, "
            f"arithmetic and subqueries are not understood. {did_you_mean(spelled, self._lists)}"
        )

    def _value(self, operand: _Operand, axis: AxisLookup) -> Value:
        found = self._literal(operand)
        if found is not None:
            return found
        name = self._name(operand)
        hint = "" if name is None else f": text stands in single quotes, '{_shown(name)}'"
        raise UsageError(
            f"{axis.name!r} is compared with {self._typed(operand)}. A column is compared with "
            f"values, and a value is text in single quotes or a whole number{hint}."
        )


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _DIGITS


# Conditions on labels and categories of a public catalogue become conditions on items.

_NONE = -1
"""The position of an item's label that the catalogue leaves empty."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A release's lists, and beside them those of what its items are called."""

    item: AxisLookup
    lists: Mapping[str, AxisLookup]
    """Every column that a condition may name; a column of the release wins over a label's."""
    positions: Mapping[str, NDArray[np.int64]]
    """Where each item's label stands in the list of labels, and likewise its category."""

    @classmethod
    def of(cls, labels: Labels, axes: Axes) -> Labelled:
        item, *_ = axes.by_name.values()
        lists, positions = dict(axes.by_name), dict[str, NDArray[np.int64]]()
        for name, by_item in zip(LABELS, (labels.labels, labels.categories), strict=True):
            if by_item is None or name in lists:
                continue
            called = [by_item[one] for one in item.axis.values.tolist()]
            distinct = sorted({one for one in called if one is not None})
            if not distinct:
                continue
            places = {value: place for place, value in enumerate(distinct)}
            lists[name] = AxisLookup.of(Axis.of(name, distinct))
            positions[name] = np.array(
                [_NONE if one is None else places[one] for one in called], dtype=np.int64
            )
        return cls(item, lists, positions)

    def on_items(self, stated: Stated) -> Stated:
        """The same condition, with labels replaced by the items that have them."""
        own = {self.item.name if name in self.positions else name for name in stated.named}
        return Stated(replaced(stated.condition, self._on_items), frozenset(own))

    def _on_items(self, test: Among) -> Condition:
        if test.axis not in self.positions:
            return test
        # An item without a label is neither one nor another: the place after the last.
        meant = np.append(test.mask, False)[self.positions[test.axis]]
        return every([Among(self.item.name, meant)])
