"""``strftime``'s formats as Java's patterns."""

from __future__ import annotations

import re

_DIRECTIVES = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "j": "DDD", "H": "HH", "M": "mm", "S": "ss",
    "A": "EEEE", "a": "EEE", "B": "MMMM", "b": "MMM", "-d": "d", "-m": "M", "-H": "H",
}  # fmt: skip


def java_pattern(form: str) -> str | None:
    """The pattern, or None where a directive has no counterpart.

    >>> java_pattern("%Y-%m at %H"), java_pattern("%U")
    ("yyyy-MM' at 'HH", None)
    """
    pieces = re.split(r"(%-?[A-Za-z%])", form)
    directives = [_DIRECTIVES.get(piece[1:]) for piece in pieces[1::2]]
    if None in directives:
        return None
    texts = [_plain(piece) for piece in pieces[0::2]]
    return texts[0] + "".join(f"{d}{text}" for d, text in zip(directives, texts[1:], strict=True))


def _plain(text: str) -> str:
    """Text that a pattern leaves as it is: letters stand in quotes."""
    if not re.search(r"[A-Za-z'\[\]{}#]", text):
        return text
    return "'" + text.replace("'", "''") + "'"
