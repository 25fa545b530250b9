"""Values as one line at a prompt, and as small tables in a notebook.

The tables have no scripts and nothing from outside, and every value in them is escaped. They have
no colours of their own, so that they fit light and dark pages; captions and header cells help
screen readers.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 20
LONGEST = 120  # letters of one value that are shown
SCREEN = 100  # columns of a line at a prompt

_TABLE = "border-collapse:collapse;margin:.5em 0"
_CELL = "padding:.2em .7em;border-bottom:1px solid rgba(128,128,128,.35)"
_CAPTION = "text-align:left;caption-side:top;padding:.2em 0;color:inherit"


def one_line(text: str, end: str = ">") -> str:
    """A text cut to a line of the screen, with its end.

    >>> len(one_line("x" * 200)), one_line("<Plan: items>")
    (100, '<Plan: items>')
    """
    plain = " ".join(text.split())
    return plain if len(plain) <= SCREEN else f"{plain[: SCREEN - 1 - len(end)]}…{end}"


def plainly(value: object) -> str:
    r"""A value as text, with control characters and line breaks escaped.

    >>> plainly("café, old"), plainly(7), plainly("a\x1b[2J"), plainly("two\nlines")
    ('café, old', '7', "'a\\x1b[2J'", "'two\\nlines'")
    """
    text = str(value)
    return text if text.isprintable() else repr(text)


def printable_json(value: object, indent: int | None = None) -> str:
    r"""JSON without characters that a terminal would obey, on one line unless it is indented.

    >>> print(printable_json({"place": "café\x9b2J"}))
    {"place": "café\u009b2J"}
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # A line feed stands between parts: within a text JSON escapes it.
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def call(name: str, arguments: Sequence[str]) -> str:
    """A call as it could be typed: on one line where it fits, else an argument on each.

    >>> print(call("Records", ["'a.csv'", "user='u'"]))
    Records('a.csv', user='u')
    """
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= SCREEN:
        return line
    width = SCREEN - 5
    cut = [one if len(one) <= width else f"{one[: width - 1]}…" for one in arguments]
    return "\n".join([f"{name}(", *(f"    {one}," for one in cut), ")"])


def some(first: Sequence[object], total: int) -> str:
    """The first of ``total`` values, and how many more there are.

    >>> some(range(3), 1000), some(["a"], 1)
    ('0, 1, 2 … and 997 more', "'a'")
    """
    shown = ", ".join(map(_clipped, first))
    return shown if len(first) == total else f"{shown} … and {total - len(first):,} more"


def _clipped(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 24 else f"{text[:24]}…"


def escaped(value: object) -> str:
    """A value as HTML text; a long one is cut.

    >>> escaped("<script>"), escaped("Tom & 'Jerry'")
    ('&lt;script&gt;', 'Tom &amp; &#x27;Jerry&#x27;')
    """
    text = str(value)
    return escape(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


_MARKDOWN = {
    ord(mark): f"\\{mark}" for mark in "`*_[]#|~"
} | {
    ord("<"): "&lt;", ord(">"): "&gt;", ord("&"): "&amp;",
    # A zero-width space keeps marks apart, or what typesets the Markdown's result would find them.
    ord("\\"): "&#92;&#8203;", ord("$"): "&#36;&#8203;",
}  # fmt: skip


def markdown(text: str) -> str:
    r"""A text as Markdown that shows it literally, without links, tags, emphasis or formulas.

    >>> print(markdown("rows of 'a_b' <b>"), markdown("$x$"))
    rows of 'a\_b' &lt;b&gt; &#36;&#8203;x&#36;&#8203;
    """
    return text.translate(_MARKDOWN)


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    total: int,
    right: Collection[str] = (),
) -> str:
    """A table that shows the first of ``total`` rows, and how many more there are.

    Of ``rows`` no more are taken than shown. The columns ``right`` hold numbers.
    """
    sides = ["right" if head in right else "left" for head in heads]
    top = "".join(
        f'<th scope="col" style="{_CELL};text-align:{side}">{escaped(head)}</th>'
        for head, side in zip(heads, sides, strict=True)
    )
    shown = [
        "".join(
            f'<td style="{_CELL};text-align:{side}">{escaped(value)}</td>'
            for value, side in zip(row, sides, strict=True)
        )
        for row in islice(rows, MOST_ROWS)
    ]
    if total > len(shown):
        words = f"… and {total - len(shown):,} more"
        shown.append(f'<td colspan="{len(heads)}" style="{_CELL};text-align:left">{words}</td>')
    body = "".join(f"<tr>{row}</tr>" for row in shown)
    return (
        f'<table style="{_TABLE}"><caption style="{_CAPTION}">{escaped(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    )


def facts(caption: str, named: Iterable[tuple[str, object]]) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL};text-align:left">{escaped(name)}</th>'
        f'<td style="{_CELL};text-align:left">{escaped(value)}</td></tr>'
        for name, value in named
    )
    return (
        f'<table style="{_TABLE}"><caption style="{_CAPTION}">{escaped(caption)}</caption>'
        f"<tbody>{rows}</tbody></table>"
    )


def paragraph(words: str) -> str:
    return f'<p style="margin:.3em 0;max-width:48em">{escape(words)}</p>'


def sections(named: Iterable[tuple[str, Iterable[str]]]) -> str:
    parts = []
    for title, lines in named:
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        parts.append(f'<h4 style="margin:.6em 0 .2em">{escape(title)}</h4><ul>{items}</ul>')
    return f'<div style="max-width:60em">{"".join(parts)}</div>'
