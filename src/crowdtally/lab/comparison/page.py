"""Tables and page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparison.advice import (
    USUAL_K,
    Advice,
    advise,
    best_of_each,
    by_reason,
    by_size,
    not_worse,
    of_measure,
    recommendation,
    takes,
)
from crowdtally.lab.comparison.charts import Picture, pictures
from crowdtally.lab.comparison.summary import (
    NO_NUMBER,
    TABLES,
    Facts,
    Measure,
    Setting,
    Summary,
    error_of,
    in_words,
    label,
    measures,
    with_error,
)
from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE

# What was compared, in words: the head of the page.


def compared(summaries: Sequence[Summary], facts: Facts) -> list[tuple[str, str]]:
    """What was compared, as words and values."""
    methods = {one.setting.method for one in summaries}
    settings = {one.setting for one in summaries}
    contexts = ", ".join(f"{name} ({values:,} values)" for name, values in facts.contexts.items())
    cells = ", ".join(f"{TABLES.get(name, name)}: {n:,}" for name, n in facts.cells.items())
    by_record = facts.count == "records"
    one = "records" if by_record else "cells"
    return [
        ("Records", f"{facts.source}: {facts.records:,} records of {facts.users:,} users"),
        ("Counted", "records" if by_record else "distinct users of each cell"),
        ("Items", f"{facts.items:,} in the public list"),
        ("Contexts", contexts or "none"),
        ("Cells", cells),
        ("ε of a whole release", ", ".join(by_size(facts.epsilons))),
        ("Methods", f"{len(methods):,}, in {len(settings):,} settings of method, bound and ε"),
        ("Runs", _runs(facts)),
        ("Largest contribution, M", f"{facts.largest:,} {one} of one user, read off the records"),
        ("Started", _time(facts.started)),
        ("Finished", _time(facts.finished)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())),
    ]


def _runs(facts: Facts) -> str:
    noises = facts.runs // facts.keys if facts.keys else 0
    draws = "draw" if noises == 1 else "draws"
    spread = f" ({facts.keys:,} sampling keys, {noises:,} {draws} of noise with each)"
    return f"{facts.runs:,} of each setting" + (spread if noises * facts.keys == facts.runs else "")


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


def meanings(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Each part of a method's name that occurs, and what it means.

    >>> from crowdtally.lab.comparison.summary import Setting
    >>> meanings([Summary(Setting("sra/filter", "1", 3), "items", "mae", None, 1.0, 0.1, 5, 20)])[0]
    ('sra', "a uniform sample of each user's records")
    """
    names = {one.setting.method for one in summaries}
    rules = {name.partition("/")[0] for name in names}
    forms = {form for name in names for form in name.split("/")[1:]}
    boundings = {rule.partition("+")[0] for rule in rules}
    choices = {rule.partition("+")[2] for rule in rules}
    found = (
        ("", BOUNDINGS, boundings),
        ("+", CHOICES, choices),
        ("/", TRANSFORMS, forms),
        ("/", PUBLISHINGS, forms),
        ("", BASELINES, boundings),
    )
    return [
        (f"{sign}{name}", registry[name].words)
        for sign, registry, present in found
        for name in registry
        if name in present
    ]


# The tables of the page: numbers as text, with the best ones told.


@dataclass(frozen=True)
class Cell:
    """One number of a table."""

    text: str
    is_best: bool = False
    """Whether it is the best of its column, or cannot be told apart from it."""


@dataclass(frozen=True)
class Shown:
    """A table of the page."""

    caption: str
    heads: Sequence[str]
    """Of its columns, the names' first."""
    rows: Sequence[tuple[str, Sequence[Cell]]]
    """A name and its cells."""


def numbers_of(picture: Picture) -> Shown:
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
    columns = [_column([known.get((one, each)) for one in settings], each) for each in mine]
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

    def cell(one: Summary) -> Cell:
        return Cell(with_error(one.mean, one.standard_error), one in best)

    return [Cell(NO_NUMBER) if one is None else cell(one) for one in numbers]


# A comparison as one page for people: no script, nothing from outside, every text escaped.

NAME = "comparison.html"
"""Of the page, in the folder of a comparison."""


