"""A comparison as pictures: error against ε, error against the bound, precision against K."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.measures import (
    TABLES,
    Measure,
    capital,
    error_of,
    measures,
    precisions_of,
)
from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally.lab.compared.pictures.plotting import Column, Picture, Plot, draw, styles_of
from crowdtally.lab.compared.ranking import best_of_each, by_size, main_epsilon, of_measure
from crowdtally.lab.compared.summary import Summary

_KINDS = ("error-against-epsilon", "error-against-bound", "precision-against-k")
"""What a picture's name ends in."""
_BARS = "Bars are ± 1 standard error; where none is seen it is smaller than the point."


def write_pictures(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write each picture as an SVG file; those of an earlier question, which it lacks, go."""
    drawn = pictures(summaries, facts)
    for table, kind in product(TABLES, _KINDS):
        if f"{table}-{kind}" not in {picture.name for picture in drawn}:
            (folder / f"{table}-{kind}.svg").unlink(missing_ok=True)
    for picture in drawn:
        (folder / f"{picture.name}.svg").write_text(picture.svg() + "\n", encoding="utf-8")


def pictures(summaries: Sequence[Summary], facts: Facts) -> list[Picture]:
    """Every picture that these numbers allow, table by table."""
    found = measures(summaries)
    plots: list[Plot | None] = []
    for table in TABLES:
        error, lists = error_of(table, found), precisions_of(table, found)
        if error is not None:
            plots.append(_by_epsilon(summaries, facts, error))
            plots.append(_by_bound(summaries, facts, error))
        if lists:
            plots.append(_by_length(summaries, lists))
    styles = styles_of(summaries)
    drawn = [draw(plot, facts, styles) for plot in plots if plot is not None]
    return [picture for picture in drawn if picture is not None]


def _by_epsilon(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Plot:
    epsilons = by_size(one.setting.epsilon for one in of_measure(summaries, error))
    where = f"at ε = {epsilons[0]}" if len(epsilons) == 1 else "by ε"
    return Plot(
        name=f"{error.table}-error-against-epsilon",
        title=f"Error of counts of {TABLES[error.table]}, {where}",
        caption=f"{capital(error.name)} of the released counts of {TABLES[error.table]}: lower is "
        f"better. Each method stands at the bound that served it best at that ε. {_BARS}",
        x=Axis("ε of the whole release (larger: less private)", True),
        y=Axis(error.title(facts.count), True),
        columns=[
            Column(
                f"ε = {epsilon}",
                float(Fraction(epsilon)),
                error,
                best_of_each(of_measure(summaries, error, epsilon), error),
            )
            for epsilon in epsilons
        ],
    )


def _by_bound(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Plot | None:
    epsilon = main_epsilon(one.setting.epsilon for one in of_measure(summaries, error))
    here = of_measure(summaries, error, epsilon)
    curved, flat = _with_curves(here)
    bounds = sorted({b for one in curved if (b := one.setting.max_records) is not None})
    if not bounds:
        return None
    caption = (
        f"{capital(error.name)} of the released counts of {TABLES[error.table]} at ε = {epsilon}: "
        "lower is better. To the left more records are cut off, to the right there is more noise."
    )
    if flat:
        caption += " A line without points is a method that was run with one bound, or with none."
    return Plot(
        name=f"{error.table}-error-against-bound",
        title=f"Error of counts of {TABLES[error.table]}, by bound, at ε = {epsilon}",
        caption=f"{caption} {_BARS}",
        x=Axis("Most records of one user that count (--max-records)", True),
        y=Axis(error.title(facts.count), True),
        columns=[
            Column(
                f"at most {bound:,}",
                float(bound),
                error,
                [one for one in curved if one.setting.max_records == bound],
            )
            for bound in bounds
        ],
        flat=flat,
        is_one_choice=True,
    )


def _with_curves(numbers: Sequence[Summary]) -> tuple[list[Summary], list[Summary]]:
    """The numbers of methods that were run with several bounds, and the others.

    One bound is M, or the largest to choose from: such a method has no curve.
    """
    tried: dict[str, list[Summary]] = {}
    for one in numbers:
        tried.setdefault(one.setting.method, []).append(one)
    curved = [one for found in tried.values() if len(found) > 1 for one in found]
    flat = [one for found in tried.values() if len(found) == 1 for one in found]
    return curved, flat


def _by_length(summaries: Sequence[Summary], lists: Sequence[Measure]) -> Plot:
    table = lists[0].table
    numbers = [one for each in lists for one in of_measure(summaries, each)]
    epsilon = main_epsilon(one.setting.epsilon for one in numbers)
    which = f"Top {lists[0].k}" if len(lists) == 1 else "Top lists"
    return Plot(
        name=f"{table}-precision-against-k",
        title=f"{which} of {TABLES[table]}, at ε = {epsilon}",
        caption=f"How much of the true top K of {TABLES[table]} is in the released top K, at "
        f"ε = {epsilon}: higher is better, 1 is all of it. Each method stands at the bound that "
        f"served it best at that K. {_BARS}",
        x=Axis("K, the length of the list", True),
        y=Axis("Share of the true top K found (1 is all)", False, (0.0, 1.0)),
        columns=[
            Column(
                f"top {each.k:,}",
                float(each.k or 0),
                each,
                best_of_each(of_measure(summaries, each, epsilon), each),
            )
            for each in lists
        ],
    )
