"""A paper of two figures whose work is small, to try what all papers share."""

from __future__ import annotations

import os
from collections.abc import Sequence

from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.reproducing.figure import (
    Claim,
    Data,
    Figure,
    Given,
    Judged,
    Number,
    Numbers,
    Panel,
    Paper,
    Part,
)

SQUARES, LISTS = "squares", "lists"


def squares(given: Given, *, line: str, power: int) -> Sequence[Number]:
    """A curve; who ran it is told, so that a test can see whether it was another process."""
    with (given.folder.parent / "ran.txt").open("a") as log:
        log.write(f"{line} {os.getpid()}\n")
    return [Number.over(SQUARES, line, x, [x**power, x**power + 2.0]) for x in (1.0, 10.0, 100.0)]


def lists(given: Given) -> Sequence[Number]:
    """Titles in a list, one of them hostile to a table."""
    titles = ("A | B", "Second")
    return [Number(LISTS, "truth", rank, rank, text=text) for rank, text in enumerate(titles, 1)]


def failing(given: Given) -> Sequence[Number]:
    """Never ends well."""
    raise ValueError("visitor-99")


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    powers = {"linear": 1} if quick else {"linear": 1, "square": 2, "auto": 3}
    return [
        Part(f"squares-{line}", squares, {"line": line, "power": power}, ("movielens",))
        for line, power in powers.items()
    ]


def _judge(numbers: Numbers) -> Judged:
    larger = numbers.mean(SQUARES, "square", 10.0) > numbers.mean(SQUARES, "linear", 10.0)
    return Judged("agrees" if larger else "differs", "100 against 10.")


PAPER = Paper(
    "made-up",
    "A paper that does not exist",
    (
        Figure(
            "1",
            "Powers",
            "No setting.",
            "A square grows faster.",
            (Panel(SQUARES, "Powers of x", Axis("x", True), Axis("power", True)),),
            (Claim("“A square is larger.”", _judge),),
            _parts,
            ("Nothing else.",),
        ),
        Figure(
            "table2",
            "Titles",
            "No setting.",
            "Two titles.",
            (Panel(LISTS, "Titles", Axis("rank", False), Axis("place", False)),),
            (Claim("There are two.", lambda numbers: Judged("agrees", f"{len(numbers)}.")),),
            lambda data, quick: [Part("lists", lists)],
        ),
    ),
)
