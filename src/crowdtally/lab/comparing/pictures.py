"""A comparison as pictures: error against ε, error against the bound, precision against K."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from crowdtally.lab.comparing.charts import Axis, Line, as_svg, dots, lines
from crowdtally.lab.comparing.facts import Facts
from crowdtally.lab.comparing.measures import TABLES, Measure, error_of, measures, precisions_of
from crowdtally.lab.comparing.ranking import (
    best_of_each,
    by_size,
    main_epsilon,
    of_measure,
    ranked,
)
from crowdtally.lab.comparing.summary import Summary


@dataclass(frozen=True)
class Picture:
    """A picture, and the numbers that are in it."""

    name: str
    """Of its file, without the ending."""
    title: str
    """What it shows."""
    caption: str
    """What to see in it."""
    spec: Mapping[str, Any]
    """Vega-Lite."""
    columns: tuple[str, ...]
    """The heads of its numbers: each ε, bound or K."""
    measures: tuple[Measure, ...]
    """What is measured in each column."""
    rows: Mapping[str, tuple[Summary | None, ...]]
    """By method, the best first: a number for each column, or None."""

    def svg(self) -> str:
        """The drawing."""
        return as_svg(self.spec, self.name)


def write_pictures(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write each picture as an SVG file."""
    for picture in pictures(summaries, facts):
        (folder / f"{picture.name}.svg").write_text(picture.svg() + "\n", encoding="utf-8")


def pictures(summaries: Sequence[Summary], facts: Facts) -> list[Picture]:
    """Every picture that these numbers allow, table by table."""
    found = measures(summaries)
    made: list[Picture | None] = []
    for table in TABLES:
        error, lists = error_of(table, found), precisions_of(table, found)
        if error is not None:
            made.append(_by_epsilon(summaries, facts, error))
            made.append(_by_bound(summaries, facts, error))
        if lists:
            made.append(_by_length(summaries, facts, lists))
    return [picture for picture in made if picture is not None]


def label(method: str, facts: Facts) -> str:
    """A method in a legend and in a table.

    Baselines are told from methods that a release can be asked for.
    """
    return f"{method} (comparison only)" if method in facts.baselines else method


def _by_epsilon(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Picture | None:
    epsilons = by_size(one.setting.epsilon for one in of_measure(summaries, error))
    columns = {e: best_of_each(of_measure(summaries, error, e), error) for e in epsilons}
    where = f"at ε = {epsilons[0]}" if len(epsilons) == 1 else "by ε"
    caption = (
        f"{_words(error)} of the released counts of {TABLES[error.table]}: lower is better. Each "
        "method stands at the bound that served it best at that ε. Bars are ± 1 standard error; "
        "where none is seen it is smaller than the point."
    )
    return _picture(
        f"{error.table}-error-against-epsilon",
        f"Error of counts of {TABLES[error.table]}, {where}",
        caption,
        Axis("ε of the whole release (larger: less private)", True),
        Axis(error.title(facts.count), True),
        {f"ε = {e}": (float(Fraction(e)), error, found) for e, found in columns.items()},
        facts,
    )


def _by_bound(summaries: Sequence[Summary], facts: Facts, error: Measure) -> Picture | None:
    epsilon = main_epsilon(one.setting.epsilon for one in of_measure(summaries, error))
    here = of_measure(summaries, error, epsilon)
    bounds = sorted({b for one in here if (b := one.setting.max_records) is not None})
    if len(bounds) < 2:
        return None
    flat = [one for one in here if one.setting.max_records is None]
    columns = {
        f"{bound:,}": (
            float(bound),
            error,
            [one for one in here if one.setting.max_records == bound] + flat,
        )
        for bound in bounds
    }
    caption = (
        f"{_words(error)} of the released counts of {TABLES[error.table]} at ε = {epsilon}: lower "
        "is better. To the left records are cut off, to the right there is more noise; the best "
        "bound lies between."
    )
    if flat:
        caption += " A line without points is a method without this bound."
    return _picture(
        f"{error.table}-error-against-bound",
        f"Error of counts of {TABLES[error.table]}, by bound, at ε = {epsilon}",
        caption,
        Axis("Most records of one user that count (--max-records)", True),
        Axis(error.title(facts.count), True),
        columns,
        facts,
        flat=frozenset(one.setting.method for one in flat),
    )


def _by_length(
    summaries: Sequence[Summary], facts: Facts, lists: Sequence[Measure]
) -> Picture | None:
    table = lists[0].table
    numbers = [one for each in lists for one in of_measure(summaries, each)]
    epsilon = main_epsilon(one.setting.epsilon for one in numbers)
    columns = {
        f"top {each.k:,}": (
            float(each.k or 0),
            each,
            best_of_each(of_measure(summaries, each, epsilon), each),
        )
        for each in lists
    }
    which = f"Top {lists[0].k}" if len(lists) == 1 else "Top lists"
    caption = (
        f"How much of the true top K of {TABLES[table]} is in the released top K, at ε = "
        f"{epsilon}: higher is better, 1 is all of it. Each method stands at the bound that served "
        "it best at that K. Bars are ± 1 standard error."
    )
    return _picture(
        f"{table}-precision-against-k",
        f"{which} of {TABLES[table]}, at ε = {epsilon}",
        caption,
        Axis("K, the length of the list", True),
        Axis("Share of the true top K found (1 is all)", False, (0.0, 1.0)),
        columns,
        facts,
    )


def _picture(
    name: str,
    title: str,
    caption: str,
    x: Axis,
    y: Axis,
    columns: Mapping[str, tuple[float, Measure, Sequence[Summary]]],
    facts: Facts,
    flat: Iterable[str] = frozenset(),
) -> Picture | None:
    """Lines over the columns, or dots where there is one column; None without a number."""
    columns = {head: column for head, column in columns.items() if column[2]}
    order = _by_quality([(measure, found) for _, measure, found in columns.values()])
    if not order:
        return None
    cells = {
        method: {
            place: one
            for place, _, found in columns.values()
            for one in found
            if one.setting.method == method
        }
        for method in order
    }
    series = [Line(label(m, facts), cells[m], is_flat=m in flat) for m in order]
    if len(columns) == 1:
        series = [Line(_with_bound(one), one.points) for one in series]
        spec = dots((title,), "Method (bound)", y, series)
    else:
        spec = lines((title,), x, y, [_drawn(one) for one in series])
    places = [place for place, _, _ in columns.values()]
    rows = {m: tuple(cells[m].get(place) for place in places) for m in order}
    kinds = tuple(measure for _, measure, _ in columns.values())
    return Picture(name, title, caption, spec, tuple(columns), kinds, rows)


def _drawn(one: Line) -> Line:
    """A flat line needs one point only."""
    if not one.is_flat:
        return one
    place, found = next(iter(one.points.items()))
    return Line(one.name, {place: found}, is_flat=True)


def _with_bound(one: Line) -> str:
    (found,) = one.points.values()
    bound = found.setting.max_records
    return one.name if bound is None else f"{one.name} ({bound:,})"


def _by_quality(columns: Iterable[tuple[Measure, Sequence[Summary]]]) -> list[str]:
    """Methods by their mean rank over the columns; one that is missing in a column is last there."""
    ranks = [[one.setting.method for one in ranked(found, measure)] for measure, found in columns]
    methods = sorted({method for rank in ranks for method in rank})

    def place(method: str) -> tuple[int, str]:
        return sum(r.index(method) if method in r else len(methods) for r in ranks), method

    return sorted(methods, key=place)


def _words(measure: Measure) -> str:
    return f"{measure.name[0].upper()}{measure.name[1:]}"
