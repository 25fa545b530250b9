"""Conditions that a person typed: parsed, looked up in the public lists, never run.

Understood are comparisons of a column with a value (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``,
``BETWEEN``, ``IN``), joined by ``AND``, ``OR``, ``NOT`` and parentheses. All else is refused: the
text decides which cells are meant and reaches no engine. ``<`` and its like go by the order of the
public list.

Anybody can send a condition to a server, so each token is read once: the time is linear in the
length of the text. Parsers of all of SQL go back and try again, at worst twice for each bracket.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from crowdtally.core.deadline import go_on
from crowdtally.core.registry import DEEPEST, nesting
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.condition import Among, Condition, every, negated, some
from crowdtally.reader.lookup import AxisLookup, Value, column
from crowdtally.reader.stated import Stated

Lists = Mapping[str, AxisLookup]
"""The public list of each column."""
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
    """A piece of the text."""

    kind: str
    """The group of the pattern; a word that joins is of the kind ``joining``."""
    text: str
    """As typed; what joins in small letters."""
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
        """The values in parentheses behind IN."""
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
        """The text of an operand."""
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
