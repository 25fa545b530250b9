"""What all charts of a report have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crowdtally.web.charts import Chart
from crowdtally.web.pages import Shown

WIDTH = 270
_ROW = 22
LONGEST = 22
"""Letters of a name in a drawing."""

Name = Callable[[object], str]
"""How an item is shown: by its label, or as it is."""


@dataclass(frozen=True)
class Figure:
    """A chart and its numbers."""

    chart: Chart
    """What is drawn."""
    numbers: tuple[Shown, ...]
    """The same as tables."""
    warning: str = ""
    """What must be said before it."""


def drawn(item: object, name: Name) -> str:
    """An item where there is little room: by its label alone, which the table has beside it.

    >>> drawn(7, lambda item: f"Fargo ({item})"), drawn(7, str)
    ('Fargo', '7')
    """
    return name(item).removesuffix(f" ({item})")


def amount(counted: str) -> dict[str, Any]:
    """The axis of counts: thousands as k, millions as M."""
    axis = {"tickCount": 4, "format": "~s", "labelExpr": "datum.value == 0 ? '0' : datum.label"}
    return {"type": "quantitative", "title": f"Number of {counted}", "axis": axis}


def names(field: str) -> dict[str, Any]:
    """The rows of a chart, in the order of the data."""
    return {"field": field, "type": "nominal", "sort": None, "title": None,
            "axis": {"ticks": False, "domain": False, "labelPadding": 6}}  # fmt: skip


def chart_of(
    name: str, title: str, words: str, rows: Sequence[Any], marks: Any, width: int = WIDTH
) -> Chart:
    """A chart with one row of pixels for each row of the data."""
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": list(rows)},
        "width": width,
        "height": {"step": _ROW},
        **marks,
    }
    return Chart(name, title, words, spec)
