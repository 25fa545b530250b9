"""A comparison as tables: CSV for a spreadsheet, JSON, Parquet.

The warning is a column of the CSV, the last one: a comment above the header would break readers, a
file's name is lost when rows are copied. In JSON it is the first field, in Parquet the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.recommending import recommendation
from crowdtally.lab.compared.summary import Summary
from crowdtally.lab.outputs import CHOSEN_BY_LOOKING, NOT_PRIVATE

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
    _write_csv(folder / "comparison.csv", summaries)
    _write_json(folder / "comparison.json", summaries, facts)
    _write_parquet(folder / "comparison.parquet", summaries, facts)


def facts_as_json(facts: Facts) -> dict[str, Any]:
    """The facts as JSON has them: times in ISO 8601, sets as sorted lists."""
    plain = asdict(facts)
    return plain | {
        "started": facts.started.isoformat(),
        "finished": facts.finished.isoformat(),
        "baselines": sorted(facts.baselines),
    }


def _write_csv(path: Path, summaries: Sequence[Summary]) -> None:
    frame = as_frame(summaries).assign(warning=SHORT_WARNING)
    frame.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")


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
