"""Work that takes for ever, and answers made without a release."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crowdtally.lab.processes import Run, Work, run_apart
from crowdtally.reader.questions.top_list import TopItem, TopList

# ---- Work that takes for ever, in a process that tells who it is ---------------------------------


@contextmanager
def opened(folder: Path, settings: Mapping[str, str]) -> Iterator[Run]:
    """What runs a task: it never ends."""

    def run(task: int) -> None:
        (folder / "pid.part").write_text(str(os.getpid()))
        os.replace(folder / "pid.part", folder / "pid")
        time.sleep(3600)

    yield run


def main() -> None:
    """Start it in a folder."""
    place = Path(sys.argv[1])
    run_apart(Work("the sleep", opened, place, [0], place), 1, print, print)


# ---- Answers made without a release, with words in them that somebody else chose -----------------


FORMULAS = (
    "=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1",
    "＠A1", " =1", "\u00a0=1", "\u200b=1", "\ufeff=1", "\u202e=1", "'=1", "''=1", "|x", "%0A=1",
)  # fmt: skip
"""Texts that a spreadsheet, or an import into one, may run."""
HOSTILE = (
    *FORMULAS, "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\x1b[2Jb", "a\x00b",
    "two\nlines", "back\rtrack", "\u202eright to left", "https://example.org/x", "x" * 100_000,
    "_x0041_", "", " ", '"quoted", and, so on', "café 北京 \U0001f600", "007", "1e5", "NULL",
)  # fmt: skip
"""The same, and others that break a page, a terminal or a file."""


def item(rank: int, item: str | int, **given: Any) -> TopItem:
    """A line of a list, of which some values are missing."""
    usual: dict[str, Any] = {
        "estimate": 10.5, "estimate_low": None, "estimate_high": 12.0, "covers": "the noise only",
        "median": None, "chance_in_top": None, "count": 11, "noise_std": 1.5, "low": None,
        "high": None, "standard_error": 2.0, "floor": 3.0, "above_floor": True,
    }  # fmt: skip
    return TopItem(rank, item, **usual | given)


def top_list(items: Sequence[str | int], **given: Any) -> TopList:
    """A list of these items."""
    rows = tuple(item(rank, one) for rank, one in enumerate(items, start=1))
    return TopList(rows, "records", 3.0, 100, "", "", "", **given)
