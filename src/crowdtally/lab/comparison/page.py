"""A comparison as files: a page for people, and tables as CSV, JSON and Parquet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
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

# The parts of the page.


def compared(summaries: Sequence[Summary], facts: Facts) -> list[tuple[str, str]]:
    """What was compared, as words and values."""
    methods = {one.setting.method for one in summaries}
    settings = {one.setting for one in summaries}
    contexts = ", ".join(f"{name} ({values:,} values)" for name, values in facts.contexts.items())
    cells = ", ".join(f"{TABLES.get(name, name)}: {n:,}" for name, n in facts.cells.items())
    by_record = facts.count == "records"
    one = "records" if by_record else "cells"
    noises = facts.runs // facts.keys
    draws = "draw" if noises == 1 else "draws"
    return [
        ("Records", f"{facts.source}: {facts.records:,} records of {facts.users:,} users"),
        ("Counted", "records" if by_record else "distinct users of each cell"),
        ("Items", f"{facts.items:,} in the public list"),
        ("Contexts", contexts or "none"),
        ("Cells", cells),
        ("ε of a whole release", ", ".join(by_size(facts.epsilons))),
        ("Methods", f"{len(methods):,}, in {len(settings):,} settings of method, bound and ε"),
        ("Runs", f"{facts.runs:,} of each setting ({facts.keys:,} sampling keys, {noises:,} "
                 f"{draws} of noise with each)"),
        ("Largest contribution, M", f"{facts.largest:,} {one} of one user, read off the records"),
        ("Started", _time(facts.started)),
        ("Finished", _time(facts.finished)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())),
    ]  # fmt: skip


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


def meanings(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Each part of a method's name that occurs, with its meaning.

    >>> from crowdtally.lab.comparison.summary import Setting
    >>> meanings([Summary(Setting("sra/filter", "1", 3), "items", "mae", None, 1.0, 0.1, 5, 20)])[0]
    ('sra', "a uniform sample of each user's records")
    """
    names = {one.setting.method for one in summaries}
    parts = {part for name in names for part in re.findall(r"[+/]?[^+/]+", name)}
    registries = (
        ("", BOUNDINGS), ("+", CHOICES), ("/", TRANSFORMS), ("/", PUBLISHINGS), ("", BASELINES),
    )  # fmt: skip
    return [
        (f"{sign}{name}", registry[name].words)
        for sign, registry in registries
        for name in registry
        if f"{sign}{name}" in parts
    ]


Cell = tuple[str, bool]
"""A number, and whether it is the best of its column or differs from that only by chance."""


@dataclass(frozen=True)
class Shown:
    caption: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    """A name and its cells."""


def numbers_of(picture: Picture) -> Shown:
    numbers = zip(*(line.numbers for line in picture.lines), strict=True)
    columns = [_column(of, one.measure) for of, one in zip(numbers, picture.columns, strict=True)]
    names = (line.name for line in picture.lines)
    rows = list(zip(names, zip(*columns, strict=True), strict=True))
    heads = ("Method", *(column.head for column in picture.columns))
    return Shown(f"The numbers of the picture: {picture.title}", heads, rows)


def at_epsilon(summaries: Sequence[Summary], facts: Facts, epsilon: str) -> Iterator[Shown]:
    """For each table of a release, the methods at their best bounds in every measure."""
    here = [one for one in summaries if one.setting.epsilon == epsilon]
    every = measures(here)
    for table in TABLES:
        shown = _usual([one for one in every if one.table == table])
        if shown:
            yield _of_table(here, facts, shown, error_of(table, every) or shown[0])


def _of_table(
    here: Sequence[Summary], facts: Facts, shown: Sequence[Measure], error: Measure
) -> Shown:
    known = {(one.setting, Measure.of(one)): one for one in here}
    settings = [one.setting for one in best_of_each(of_measure(here, error), error)]
    columns = (_column([known.get((one, each)) for one in settings], each) for each in shown)
    names = [label(setting, facts) for setting in settings]
    bounds = [(_bound(setting), False) for setting in settings]
    heads = ("Method", "Bound", *(f"{one.short} ({one.unit(facts.count)})" for one in shown))
    rows = list(zip(names, zip(bounds, *columns, strict=True), strict=True))
    words = (
        f"Counts of {TABLES[error.table]}: each method at the bound of its smallest {error.name}"
    )
    return Shown(words, heads, rows)


def _usual(known: Sequence[Measure]) -> list[Measure]:
    """The measures, those of lists for one length alone."""
    lengths = sorted({one.k for one in known if one.k is not None})
    shown = USUAL_K if USUAL_K in lengths else next(iter(lengths), None)
    return [one for one in known if one.k in (None, shown)]


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
        (with_error(one.mean, one.standard_error), one in best) if one else (NO_NUMBER, False)
        for one in numbers
    ]


def write_page(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    (folder / "comparison.html").write_text(page(summaries, facts), encoding="utf-8")


def page(summaries: Sequence[Summary], facts: Facts) -> str:
    """One page with its pictures: no script, nothing from outside, every text escaped."""
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
        advice=[
            (one.epsilon, one.purpose, in_words(one.chosen.setting), one.reason, one.options)
            for one in advise(summaries, facts)
        ],
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
    """Keep formulas on one line: ε = 1, 4 ± 2."""
    for sign in ("=", "±", "×"):
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    return text


# Tables: CSV for a spreadsheet, JSON, Parquet.
#
# The warning is the last column of the CSV: a comment above the header would break readers, and a
# file's name is lost when rows are copied. It is the first field of JSON, and Parquet's metadata.

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
_FORMAT = 1
"""Of comparison.json; raised where a field changes its meaning."""


def rows(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """A row for each summary, in their order; what could not be computed is None."""
    return [dict(zip(COLUMNS, _row(one), strict=True)) for one in summaries]


def _row(one: Summary) -> tuple[Any, ...]:
    setting = one.setting
    mean, error = (n if isfinite(n) else None for n in (one.mean, one.standard_error))
    return (
        setting.method, setting.max_records, float(Fraction(setting.epsilon)), one.table,
        one.metric, one.k, mean, error, one.keys, one.runs,
    )  # fmt: skip


def as_frame(summaries: Sequence[Summary], facts: Facts | None = None) -> Any:
    """A pandas frame with a row for each summary, in their order. Not private.

    With the facts its ``attrs`` have the recommendation, the notes, and what was left out.
    """
    import pandas

    kinds = {"string": "str", "int64": "Int64", "float64": "float64"}
    frame = pandas.DataFrame(rows(summaries), columns=list(COLUMNS))
    frame = frame.astype({name: kinds[kind] for name, kind in COLUMNS.items()})
    frame.attrs["warning"] = f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}"
    if facts is not None:
        frame.attrs["recommendation"] = recommendation(summaries, facts)
        frame.attrs["skipped"] = dict(facts.skipped)
        frame.attrs["notes"] = list(facts.notes)
    return frame


def write_tables(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write comparison.csv, comparison.json and comparison.parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    place = folder / "comparison"
    frame = as_frame(summaries).assign(warning=SHORT_WARNING)
    frame.to_csv(place.with_suffix(".csv"), index=False, lineterminator="\n", encoding="utf-8")
    warning, table = f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}", rows(summaries)
    known = facts_as_json(facts)
    document = {"warning": warning, "format": _FORMAT, "facts": known, "rows": table}
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    place.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    notes = {"warning": warning, "facts": json.dumps(known, ensure_ascii=False)}
    kinds = [(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    schema = pa.schema(kinds, metadata=notes)
    parquet.write_table(pa.Table.from_pylist(table, schema=schema), place.with_suffix(".parquet"))


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
