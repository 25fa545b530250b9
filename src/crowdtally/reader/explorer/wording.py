"""Words of refusals for people who click: the same sentences tell others what to type."""

from __future__ import annotations

import re

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
