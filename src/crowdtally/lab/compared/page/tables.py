"""The tables of the page: numbers as text, with the best ones told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.measures import TABLES, Measure, error_of, measures
from crowdtally.lab.compared.pictures.plotting import Picture
from crowdtally.lab.compared.ranking import best_of_each, not_worse, of_measure
from crowdtally.lab.compared.recommending import USUAL_K
from crowdtally.lab.compared.releasable import label
from crowdtally.lab.compared.rounding import NO_NUMBER, with_error
from crowdtally.lab.compared.summary import Setting, Summary


@dataclass(frozen=True)
class Cell:
    """One number of a table."""

    text: str
    """As it is shown."""
    is_best: bool = False
    """Whether it is the best of its column, or cannot be told apart from it."""


@dataclass(frozen=True)
class Shown:
    """A table of the page."""

    caption: str
    """What it holds."""
    heads: Sequence[str]
    """Of its columns, the names' first."""
    rows: Sequence[tuple[str, Sequence[Cell]]]
    """A name and its cells."""


def numbers_of(picture: Picture) -> Shown:
    """The numbers of a picture."""
    columns = [
        _column([row[place] for row in picture.rows.values()], measure)
        for place, measure in enumerate(picture.measures)
    ]
    rows = [(name, [column[at] for column in columns]) for at, name in enumerate(picture.rows)]
    return Shown(f"The numbers of the picture: {picture.title}", ("Method", *picture.heads), rows)


def at_epsilon(summaries: Sequence[Summary], facts: Facts, epsilon: str) -> list[Shown]:
    """For each table of a release, the methods at their best bounds in every measure."""
    here = [one for one in summaries if one.setting.epsilon == epsilon]
    found = measures(here)
    made = (_of_table(here, facts, table, found) for table in TABLES)
    return [shown for shown in made if shown is not None]


def _of_table(
    here: Sequence[Summary], facts: Facts, table: str, found: Sequence[Measure]
) -> Shown | None:
    mine = _usual(one for one in found if one.table == table)
    error = error_of(table, found) or next(iter(mine), None)
    if error is None:
        return None
    best = best_of_each(of_measure(here, error), error)
    settings = [one.setting for one in best]
    known = {(one.setting, Measure.of(one)): one for one in here}
    columns = [
        _column([known.get((setting, measure)) for setting in settings], measure)
        for measure in mine
    ]
    rows = [
        (label(setting, facts), [Cell(_bound(setting)), *(column[at] for column in columns)])
        for at, setting in enumerate(settings)
    ]
    heads = ("Method", "Bound", *(_head(measure, facts) for measure in mine))
    caption = f"Counts of {TABLES[table]}: each method at the bound of its smallest {error.name}"
    return Shown(caption, heads, rows)


def _usual(found: Iterable[Measure]) -> list[Measure]:
    """Of the measures of lists those of one length."""
    mine = list(found)
    lengths = sorted({one.k for one in mine if one.k is not None})
    shown = USUAL_K if USUAL_K in lengths else next(iter(lengths), None)
    return [one for one in mine if one.k in (None, shown)]


def _head(measure: Measure, facts: Facts) -> str:
    unit = measure.unit(facts.count)
    return f"{measure.short} ({unit})" if unit else measure.short


def _bound(setting: Setting) -> str:
    if setting.max_records is None:
        return NO_NUMBER
    return f"{'up to ' if '+' in setting.method else ''}{setting.max_records:,}"


def _column(numbers: Sequence[Summary | None], measure: Measure | None) -> list[Cell]:
    known = [one for one in numbers if one is not None and isfinite(one.mean)]
    best: list[Summary] = []
    if measure is not None and measure.judges and len(known) > 1:
        best = not_worse(known, measure)
    return [
        Cell(NO_NUMBER)
        if one is None
        else Cell(with_error(one.mean, one.standard_error), one in best)
        for one in numbers
    ]
