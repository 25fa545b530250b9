"""YAML with comments, from a template that is data: a few kinds of value are all it needs.

Texts are written so that no reader of YAML takes them for anything else, whatever they hold.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_WIDTH = 92
_STEP = "  "
_ASIDE = "# "


@dataclass(frozen=True)
class Number:
    """A number, as it is written."""

    digits: str
    """Its digits."""


@dataclass(frozen=True)
class Bullets:
    """Sentences, each of them one point of a Markdown list."""

    lines: tuple[str, ...]
    """The sentences."""


@dataclass(frozen=True)
class Entry:
    """A key with its value, and what is said above it."""

    key: str
    """The key."""
    value: str | Number | Bullets | list[str] | tuple[Entry, ...] | None
    """Its value; None: the whole entry is a comment, for somebody to complete."""
    comment: str = ""
    """What stands above it; empty for nothing."""


def yaml(entries: Iterable[Entry], comment: str) -> str:
    """The text of a file.

    Args:
        entries: its keys and values, in order.
        comment: what stands at its top.
    """
    top = [*_comment(comment, ""), ""]
    lines = [*top, *(line for one in entries for line in _entry(one, ""))]
    return "\n".join(lines) + "\n"


def _comment(words: str, indent: str) -> list[str]:
    start = f"{indent}{_ASIDE}"
    return textwrap.wrap(
        words, _WIDTH, initial_indent=start, subsequent_indent=start,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _entry(entry: Entry, indent: str) -> Iterator[str]:
    yield from _comment(entry.comment, indent)
    inside = indent + _STEP
    match entry.value:
        case None:
            yield f"{indent}{_ASIDE}{entry.key}:"
        case Number(digits):
            yield f"{indent}{entry.key}: {digits}"
        case Bullets(lines):
            yield f"{indent}{entry.key}: |-"
            yield from (f"{inside}- {_one_line(line)}" for line in lines)
        case list(texts):
            yield f"{indent}{entry.key}:"
            yield from (f"{inside}- {quoted(text)}" for text in texts)
        case str(text):
            yield from _text(entry.key, text, indent)
        case tuple(entries):
            yield f"{indent}{entry.key}:"
            for one in entries:
                yield from _entry(one, inside)


def _text(key: str, text: str, indent: str) -> Iterator[str]:
    """A text between quotes, or folded where it is too long for a line."""
    line = f"{indent}{key}: {quoted(text)}"
    if len(line) <= _WIDTH or not text.isprintable() or " ".join(text.split()) != text:
        yield line
        return
    inside = indent + _STEP
    yield f"{indent}{key}: >-"
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=inside, subsequent_indent=inside,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def quoted(text: str) -> str:
    r"""A text between quotes, in which what cannot be printed is spelled out.

    >>> print(quoted('say "a\\b"'), quoted("two\nlines"), quoted("\x9b"))
    "say \"a\\b\"" "two\u000alines" "\u009b"
    """
    return f'"{"".join(map(_letter, text))}"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _one_line(text: str) -> str:
    """A text whose every letter can stand in a block of YAML, on one line."""
    plain = " ".join(text.split())
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in plain
    )