def write_page(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write comparison.html, with its pictures in it."""
    (folder / NAME).write_text(page(summaries, facts), encoding="utf-8")


def page(summaries: Sequence[Summary], facts: Facts) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    here = files("crowdtally.lab.comparison")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["unbroken"] = _unbroken
    template = environment.from_string(here.joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(
        style=Markup(here.joinpath("style.css").read_text(encoding="utf-8")),
        not_private=NOT_PRIVATE,
        chosen_by_looking=CHOSEN_BY_LOOKING,
        facts=facts,
        takes=takes(summaries, facts),
        advice=_advice_table(advise(summaries, facts)),
        compared=compared(summaries, facts),
        meanings=meanings(summaries),
        epsilons=[(one, at_epsilon(summaries, facts, one)) for one in by_size(facts.epsilons)],
        pictures=[
            # vl_convert escapes what it draws; the tests parse it with hostile names.
            {"picture": one, "svg": Markup(one.svg()), "numbers": numbers_of(one)}
            for one in pictures(summaries, facts)
        ],
        skipped=list(by_reason(facts).items()),
    )


def _unbroken(text: str) -> str:
    """The text with formulas that a line does not break: ε = 1, 4 ± 2."""
    for sign in ("=", "±", "×"):
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    return text


def _advice_table(advice: Sequence[Advice]) -> list[tuple[str, str, str, str, str]]:
    return [
        (one.epsilon, one.purpose.words, in_words(one.chosen.setting), one.reason, one.options)
        for one in advice
    ]


# A comparison as tables: CSV for a spreadsheet, JSON, Parquet.
#
# The warning is a column of the CSV, the last one: a comment above the header would break
# readers, a file's name is lost when rows are copied. In JSON it is the first field, in Parquet
# the metadata.

COLUMNS = {
    "method": "string",
    "max_records": "int64",
    "epsilon": "float64",
    "table": "string",
    "metric": "string",
    "k": "int64",
    "mean": "float64",
    "standard_error": "float64",
    "keys": "int64",
    "runs": "int64",
}
"""The columns of every form, and their types in Arrow's words."""
SHORT_WARNING = "NOT PRIVATE: computed from the true records"
"""In each row of the CSV."""
_FORMAT = 1
"""Of comparison.json; raised where a field changes its meaning."""


def rows(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """A row for each summary, in their order; what could not be computed is None."""
    return [
        {
            "method": one.setting.method,
            "max_records": one.setting.max_records,
            "epsilon": float(Fraction(one.setting.epsilon)),
            "table": one.table,
            "metric": one.metric,
            "k": one.k,
            "mean": one.mean if isfinite(one.mean) else None,
            "standard_error": one.standard_error if isfinite(one.standard_error) else None,
            "keys": one.keys,
            "runs": one.runs,
        }
        for one in summaries
    ]


def as_frame(summaries: Sequence[Summary], facts: Facts | None = None) -> Any:
    """A pandas frame with a row for each summary, in their order. Not private.

    With the facts its ``attrs`` say what else a page says: what to take, and what was left out.
    """
    import pandas

    kinds = {"string": "str", "int64": "Int64", "float64": "float64"}
    table = rows(summaries)
    columns = {
        name: pandas.Series([row[name] for row in table], dtype=kinds[kind])
        for name, kind in COLUMNS.items()
    }
    frame = pandas.DataFrame(columns)
    frame.attrs["warning"] = f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}"
    if facts is not None:
        frame.attrs["recommendation"] = recommendation(summaries, facts)
        frame.attrs["skipped"] = dict(facts.skipped)
        frame.attrs["notes"] = list(facts.notes)
    return frame


def write_tables(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write comparison.csv, comparison.json and comparison.parquet."""
    frame = as_frame(summaries).assign(warning=SHORT_WARNING)
    csv = folder / "comparison.csv"
    frame.to_csv(csv, index=False, lineterminator="\n", encoding="utf-8")
    _write_json(folder / "comparison.json", summaries, facts)
    _write_parquet(folder / "comparison.parquet", summaries, facts)


def facts_as_json(facts: Facts) -> dict[str, Any]:
    """The facts as JSON has them: times in ISO 8601, sets as sorted lists."""
    plain = asdict(facts)
    return plain | {
        "started": facts.started.isoformat(),
        "finished": facts.finished.isoformat(),
        "baselines": sorted(facts.baselines),
        "fields": {
            method: {name: str(value) for name, value in fields.items()}
            for method, fields in facts.fields.items()
        },
    }


def _write_json(path: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    document = {
        "warning": f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}",
        "format": _FORMAT,
        "facts": facts_as_json(facts),
        "rows": rows(summaries),
    }
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _write_parquet(path: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    notes = {
        "warning": f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}",
        "facts": json.dumps(facts_as_json(facts), ensure_ascii=False),
    }
    kinds = {name: pa.type_for_alias(kind) for name, kind in COLUMNS.items()}
    schema = pa.schema(list(kinds.items()), metadata=notes)
    parquet.write_table(pa.Table.from_pylist(rows(summaries), schema=schema), path)
