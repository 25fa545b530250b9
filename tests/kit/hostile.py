"""A release whose labels would like to run, to break lines, and to be very long."""

from __future__ import annotations

from pathlib import Path

import crowdtally as ct
from kit.made import made, visits

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
ITEMS = [
    SCRIPT, IMAGE, "=cmd|' /C calc'!A0", "</svg><style>*{display:none}</style>", "&lt;b&gt;",
    "x" * 100_000, "\u202egpj.exe", "two\nlines", "a\x1b[2J", "{{ 7 * 7 }}", "قهوة", "id=\"top\"",
    "url(#top)", "var(--ink)", "#1b1d21", "zoo", "x" * 99_999 + "y",
]  # fmt: skip
HOURS = [f"{hour} o'clock <b>" if hour % 5 == 0 else str(hour) for hour in range(14)]
CONTEXT = "<i>hour</i>"


def hostile(folder: Path) -> ct.Release:
    """Its release, with little noise: the first items are the most common."""
    cells = {
        (item, HOURS[(place + shift) % 14]): 40 - 2 * place
        for place, item in enumerate(ITEMS)
        for shift in (0, 7)
    }
    domain = ct.Domain(ITEMS, {CONTEXT: HOURS})
    return made(folder, visits(cells, CONTEXT), domain, epsilon=40, max_records=1)
