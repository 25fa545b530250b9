"""Table 2: the data sets."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally.lab.compared.rounding import alone
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Given, Judged, Panel, Part
from crowdtally_research.reproducing.numbers import Number, Numbers
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.experiment import OURS
from crowdtally_research.reproducing.papers.day_li.setting import SETS, parts

PAPER = "paper"
_COLUMNS = {
    "rows": ("Rows", "users"),
    "columns": ("Columns, d", "items"),
    "most": ("Δ_D, the most ones in a row", "items of one user"),
    "mean": ("ac(D), the average column count", "users of an item"),
}


def printed(given: Given) -> Sequence[Number]:
    """What the paper prints."""
    return [
        Number(panels.table(column), PAPER, one.title, float(getattr(one, column)))
        for one in SETS
        for column in _COLUMNS
    ]


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    return [Part("table2", printed), *parts(data, quick)]


def made(numbers: Numbers) -> Judged:
    """How far the look-alikes are from the printed numbers: they were made after them."""
    off = []
    for one in SETS:
        for column, (words, _) in _COLUMNS.items():
            ours = numbers.mean(panels.table(column), OURS, one.title)
            theirs = getattr(one, column)
            if round(ours, 2) != theirs:
                off.append(f"{one.title}, {words}: {alone(ours)} instead of {alone(theirs)}")
    differing = f"all but these are the same: {'; '.join(off)}" if off else "all are the same"
    return Judged(
        "cannot be checked",
        f"the files are not at hand. The look-alikes were made with these numbers; {differing}.",
    )


FIGURE = Figure(
    "table2",
    "Properties of the data sets",
    "Rows, columns, the longest row and the average column count of the six data sets.",
    "The look-alikes have the printed numbers; Document has a twentieth of its rows.",
    tuple(
        Panel(panels.table(column), title, Axis("data set", False), Axis(unit, True), is_bars=True)
        for column, (title, unit) in _COLUMNS.items()
    ),
    (
        Claim(
            "Netflix has 480,189 rows, 17,770 columns, Δ_D = 17,653 and ac(D) = 5,654.50; and so "
            "on for the others.",
            made,
        ),
    ),
    _parts,
    (
        "No method is compared here, so there is no line of auto.",
        "Document at its full size has 483 million ones: more than this time and memory are for.",
    ),
)
